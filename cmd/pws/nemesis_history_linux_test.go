package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// nemesisAction is what an operation does to its object.
type nemesisAction uint8

const (
	nemesisRead nemesisAction = iota
	// nemesisWrite replaces what is there, nemesisReplace only what the client expects.
	nemesisWrite
	nemesisReplace
	// nemesisClaim and nemesisRelease are those of a task, nemesisAppend adds to a set.
	nemesisClaim
	nemesisRelease
	nemesisAppend
)

// nemesisInput is an operation. The object is a file, a state, a task or a discussion.
type nemesisInput struct {
	object string
	action nemesisAction
	// value is the text that is written or appended, or the agent that claims or releases.
	value string
	// old and number are what a client expects: the text of a file, the version of a state, the
	// fencing token of a claim.
	old    string
	number uint64
}

// nemesisOutput is what was answered. Of a file, value is the text, and number the place of a write
// among all writes, or 0 before settle; of a state, number is the version, too; of a task they are
// the holder and its fencing token; of a discussion value has all texts.
type nemesisOutput struct {
	outcome nemesisOutcome
	value   string
	number  uint64
}

// nemesisState is an object: what was read last if nothing has changed since.
type nemesisState struct {
	value  string
	number uint64
}

// nemesisModel is one object of any kind. An operation of unknown outcome is possible at any time
// AFTER its call, and does then what it would have done.
var nemesisModel = porcupine.Model{
	Init: func() any { return nemesisState{} },
	Step: func(state, input, output any) (bool, any) {
		possible, next := nemesisStep(
			state.(nemesisState), input.(nemesisInput), output.(nemesisOutput))
		return possible, next
	},
	DescribeOperation: func(input, output any) string {
		return describeNemesis(input.(nemesisInput), output.(nemesisOutput))
	},
}

func describeNemesis(in nemesisInput, out nemesisOutput) string {
	name := []string{"read", "write", "replace", "claim", "release", "append"}[in.action]
	said := []string{"nothing", "done", "refused", "unknown"}[out.outcome]
	return fmt.Sprintf("%s %q, expects %q %d: %s %q %d", name, in.value, in.old, in.number, said,
		out.value, out.number)
}

// nemesisStep returns whether an operation may have been answered so, and the state AFTER it. The
// number of a file counts its writes, which readers do not see; that of a discussion is always 0.
// That of a task is the newest fencing token, which readers see while somebody holds it.
func nemesisStep(s nemesisState, in nemesisInput, out nemesisOutput) (bool, nemesisState) {
	kind, _, _ := strings.Cut(in.object, " ")
	possible, next := true, nemesisState{in.value, s.number + 1}
	switch in.action {
	case nemesisRead:
		if kind == "file" || kind == "task" && out.value == "" {
			return s.value == out.value, s
		}
		return s == nemesisState{out.value, out.number}, s
	case nemesisReplace:
		possible = s.number == in.number
		if kind == "file" {
			possible = s.value == in.old
		}
	case nemesisClaim:
		possible = s.value == ""
	case nemesisRelease:
		possible = s.value == in.value && s.number == in.number
		next = nemesisState{"", s.number}
	case nemesisAppend:
		next = nemesisState{joinTexts(append(strings.Fields(s.value), in.value)), 0}
	}
	switch out.outcome {
	case nemesisDone:
		return possible && (out.number == 0 || out.number == next.number), next
	case nemesisRefused:
		return !possible, s
	}
	if !possible {
		next = s
	}
	return true, next
}

// joinTexts is a set of texts as the value of a state.
func joinTexts(texts []string) string {
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

// nemesisEffect is a write that leaves a trace for ever: a changeset with its name as the message,
// or a comment.
type nemesisEffect struct {
	world *nemesisWorld
	input nemesisInput
	// outcome is that of all tries together.
	outcome nemesisOutcome
}

// nemesisHistory records what clients have done and learned.
type nemesisHistory struct {
	began time.Time
	mu    struct {
		sync.Mutex
		operations []porcupine.Operation
		// effects are by the name of the write.
		effects map[string]nemesisEffect
		// tries are lines about all requests that were sent, by object.
		tries map[string][]string
		// problems are answers that no client may get.
		problems []string
		// counts are by outcome.
		counts [4]int
	}
}

func newNemesisHistory() *nemesisHistory {
	h := &nemesisHistory{began: time.Now()}
	h.mu.tries = map[string][]string{}
	h.mu.effects = map[string]nemesisEffect{}
	return h
}

func (h *nemesisHistory) now() int64 { return int64(time.Since(h.began)) }

// add records an operation that was called at a time and ends now, or never if its outcome is
// unknown.
func (h *nemesisHistory) add(client int, called int64, in nemesisInput, out nemesisOutput) {
	ended := h.now()
	if out.outcome == nemesisUnknown {
		ended = math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.counts[out.outcome]++
	if out.outcome != nemesisNothing {
		h.mu.operations = append(h.mu.operations, porcupine.Operation{
			ClientId: client, Input: in, Output: out, Call: called, Return: ended,
		})
	}
}

func (h *nemesisHistory) effect(world *nemesisWorld, in nemesisInput, outcome nemesisOutcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.effects[in.value] = nemesisEffect{world, in, outcome}
}

// settle replaces what clients know of their changesets and comments in a world by what is there at
// the end: names are those of all changesets, newest first, and of all comments. Writes of unknown
// outcome then have one, and those to a file their places. Without it, the search for an order
// would have to try each of them at any time, which takes too long if a fault lasts.
func (h *nemesisHistory) settle(world *nemesisWorld, names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	places, counts := map[string]uint64{}, map[string]uint64{}
	for _, name := range slices.Backward(names) {
		object := h.mu.effects[name].input.object
		counts[object]++
		places[name] = counts[object]
	}
	ended := h.now()
	var operations []porcupine.Operation
	for _, operation := range h.mu.operations {
		in, out := operation.Input.(nemesisInput), operation.Output.(nemesisOutput)
		if h.mu.effects[in.value].world == world && out.outcome != nemesisRefused {
			place, there := places[in.value]
			switch {
			case there:
				out.outcome = nemesisDone
				if strings.HasPrefix(in.object, "file ") {
					out.number = place
				}
				operation.Output, operation.Return = out, min(operation.Return, ended)
			case out.outcome == nemesisUnknown:
				continue
			}
		}
		operations = append(operations, operation)
	}
	h.mu.operations = operations
}

// problem records an answer that nobody may get.
func (h *nemesisHistory) problem(format string, values ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.mu.problems) < 20 {
		h.mu.problems = append(h.mu.problems, fmt.Sprintf(format, values...))
	}
}

// try notes what a request was answered, to explain a history that is wrong.
func (h *nemesisHistory) try(
	client int, host string, called int64, in nemesisInput, call nemesisCall, answer *nemesisAnswer,
) {
	line := fmt.Sprintf("%v to %v: client %d at %s, key %q, %s %s: %d %.300s",
		time.Duration(called), time.Duration(h.now()), client, host, call.key, call.tool,
		describeNemesis(in, nemesisOutput{outcome: answer.outcome}), answer.status, answer.text)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.tries[in.object] = append(h.mu.tries[in.object], line)
}

// nemesisCheckMax bounds the search for an order of the operations on one object.
const nemesisCheckMax = 30 * time.Second

// objects are the histories of all objects. The caller holds the lock.
func (h *nemesisHistory) objects() map[string][]porcupine.Operation {
	objects := map[string][]porcupine.Operation{}
	for _, one := range h.mu.operations {
		object := one.Input.(nemesisInput).object
		objects[object] = append(objects[object], one)
	}
	return objects
}

// wrong reports whether the answers about some object cannot be explained.
func (h *nemesisHistory) wrong() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, history := range h.objects() {
		result := porcupine.CheckOperationsTimeout(nemesisModel, history, nemesisCheckMax)
		if result == porcupine.Illegal {
			return true
		}
	}
	return false
}

// check asks of each object whether one order of the operations explains all answers.
func (h *nemesisHistory) check(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, problem := range h.mu.problems {
		t.Error(problem)
	}
	objects := h.objects()
	counts := h.mu.counts
	t.Logf("%d operations on %d objects: %d done, %d refused, %d unknown; %d more were not decided",
		len(h.mu.operations), len(objects), counts[nemesisDone], counts[nemesisRefused],
		counts[nemesisUnknown], counts[nemesisNothing])
	for _, object := range slices.Sorted(maps.Keys(objects)) {
		history := objects[object]
		switch porcupine.CheckOperationsTimeout(nemesisModel, history, nemesisCheckMax) {
		case porcupine.Illegal:
			t.Errorf("%s: no order of its %d operations explains the answers; %s shows them",
				object, len(history), drawn(object, history, h.mu.tries[object]))
		case porcupine.Unknown:
			t.Errorf("%s: no order of its %d operations was found within %v: let fewer clients write, "+
				"or change the objects more often", object, len(history), nemesisCheckMax)
		}
	}
}

// drawn writes the picture of a history that is wrong, and a text with all writes, and returns the
// name of the picture.
func drawn(object string, history []porcupine.Operation, tries []string) string {
	result, info := porcupine.CheckOperationsVerbose(nemesisModel, history, nemesisCheckMax)
	dir, err := os.MkdirTemp("", "pws-nemesis-history-")
	if err != nil {
		return err.Error()
	}
	name := filepath.Join(dir, strings.NewReplacer("/", "-", " ", "-").Replace(object)+".html")
	if err := porcupine.VisualizePath(nemesisModel, info, name); err != nil {
		return err.Error()
	}
	text := []byte(strings.Join(tries, "\n"))
	if err := os.WriteFile(strings.TrimSuffix(name, "html")+"txt", text, 0o600); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s (%s)", name, result)
}
