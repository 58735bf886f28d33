package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pws/internal/fault"
)

// world is one project of the matrix with its records.
type world struct {
	matrix  *matrix
	project string
	// script is a copy for this world alone.
	script *script
	made   map[string]bool
	nth    int
	wrong  []string
	// succeeded counts the successes of each request.
	succeeded []int
}

// newWorld returns a project that does not exist yet. Records are created when a request needs
// them.
func (m *matrix) newWorld(project string) *world {
	own := *m.script
	own.vars = maps.Clone(m.script.vars)
	return &world{
		matrix: m, project: project, script: &own, made: map[string]bool{},
		succeeded: make([]int, len(m.requests)),
	}
}

// run sends every request as every caller.
func (w *world) run() {
	for i, asked := range w.matrix.requests {
		for column, outcome := range w.matrix.rules[asked.permission][w.project] {
			caller := matrixCallers[column]
			got, err := w.ask(asked, caller, outcome)
			if err == nil {
				err = w.checkOutcome(asked, caller, outcome, got)
			}
			if err == nil && got.status >= http.StatusBadRequest {
				err = w.checkStep(column, got)
			}
			if err == nil && got.status < 300 {
				w.succeeded[i]++
			}
			if err != nil {
				w.wrong = append(w.wrong, fmt.Sprintf("%s %s in %s as %s, %s: %v",
					asked.method, asked.target, w.project, caller, asked.permission, err))
			}
		}
	}
}

var (
	freshPattern = regexp.MustCompile(`\$fresh_([a-z_]+)`)
	ownPattern   = regexp.MustCompile(`\$fresh_own_[a-z_]+`)
	namePattern  = regexp.MustCompile(`\$([a-z_]+)`)
)

// allowed is the outcome of a caller who has the permission.
const allowed = "ok"

// ask creates the records that a request needs, and sends it. A record named $fresh_… is used up by
// a success, so it is created anew where one is expected; a record named $fresh_own_… must be
// created by the caller itself.
func (w *world) ask(asked *matrixRequest, caller, outcome string) (*reply, error) {
	text := asked.target + " " + asked.body
	w.callerVars(caller)
	if caller == "holder" {
		text += " $held"
	}
	for _, name := range freshPattern.FindAllStringSubmatch(text, -1) {
		if outcome == allowed || strings.HasPrefix(name[1], "own_") {
			delete(w.made, w.matrix.makers[name[1]])
		}
	}
	if outcome == "login" {
		text = ownPattern.ReplaceAllString(text, "")
	}
	if err := w.need(text, caller); err != nil {
		return nil, err
	}
	return w.send(caller, asked.method, asked.target, asked.body, nil)
}

// callerVars sets the variables of a caller: its name, its ID (the stranger's for an anonymous
// caller), and an unused key.
func (w *world) callerVars(caller string) {
	w.script.vars["caller"], w.script.vars["self"] = caller, w.script.vars["stranger"]
	if caller != "nobody" {
		w.script.vars["self"] = w.script.agents[caller].id
	}
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	w.script.vars["new_key"] = base64.RawURLEncoding.EncodeToString(public)
}

// need creates the records that a text names and that do not exist yet.
func (w *world) need(text, caller string) error {
	for _, name := range namePattern.FindAllStringSubmatch(text, -1) {
		kind, known := w.matrix.makers[strings.TrimPrefix(name[1], "fresh_")]
		if !known || w.made[kind] {
			continue
		}
		w.made[kind] = true
		w.nth++
		w.script.vars["nth"] = strconv.Itoa(w.nth)
		for _, step := range w.matrix.records[kind] {
			if step.projects != nil && !slices.Contains(step.projects, w.project) {
				continue
			}
			by := step.caller
			if by == "caller" {
				by = caller
			}
			if err := w.need(step.target+" "+step.body, caller); err != nil {
				return err
			}
			got, err := w.send(by, step.method, step.target, step.body, nil)
			if err == nil && got.status >= 300 {
				err = fmt.Errorf("%s %s: %d %s", step.method, got.target, got.status, got.body)
			}
			if err != nil {
				return fmt.Errorf("making %s as %s: %w", kind, by, err)
			}
			for name, path := range step.keep {
				value, ok := got.at(path)
				if !ok {
					return fmt.Errorf("making %s: the answer has no %s", kind, path)
				}
				w.script.vars[name] = textOf(value)
			}
		}
	}
	return nil
}

// send sends a request as a caller, and checks the answer against the declaration of the operation.
// change may replace parts of the target and the body.
func (w *world) send(
	caller, method, target, body string, change func(string) string,
) (*reply, error) {
	expand := func(text string) string {
		text = w.script.expand(freshPattern.ReplaceAllString(text, "$$$1"))
		if change != nil {
			text = change(text)
		}
		return text
	}
	sent := &request{method: method, target: w.script.target(expand(target))}
	if body != "" {
		sent.body = []byte(expand(body))
	}
	w.script.caller = strings.TrimSuffix(caller, "nobody")
	if op := operationOf(method, sent.target); op != nil && needsKey(op) {
		w.script.serial++
		sent.headers = []string{
			fmt.Sprintf("Idempotency-Key: %s-%d", w.project, w.script.serial),
		}
	}
	if needsMatch(operationOf(method, sent.target)) {
		sent.headers = append(sent.headers, "If-Match: *")
	}
	got, err := w.script.send(sent)
	if err != nil {
		return nil, err
	}
	if problem := w.script.check(sent, got); problem != "" {
		return nil, fmt.Errorf("%s\n%s", problem, got.body)
	}
	return got, nil
}

// checkOutcome compares an answer with the outcome in a rule: ok; hidden, the refusal for a record
// that never existed; login; the role that is missing; or the code of a refusal.
func (w *world) checkOutcome(asked *matrixRequest, caller, outcome string, got *reply) error {
	value, _ := got.at("error.code")
	code := textOf(value)
	said := fmt.Errorf("%s, not %d %s", outcome, got.status, got.body)
	switch outcome {
	case allowed:
		if got.status >= 300 && !slices.Contains(asked.also, code) {
			return said
		}
		return nil
	case "hidden":
		if code != asked.hidden {
			return said
		}
		return w.checkHidden(asked, caller, got)
	case "login":
		outcome = string(fault.AuthenticationRequired)
	case "READER", "CONTRIBUTOR", "MAINTAINER":
		needed, _ := got.at("error.details.required")
		role, _ := got.at("error.details.role")
		if needed != outcome || textOf(role) != w.roleOf(caller) {
			return said
		}
		outcome = string(fault.RoleRequired)
	}
	if code != outcome {
		return said
	}
	return nil
}

// roleOf is the role of a caller in the project. In a private project the author and the holder are
// members.
func (w *world) roleOf(caller string) string {
	switch caller {
	case "reader", "contributor", "maintainer", "owner":
		return strings.ToUpper(caller)
	case "author":
		if w.project == "private" {
			return "CONTRIBUTOR"
		}
	case "holder":
		if w.project == "private" {
			return "READER"
		}
	}
	return ""
}

// hiddenPrefix is the prefix of the ID that such a refusal is about.
var hiddenPrefix = map[fault.Code]string{
	fault.ProjectNotFound: "prj_", fault.TaskNotFound: "tsk_", fault.SessionNotFound: "wks_",
	fault.WorkspaceNotFound: "wsp_", fault.ContributionNotFound: "ctr_",
	fault.ArtifactNotFound: "art_", fault.VerificationNotFound: "ver_",
	fault.DiscussionNotFound: "dsc_", fault.ChangesetNotFound: "chg_",
}

// checkHidden repeats the request with IDs that never existed: one that differs in the last bits,
// and one of a project that does not exist.
func (w *world) checkHidden(asked *matrixRequest, caller string, got *reply) error {
	prefix := hiddenPrefix[fault.Code(asked.hidden)]
	const nearDigit, farDigit = 23, 12
	for _, digit := range []int{nearDigit, farDigit} {
		changed := false
		other, err := w.send(caller, asked.method, asked.target, asked.body,
			func(text string) string {
				return anyID.ReplaceAllStringFunc(text, func(public string) string {
					if public[:len(prefix)] != prefix {
						return public
					}
					changed = true
					at := len(prefix) + digit
					next := byte('0')
					if public[at] == next {
						next = '1'
					}
					return public[:at] + string(next) + public[at+1:]
				})
			})
		if err != nil || !changed {
			return fmt.Errorf("no other ID was sent: %v", err)
		}
		if !bytes.Equal(w.bare(got), w.bare(other)) || !maps.EqualFunc(bareHeader(got),
			bareHeader(other), slices.Equal) {
			return fmt.Errorf("%s\ndiffers for an absent record:\n%s", got.body, other.body)
		}
	}
	return nil
}

// bare is the body of an answer without its request ID.
func (w *world) bare(got *reply) []byte {
	return bytes.ReplaceAll(got.body, []byte(got.header.Get("X-Request-Id")), nil)
}

// bareHeader returns the headers of an answer without those that differ between requests.
func bareHeader(got *reply) http.Header {
	header := got.header.Clone()
	for name := range header {
		if name == "X-Request-Id" || name == "Date" || strings.HasPrefix(name, "Ratelimit-") {
			delete(header, name)
		}
	}
	return header
}
