package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"pws/client"
)

// A write whose answer was lost may have been carried out. Its Idempotency-Key is kept in a file of
// the state directory, so that the same command of the same agent has one effect when it is
// repeated.

const (
	// lostFor is how long a key is kept. The service knows it longer, but a command that is given
	// again much later is meant to have an effect of its own.
	lostFor = time.Hour
	// lostMax is how many keys are kept.
	lostMax  = 256
	lostFile = "lost-writes.json"
)

// lostWrite is a write whose outcome is unknown.
type lostWrite struct {
	Key string    `json:"key"`
	At  time.Time `json:"at"`
	// By is who has sent it, hashed.
	By string `json:"by"`
	// Target is what it changes: the first parts of its path.
	Target string `json:"target"`
	// Adds is true if a second execution adds something once more.
	Adds bool `json:"adds"`
}

// lostWrites are the kept keys of one caller.
type lostWrites struct {
	folders client.Folders
	now     func() time.Time
	// by is the hash of who the caller is.
	by string
}

func (e *Env) lostWrites(caller string) lostWrites {
	return lostWrites{e.Folders, e.Now, hashOf([]byte(caller))}
}

func (l *lostWrites) path() string { return filepath.Join(l.folders.State, lostFile) }

// idOf is the same for requests that ask for the same.
func (l *lostWrites) idOf(request *client.Request) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s %q\n", l.by, request.Method, request.Path)
	for _, name := range slices.Sorted(maps.Keys(request.Header)) {
		fmt.Fprintf(sum, "%q: %q\n", name, request.Header[name])
	}
	sum.Write(request.Body)
	return hex.EncodeToString(sum.Sum(nil))
}

// read returns the keys that are not too old. What cannot be read counts as none: the next lost
// write replaces it.
func (l *lostWrites) read() (map[string]lostWrite, error) {
	all := map[string]lostWrite{}
	text, err := os.ReadFile(l.path())
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, err
	}
	if json.Unmarshal(text, &all) != nil || all == nil {
		return map[string]lostWrite{}, nil
	}
	now := l.now()
	maps.DeleteFunc(all, func(_ string, one lostWrite) bool { return now.Sub(one.At) >= lostFor })
	return all, nil
}

// change lets edit change the keys, while no other process does the same. An interrupt does not end
// it: the outcome of what was interrupted is unknown, too.
func (l *lostWrites) change(ctx context.Context, edit func(map[string]lostWrite)) error {
	return l.folders.Locked(context.WithoutCancel(ctx), "lost-writes", func() error {
		all, err := l.read()
		if err != nil {
			return err
		}
		edit(all)
		text, err := json.Marshal(all, json.Deterministic(true))
		if err != nil {
			return err
		}
		return client.ReplaceFile(l.path(), append(text, '\n'), 0o600)
	})
}

// keep keeps the key of a write whose outcome is unknown. With too many the oldest goes.
func (l *lostWrites) keep(ctx context.Context, id string, request *client.Request) error {
	one := lostWrite{request.Key, l.now(), l.by, targetOf(request), addingPath(request)}
	return l.change(ctx, func(all map[string]lostWrite) {
		if _, kept := all[id]; !kept && len(all) >= lostMax {
			delete(all, slices.MinFunc(slices.Sorted(maps.Keys(all)), func(a, b string) int {
				return all[a].At.Compare(all[b].At)
			}))
		}
		all[id] = one
	})
}

// answered drops the key of a write that was answered now, and those of earlier ones that only
// changed the same: to give such a command again is to ask for a new effect.
func (l *lostWrites) answered(ctx context.Context, id string, request *client.Request) error {
	over := func(of string, one lostWrite) bool {
		return of == id ||
			one.By == l.by && !one.Adds && overlap(one.Target, targetOf(request))
	}
	all, err := l.read()
	if err != nil {
		return err
	}
	before := len(all)
	if maps.DeleteFunc(all, over); len(all) == before {
		return nil
	}
	return l.change(ctx, func(all map[string]lostWrite) { maps.DeleteFunc(all, over) })
}

// targetOf is what a write changes. A checkpoint may change anything, and which task is claimed
// next is not known before.
func targetOf(request *client.Request) string {
	path, _, _ := strings.Cut(request.Path, "?")
	parts := strings.Split(strings.TrimPrefix(path, "/api/v1/"), "/")
	switch {
	case parts[len(parts)-1] == "checkpoint":
		return ""
	case parts[0] == "tasks" && parts[len(parts)-1] == "claim-next":
		return "tasks/"
	}
	return strings.Join(parts[:min(len(parts), 2)], "/") + "/"
}

func overlap(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// adding are the paths at which a POST adds something, whatever there is already.
var adding = regexp.MustCompile(`^/api/v1/(projects(/import)?|verifications|reports|` +
	`projects/[^/]+/(tasks|handoffs|discussions|artifacts|imports|relations|fork|checkpoint|` +
	`changesets|workspaces|community/turn)|discussions/[^/]+/comments|` +
	`contributions/[^/]+/reviews)$`)

func addingPath(request *client.Request) bool {
	path, _, _ := strings.Cut(request.Path, "?")
	return request.Method == http.MethodPost && adding.MatchString(path)
}

// timely reports whether a write means the present time: it has an effect whenever it is sent.
func timely(request *client.Request) bool {
	return strings.HasSuffix(request.Path, "/claim/renew")
}

// write sends a request that writes. One without an Idempotency-Key gets that of the same request
// if the outcome of that is unknown, else a new one. Errors: *unknownOutcomeError; those of
// client.Client.Do.
func (a *account) write(ctx context.Context, request *client.Request) (*client.Answer, error) {
	sent, id := *request, a.lost.idOf(request)
	keeps := sent.Key == "" && !timely(request)
	lost, repeats := lostWrite{}, false
	if keeps {
		// What cannot be read was not kept.
		all, _ := a.lost.read()
		lost, repeats = all[id]
		sent.Key = lost.Key
	}
	if sent.Key == "" {
		sent.Key = client.NewIdempotencyKey()
	}
	answer, err := a.Client.Do(ctx, &sent)
	known := err
	if err == nil && len(answer.Body) > 0 && strings.HasPrefix(sent.Path, "/api/v1/") {
		// Something on the way may have answered.
		_, known = answer.Data()
	}
	switch {
	case known == nil:
		if repeats && answer.Header.Get("Idempotency-Replayed") != "" {
			fmt.Fprintln(a.notices, "The same command was carried out before, and its answer was lost.")
		}
		// The answer counts, also where the file cannot be written.
		_ = a.lost.answered(ctx, id, &sent)
		return answer, nil
	case client.Undone(known) && !repeats, client.Refused(known):
		return nil, known
	}
	safe := !keeps || repeats || a.lost.keep(ctx, id, &sent) == nil
	return nil, &unknownOutcomeError{known, safe}
}

// unknownOutcomeError is the error of a write that may have been carried out.
type unknownOutcomeError struct {
	error
	// safe is true if the same command has one effect, even if this one was carried out.
	safe bool
}

func (e *unknownOutcomeError) Error() string {
	return strings.TrimSuffix(e.error.Error(), ".") + "; " + outcomeUnknown
}

// outcomeUnknown ends the message of such an error.
const outcomeUnknown = "it is unknown whether the command was carried out"

// Unwrap returns the error itself.
func (e *unknownOutcomeError) Unwrap() error { return e.error }

// step is what to do about it.
func (e *unknownOutcomeError) step() string {
	if e.safe {
		return "repeat the same command within an hour: it has one effect, even if this one was " +
			"carried out"
	}
	return "look whether it was carried out before you repeat it: it may have a second effect"
}

// codeOutcomeUnknown is the code of such an error as JSON.
const codeOutcomeUnknown = "OUTCOME_UNKNOWN"

// failure is the error as JSON has it. The code of what was answered, if anything, is its cause.
func (e *unknownOutcomeError) failure() *client.Failure {
	cause := "CLIENT"
	var failure *client.Failure
	if errors.As(e.error, &failure) {
		cause = failure.Code
	}
	details, err := json.Marshal(map[string]string{"cause": cause, "next_step": e.step()},
		json.Deterministic(true))
	if err != nil {
		details = nil
	}
	return &client.Failure{
		Code: codeOutcomeUnknown, Message: e.Error(), Details: details, Retryable: e.safe,
	}
}
