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

// privacy builds projects full of distinctive words and asks every operation of the table for them,
// as those who may not know of them. hidden.txtar says how the projects and the requests are
// written. No answer may hold a word or an ID of what is hidden, and one about a hidden record must
// be, byte for byte, that about a record that never existed.
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

// The projects: two that are hidden from the beginning, one that is PUBLIC until all has been made
// in it and PRIVATE from then on, and one that shows that what should be seen is.
const (
	worldPrivate  = "private"
	worldUnlisted = "unlisted"
	worldClosed   = "closed"
	worldPublic   = "public"
	// The hub is the bridge's, and is made first.
	worldHub = "hub"
)

var secretKinds = []string{worldPrivate, worldUnlisted, worldClosed, worldPublic}

// bridge is a maintainer of all projects, who has taken copies of them and into them.
const bridge = "bridge"

// The outsider and the visitor are members of nothing; the visitor has taken part in what was
// PUBLIC. The leaver has been a member of everything.
var secretOutsiders = []string{"outsider", "visitor", "leaver"}

// word is what <label> is replaced by in a project. It is found in any text by "x" and the project.
func word(kind, label string) string { return "x" + kind + label + "x" }

// privacy is the state of the test.
type privacy struct {
	script *script
	steps  []secretStep
	cases  []*secretCase
	worlds map[string]*secretWorld
	// hidden are the worlds of which nothing may be revealed now.
	hidden []string

	mu    sync.Mutex
	wrong []string
}

// secretStep is a line of the world: who makes what in which projects, and the variables it sets.
type secretStep struct {
	kinds                     []string
	who, method, target, body string
	keep                      map[string]string
}

// secretCase is a line of the cases.
type secretCase struct {
	operation, method, target, body string
	// code is the refusal of a record that is not there; it is empty where nothing hidden is named.
	code fault.Code
	// agents says that the answer is about agents, whose names and IDs are no secret; nobody that
	// only nobody asks, because others would lose their session.
	agents, nobody bool
	// shows says that the answer has what is PUBLIC; lacks is what it has not, whatever is there.
	shows bool
	lacks string
}

// secretWorld is a project with all that was made in it.
type secretWorld struct {
	*world
	kind string
	// ids are the IDs that belong to it, agents those of its agents.
	ids, agents map[string]bool
	// replays are the requests of outsiders, to be repeated with their keys.
	replays []*secretReplay
}

// secretReplay is a request that had success once.
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
				return fmt.Errorf("a step in %q, which is no project: %q", kind, columns)
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

// readCase refuses what would not be asked as it is meant.
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
			return nil, fmt.Errorf("%s is to show %q", one.operation, columns[3])
		}
	}
	return one, nil
}

// gaps are the operations without a case.
func (p *privacy) gaps() (gaps []error) {
	for _, op := range api.Table {
		if !slices.ContainsFunc(p.cases, func(c *secretCase) bool { return c.operation == op.Name }) {
			gaps = append(gaps, fmt.Errorf("no case of privacy asks for the operation %s", op.Name))
		}
	}
	return gaps
}

// build makes the hub, which is PUBLIC, what the outsiders own, and then all worlds.
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

// setVars makes the variables that the lines may use of a world that is made.
func (w *secretWorld) setVars() {
	vars := w.script.vars
	vars["kind"], vars["visibility"] = w.kind, strings.ToUpper(w.kind)
	if w.kind == worldClosed {
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

// spelled puts the words of a world into a line.
func (w *secretWorld) spelled(text string) string {
	return labelPattern.ReplaceAllStringFunc(text, func(label string) string {
		return word(w.kind, strings.Trim(label, "<>"))
	})
}

// make does the steps of a world, and keeps the IDs that come up.
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
		// What the bridge and the visitor make may be their own.
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

// isSecret reports whether an ID can belong to what is made in a project: that of an agent cannot,
// but for those who are nowhere else.
func (w *secretWorld) isSecret(public string) bool {
	switch public[:4] {
	case "agt_", "key_", "ses_", "req_":
		return w.agents[public]
	}
	return true
}
