package main

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pws/internal/fault"
)

// run sends all requests before and after the closed project becomes PRIVATE and the deleted one is
// deleted, and after the leaver has lost its memberships.
func (p *privacy) run(ts *testscript.TestScript) {
	outsiders := []string{"nobody", "outsider", "visitor"}
	p.forAll(func(one *secretCase) {
		if p.await(one) {
			p.ask(one, outsiders, worldPrivate, worldUnlisted)
		}
	})
	p.change(worldClosed, "PATCH", "projects/$project", `{"visibility":"PRIVATE"}`)
	p.change(worldDeleted, "DELETE", "projects/$project/members/leaver", "")
	p.change(worldDeleted, "DELETE", "projects/$project", "")
	p.hidden = []string{worldPrivate, worldUnlisted, worldClosed, worldDeleted}
	p.forAll(func(one *secretCase) { p.ask(one, outsiders, p.hidden...) })
	// The leaver stays a member of the unlisted project.
	p.hidden = []string{worldPrivate, worldClosed}
	for _, kind := range p.hidden {
		p.change(kind, "DELETE", "projects/$project/members/leaver", "")
	}
	p.hidden = append(p.hidden, worldDeleted)
	p.forAll(func(one *secretCase) { p.ask(one, []string{"leaver"}, p.hidden...) })
	p.replay()
	p.askFormer()
	p.times(ts)
}

// askFormer sends all requests as an agent that was a member of the deleted project. It knows the
// agents, and its inbox says that the project was deleted.
func (p *privacy) askFormer() {
	p.hidden = []string{worldDeleted}
	p.forAll(func(one *secretCase) {
		known := *one
		known.agents = true
		if one.operation != "inbox.read" && !strings.Contains(one.target+one.body, "$mine") {
			p.ask(&known, []string{word(worldDeleted, "mate")}, worldDeleted)
		}
	})
}

// forAll calls the function for all cases, a few in parallel.
func (p *privacy) forAll(do func(*secretCase)) {
	const workers = 4
	var next atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(p.cases); i = int(next.Add(1)) - 1 {
				do(p.cases[i])
			}
		})
	}
	all.Wait()
}

func (p *privacy) failf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

// describe formats a response for a failure message.
func describe(got *reply) string {
	if got == nil {
		return "no answer"
	}
	return fmt.Sprintf("%d %s", got.status, got.body)
}

var secretSerial atomic.Int64

// request builds a request from a line, with the variables of a world. change may replace parts of
// the target and the body.
func (w *secretWorld) request(
	caller, method, target, body string, change func(string) string,
) *request {
	expand := func(text string) string {
		mine := "$mine_" + strings.Replace(caller, "nobody", "outsider", 1)
		text = strings.ReplaceAll(w.spelled(text), "$mine", mine)
		if text = w.script.expand(text); change != nil {
			text = change(text)
		}
		return text
	}
	sent := &request{method: method, target: w.script.target(expand(target))}
	if body != "" {
		sent.body = []byte(expand(body))
	}
	if op := operationOf(method, sent.target); op != nil && needsKey(op) {
		sent.headers = []string{fmt.Sprintf("Idempotency-Key: secret-%d", secretSerial.Add(1))}
	} else if needsMatch(op) {
		sent.headers = []string{"If-Match: *"}
	}
	return sent
}

// answer sends a request as a caller and checks the response against the declaration of the
// operation.
func (w *secretWorld) answer(caller string, sent *request) (*reply, error) {
	own := *w.script
	own.caller = strings.TrimSuffix(caller, "nobody")
	got, err := own.send(sent)
	if err != nil {
		return nil, err
	}
	if problem := own.check(sent, got); problem != "" {
		return nil, fmt.Errorf("%s\n%s", problem, got.body)
	}
	return got, nil
}

// change sends a request as the owner of a project.
func (p *privacy) change(kind, method, target, body string) {
	w, owner := p.worlds[kind], word(kind, "owner")
	got, err := w.answer(owner, w.request(owner, method, target, body, nil))
	if err != nil || got.status >= 300 {
		p.failf("%s %s of the %s world: %s %v", method, target, kind, describe(got), err)
	}
}

// await repeats a request until it shows the PUBLIC projects, because derived indexes may lag
// behind.
func (p *privacy) await(one *secretCase) bool {
	for _, kind := range []string{worldClosed, worldDeleted, worldPublic} {
		for end := time.Now().Add(patience); one.shows; {
			w := p.worlds[kind]
			got, err := w.answer("outsider", w.request("outsider", one.method, one.target, one.body,
				nil))
			if err == nil && bytes.Contains(got.body, []byte("x"+kind)) {
				break
			}
			if err != nil || time.Now().After(end) {
				p.failf("%s %s does not show the %s world: %s %v", one.method, one.target, kind,
					describe(got), err)
				return false
			}
		}
	}
	return true
}

// ask sends the request of a case as each caller, with the variables of each world.
func (p *privacy) ask(one *secretCase, callers []string, kinds ...string) {
	for _, kind := range kinds {
		w := p.worlds[kind]
		if one.code != "" && kind == worldUnlisted {
			// Anybody with its ID may read an unlisted project.
			continue
		}
		for _, caller := range callers {
			if one.nobody && caller != "nobody" {
				continue
			}
			if err := p.askOnce(one, w, caller); err != nil {
				p.failf("%s: %s %s %s as %s, %s world: %v", one.operation, one.method, one.target,
					one.body, caller, kind, err)
			}
		}
	}
}

func (p *privacy) askOnce(one *secretCase, w *secretWorld, caller string) error {
	sent := w.request(caller, one.method, one.target, one.body, nil)
	got, err := w.answer(caller, sent)
	if err != nil {
		return err
	}
	said := sent.target + string(sent.body)
	for _, kind := range p.hidden {
		found := slices.DeleteFunc(p.worlds[kind].leaks(got, one.agents), func(leak string) bool {
			return one.code != "" && strings.Contains(said, leak)
		})
		if len(found) > 0 {
			return fmt.Errorf("reveals the %s world: %q\n%s", kind, found, got.body)
		}
	}
	if one.lacks != "" && bytes.Contains(got.body, []byte(one.lacks)) {
		return fmt.Errorf("shows %s\n%s", one.lacks, got.body)
	}
	if one.code == "" {
		if strings.Contains(one.target+one.body, "<") && !one.agents {
			return w.same(one, caller, got)
		}
		return nil
	}
	value, _ := got.at("error.code")
	code := fault.Code(textOf(value))
	if code != one.code && (caller != "nobody" || code != fault.AuthenticationRequired) {
		return fmt.Errorf("%s, not %d %s", one.code, got.status, got.body)
	}
	return w.same(one, caller, got)
}

// same compares the response with the responses about records that never existed: with IDs that
// differ in the last bits, and with IDs whose project does not exist, both with words that no
// project contains. The responses must be identical, also for HEAD and for a conditional request.
func (w *secretWorld) same(one *secretCase, caller string, first *reply) error {
	const nearDigit, farDigit = 23, 12
	heads := []func(*request){func(*request) {}}
	if one.method == "GET" && one.code != "" {
		heads = append(heads, func(r *request) { r.method = "HEAD" },
			func(r *request) { r.headers = append(r.headers, "If-None-Match: *") })
	}
	for nth, head := range heads {
		got := first
		if nth > 0 {
			sent := w.request(caller, one.method, one.target, one.body, nil)
			head(sent)
			var err error
			if got, err = w.answer(caller, sent); err != nil {
				return err
			}
		}
		for _, digit := range []int{nearDigit, farDigit} {
			changed := false
			sent := w.request(caller, one.method, one.target, one.body, func(text string) string {
				now := w.unknown(text, digit)
				changed = changed || now != text
				return now
			})
			head(sent)
			other, err := w.answer(caller, sent)
			if err != nil || !changed {
				return fmt.Errorf("no other record was requested: %v", err)
			}
			// A response may repeat parts of the request.
			if w.unknown(string(w.bare(got)), digit) != string(w.bare(other)) ||
				!maps.EqualFunc(bareHeader(got), bareHeader(other), slices.Equal) {
				return fmt.Errorf("%s %v\ndiffers for an absent record:\n%s %v", got.body,
					bareHeader(got), other.body, bareHeader(other))
			}
		}
	}
	return nil
}

// unknown replaces the IDs and words of the world by others that nothing has.
func (w *secretWorld) unknown(text string, digit int) string {
	text = strings.ReplaceAll(text, "x"+w.kind, "x"+strings.Repeat("q", len(w.kind)))
	return anyID.ReplaceAllStringFunc(text, func(public string) string {
		if !w.ids[public] && !w.agents[public] {
			return public
		}
		at := len("prj_") + digit
		next := byte('0')
		if public[at] == next {
			next = '1'
		}
		return public[:at] + string(next) + public[at+1:]
	})
}

// leaks returns the words and IDs of a world that the body or the headers of a response contain.
func (w *secretWorld) leaks(got *reply, agents bool) (found []string) {
	text := string(w.bare(got))
	for name, values := range bareHeader(got) {
		text += "\n" + name + ": " + strings.Join(values, ", ")
	}
	if agents {
		for public := range w.agents {
			text = strings.ReplaceAll(text, public, "")
		}
	}
	for _, public := range anyID.FindAllString(text, -1) {
		if w.ids[public] || w.agents[public] {
			found = append(found, public)
		}
	}
	const shown = 60
	if at := strings.Index(text, "x"+w.kind); at >= 0 {
		found = append(found, text[at:min(len(text), at+shown)])
	}
	return found
}

// replay repeats, with the same keys, the requests that outsiders made while the projects were
// PUBLIC. The stored results must not be returned to them any more.
func (p *privacy) replay() {
	for _, kind := range p.hidden {
		w := p.worlds[kind]
		if len(w.replays) == 0 {
			p.failf("no requests to repeat in the %s world", kind)
		}
		for _, one := range w.replays {
			got, err := w.answer(one.caller, one.sent)
			if err != nil || got.status != http.StatusNotFound {
				p.failf("the repeat of %s %s as %s, %s world: %s %v", one.sent.method,
					one.sent.target, one.caller, kind, describe(got), err)
				continue
			}
			if found := w.leaks(got, false); len(found) > 0 {
				p.failf("the repeat of %s %s reveals %q", one.sent.method, one.sent.target, found)
			}
		}
	}
}

// times compares the latency of refusals for hidden records and for records that never existed. The
// bound is generous: it detects extra work for one of the two, and tolerates a busy machine.
func (p *privacy) times(ts *testscript.TestScript) {
	const rounds, factor, slack = 150, 3, time.Millisecond
	w := p.worlds[worldPrivate]
	for _, target := range []string{
		"projects/$project", "projects/$project/files/shared.txt", "tasks/$task",
		"projects/$project/resume", "contributions/$contribution", "search?q=<content>",
	} {
		if operationOf("GET", w.script.target(target)) == nil {
			p.failf("no operation is GET %s", target)
			continue
		}
		const farDigit = 12
		took := [2][]time.Duration{}
		for range rounds {
			for i, change := range []func(string) string{
				nil, func(text string) string { return w.unknown(text, farDigit) },
			} {
				sent := w.request("outsider", "GET", target, "", change)
				began := time.Now()
				if _, err := w.answer("outsider", sent); err != nil {
					p.failf("GET %s: %v", target, err)
					return
				}
				took[i] = append(took[i], time.Since(began))
			}
		}
		slices.Sort(took[0])
		slices.Sort(took[1])
		hidden, absent := took[0][rounds/2], took[1][rounds/2]
		ts.Logf("GET %s: hidden %v, absent %v", target, hidden, absent)
		if hidden > factor*absent+slack || absent > factor*hidden+slack {
			p.failf("GET %s takes %v for a hidden record, %v for one that never existed", target, hidden,
				absent)
		}
	}
}
