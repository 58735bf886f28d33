package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"pws/api"
	"pws/internal/fault"
)

// privacy creates projects full of distinctive words and calls every operation of the table as
// callers who may not know of them. hidden.txtar explains the format of the projects and the
// requests. No response may contain a word or an ID of a hidden record. A response about a hidden
// record must equal, byte for byte, the response about a record that never existed.
//
//	privacy WORLD CASES
func (s *script) privacy(ts *testscript.TestScript, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: privacy WORLD CASES")
	}
	p := &privacy{script: s, hidden: []string{worldPrivate, worldUnlisted}}
	if err := errors.Join(
		p.readWorld(ts.ReadFile(args[0])), p.readCases(ts.ReadFile(args[1])),
	); err != nil {
		return err
	}
	if err := errors.Join(p.gaps()...); err != nil {
		return err
	}
	agents := slices.Concat([]string{bridge}, secretOutsiders)
	for _, kind := range secretKinds {
		agents = append(agents, word(kind, "owner"), word(kind, "mate"))
	}
	if err := s.register(ts, agents); err != nil {
		return err
	}
	if err := p.build(); err != nil {
		return err
	}
	p.run(ts)
	if len(p.wrong) > 0 {
		return mismatchf("%d answers reveal too much:\n%s", len(p.wrong),
			strings.Join(p.wrong, "\n"))
	}
	return nil
}

// The projects. Two are hidden from the beginning. Two are PUBLIC until all their records exist;
// one of them is PRIVATE afterwards, the other is deleted. One stays PUBLIC: it shows that a
// response contains what it may contain.
const (
	worldPrivate  = "private"
	worldUnlisted = "unlisted"
	worldClosed   = "closed"
	worldDeleted  = "deleted"
	worldPublic   = "public"
	// The hub belongs to the bridge and is created first.
	worldHub = "hub"
)

var secretKinds = []string{worldPrivate, worldUnlisted, worldClosed, worldDeleted, worldPublic}

// bridge is a maintainer of all projects. It has forked them and imported into them.
const bridge = "bridge"

// The outsider and the visitor are members of no project; the visitor has contributed to those that
// were PUBLIC. The leaver was a member of every project.
var secretOutsiders = []string{"outsider", "visitor", "leaver"}

// word replaces <label> in a project. The prefix "x" and the project find it in any text.
func word(kind, label string) string { return "x" + kind + label + "x" }

// privacy is the state of the command.
type privacy struct {
	script *script
	steps  []secretStep
	cases  []*secretCase
	worlds map[string]*secretWorld
	// hidden are the worlds that are hidden at the moment.
	hidden []string

	mu    sync.Mutex
	wrong []string
}

// secretStep is a line of the world: who sends which request in which projects, and the variables
// that it sets.
type secretStep struct {
	kinds                     []string
	who, method, target, body string
	keep                      map[string]string
}

// secretCase is a line of the cases.
type secretCase struct {
	operation, method, target, body string
	// code is the expected refusal. It is empty where the request names no hidden record.
	code fault.Code
	// agents means that the response is about agents, whose names and IDs are public. nobody means
	// that only an anonymous caller sends the request, because others would lose their session.
	agents, nobody bool
	// shows means that the response contains the PUBLIC projects; lacks is a text that it must not
	// contain.
	shows bool
	lacks string
}

// secretWorld is a project with all its records.
type secretWorld struct {
	*world
	kind string
	// ids are the IDs that belong to it, agents the IDs of its agents.
	ids, agents map[string]bool
	// replays are the requests of outsiders, to be repeated with their keys.
	replays []*secretReplay
}

// secretReplay is a request that once succeeded.
type secretReplay struct {
	caller string
	sent   *request
}

func (p *privacy) readWorld(text string) error {
	for _, columns := range matrixLines(text, " | ") {
		if len(columns) < 3 || len(columns) > 4 {
			return fmt.Errorf("a step of %d columns: %q", len(columns), columns)
		}
		step := secretStep{who: columns[1], keep: map[string]string{}}
		step.kinds = strings.Fields(columns[0])
		for _, kind := range step.kinds {
			if kind != "all" && kind != worldHub && !slices.Contains(secretKinds, kind) {
				return fmt.Errorf("a step in %q, which is not a project: %q", kind, columns)
			}
		}
		step.method, step.target, step.body = splitRequest(columns[2])
		if operationOf(step.method, p.script.target(step.target)) == nil {
			return fmt.Errorf("no operation is %s %s", step.method, step.target)
		}
		if len(columns) == 4 {
			for _, setting := range strings.Fields(columns[3]) {
				name, path, _ := strings.Cut(setting, "=")
				step.keep[name] = path
			}
		}
		p.steps = append(p.steps, step)
	}
	return nil
}

func (p *privacy) readCases(text string) error {
	for _, columns := range matrixLines(text, " | ") {
		if len(columns) < 3 || len(columns) > 4 {
			return fmt.Errorf("a case of %d columns: %q", len(columns), columns)
		}
		one, err := p.readCase(columns)
		if err != nil {
			return err
		}
		p.cases = append(p.cases, one)
	}
	return nil
}

// readCase returns an error for a request that does not match its operation.
func (p *privacy) readCase(columns []string) (*secretCase, error) {
	one := &secretCase{operation: columns[0]}
	one.method, one.target, one.body = splitRequest(columns[2])
	target := p.script.target(one.target)
	op := operationOf(one.method, target)
	if op == nil || op.Name != one.operation {
		return nil, fmt.Errorf("%s is not %s %s", one.operation, one.method, target)
	}
	switch columns[1] {
	case "agents":
		one.agents = true
	case "nobody":
		one.nobody = true
	case "surface":
	default:
		one.code = fault.Code(columns[1])
		if !slices.Contains(op.Codes(), one.code) {
			return nil, fmt.Errorf("%s does not answer %s", one.operation, one.code)
		}
	}
	if len(columns) == 4 {
		var lacks bool
		one.lacks, lacks = strings.CutPrefix(columns[3], "lacks ")
		if one.shows = columns[3] == "shows"; one.shows {
			one.lacks = ""
		} else if !lacks {
			return nil, fmt.Errorf("unknown expectation of %s: %q", one.operation, columns[3])
		}
	}
	return one, nil
}

// gaps are the operations without a case.
func (p *privacy) gaps() (gaps []error) {
	for _, op := range api.Table {
		if !slices.ContainsFunc(p.cases, func(c *secretCase) bool { return c.operation == op.Name }) {
			gaps = append(gaps, fmt.Errorf("no privacy case calls the operation %s", op.Name))
		}
	}
	return gaps
}

// build creates the hub and the outsiders' own projects, then all worlds.
func (p *privacy) build() error {
	p.worlds = map[string]*secretWorld{}
	hub := p.newWorld(worldHub)
	if err := hub.make(p.steps); err != nil {
		return err
	}
	for _, kind := range secretKinds {
		w := p.newWorld(kind)
		maps.Copy(w.script.vars, hub.script.vars)
		w.setVars()
		if err := w.make(p.steps); err != nil {
			return err
		}
		for id := range hub.ids {
			delete(w.ids, id)
		}
		p.worlds[kind] = w
	}
	return nil
}

func (p *privacy) newWorld(kind string) *secretWorld {
	w := &secretWorld{
		world: (&matrix{script: p.script}).newWorld(kind), kind: kind,
		ids: map[string]bool{}, agents: map[string]bool{},
	}
	w.setVars()
	return w
}

// setVars sets the variables of a world that the lines may use.
func (w *secretWorld) setVars() {
	vars := w.script.vars
	vars["kind"], vars["visibility"] = w.kind, strings.ToUpper(w.kind)
	if w.kind == worldClosed || w.kind == worldDeleted {
		vars["visibility"] = "PUBLIC"
	}
	for _, role := range []string{"owner", "mate"} {
		if agent := w.script.agents[word(w.kind, role)]; agent != nil {
			vars[role], vars[role+"_handle"] = agent.id, word(w.kind, role)
			vars[role+"_key"] = agent.keyID
			w.agents[agent.id], w.agents[word(w.kind, role)] = true, true
		}
	}
}

var labelPattern = regexp.MustCompile(`<([a-z]+)>`)

// spelled replaces the labels in a line by the words of a world.
func (w *secretWorld) spelled(text string) string {
	return labelPattern.ReplaceAllStringFunc(text, func(label string) string {
		return word(w.kind, strings.Trim(label, "<>"))
	})
}

// make runs the steps of a world and collects the IDs in the responses.
func (w *secretWorld) make(steps []secretStep) error {
	for _, step := range steps {
		if !slices.Contains(step.kinds, w.kind) &&
			(w.kind == worldHub || !slices.Contains(step.kinds, "all")) {
			continue
		}
		who := step.who
		if who == "owner" || who == "mate" {
			who = word(w.kind, who)
		}
		sent := w.request(who, step.method, step.target, step.body, nil)
		got, err := w.answer(who, sent)
		if err == nil && got.status >= 300 {
			err = fmt.Errorf("%d %s", got.status, got.body)
		}
		if err != nil {
			return fmt.Errorf("%s world: %s %s as %s: %w", w.kind, step.method, step.target, who, err)
		}
		for name, path := range step.keep {
			value, ok := got.at(path)
			if !ok {
				return fmt.Errorf("%s %s: the answer has no %s", step.method, step.target, path)
			}
			w.script.vars[name] = textOf(value)
		}
		// The records of the bridge and the visitor may be in their own projects.
		if w.kind == worldHub || who != bridge && who != "visitor" {
			for _, public := range anyID.FindAllString(string(got.body), -1) {
				w.ids[public] = w.isSecret(public)
			}
		}
		if slices.Contains(secretOutsiders, who) && got.status == http.StatusCreated {
			w.replays = append(w.replays, &secretReplay{caller: who, sent: sent})
		}
	}
	return nil
}

// isSecret reports whether an ID reveals a project. IDs of agents do not, except for agents that
// are in no other project.
func (w *secretWorld) isSecret(public string) bool {
	switch public[:4] {
	case "agt_", "key_", "ses_", "req_":
		return w.agents[public]
	}
	return true
}
