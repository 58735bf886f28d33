package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"pws/api"
)

// permissions calls every operation of the table as every caller in every project of the rules, and
// checks who may do it. permission.txtar explains the format of the rules, the requests and the
// records. A refusal that hides a record must equal, byte for byte, the refusal for a record that
// never existed.
//
//	permissions RULES REQUESTS RECORDS
func (s *script) permissions(ts *testscript.TestScript, args []string) error {
	if len(args) != 3 {
		return errors.New("usage: permissions RULES REQUESTS RECORDS")
	}
	m := &matrix{
		script: s, rules: map[string]map[string][]string{},
		records: map[string][]*matrixStep{}, makers: map[string]string{},
	}
	if err := errors.Join(
		m.readRules(ts.ReadFile(args[0])), m.readRequests(ts.ReadFile(args[1])),
		m.readRecords(ts.ReadFile(args[2])),
	); err != nil {
		return err
	}
	if err := errors.Join(m.gaps()...); err != nil {
		return err
	}
	if err := s.register(ts, append(slices.Clone(matrixCallers[1:]), "joiner", "crew")); err != nil {
		return err
	}
	s.caller = ""
	wrong := slices.Concat(m.run(matrixProjects), m.run([]string{onceProject}))
	for _, asked := range m.requests {
		if asked.succeeded == 0 && m.rules[asked.permission][onceProject] == nil {
			wrong = append(wrong, asked.target+": nobody succeeds")
		}
	}
	if len(wrong) > 0 {
		return mismatchf("%d cells of the matrix are wrong:\n%s", len(wrong),
			strings.Join(wrong, "\n"))
	}
	return nil
}

// matrixCallers are the columns of the rules, in their order; the last two may be absent from a
// rule.
var matrixCallers = []string{
	"nobody", "stranger", "reader", "contributor", "maintainer", "owner", "author", "holder",
}

const callersLeast = 6

// matrixProjects are the projects of the rules. Requests that belong to no project are sent once.
var matrixProjects = []string{"public", "unlisted", "private", "sealed", "community"}

const onceProject = "once"

// requiredProjects are the projects for which every permission needs a rule.
var requiredProjects = []string{"public", "unlisted", "private", "community"}

// matrix is the table of permissions.
type matrix struct {
	script *script
	// rules are the expected outcomes for each caller, by permission and project.
	rules    map[string]map[string][]string
	requests []*matrixRequest
	// records are the steps that create each kind of record; makers maps a variable to the kind of
	// record that sets it.
	records map[string][]*matrixStep
	makers  map[string]string
}

// matrixRequest is a line of the requests.
type matrixRequest struct {
	operation, permission, hidden string
	method, target, body          string
	// also are codes of refusals that are not about permissions.
	also []string
	// succeeded counts the callers that succeeded.
	succeeded int
}

// matrixStep is a line of the records: a request that a caller sends in some of the projects, and
// the variables that it sets.
type matrixStep struct {
	projects             []string
	caller               string
	method, target, body string
	keep                 map[string]string
}

// matrixLines splits the lines into columns, without comments and empty lines.
func matrixLines(text, separator string) (lines [][]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, separator)
		for i := range columns {
			columns[i] = strings.TrimSpace(columns[i])
		}
		lines = append(lines, columns)
	}
	return lines
}

func (m *matrix) readRules(text string) error {
	for _, columns := range matrixLines(text, "|") {
		if len(columns) != 3 {
			return fmt.Errorf("a rule of %d columns: %q", len(columns), columns)
		}
		outcomes := strings.Fields(columns[2])
		none := slices.Equal(outcomes, []string{"none"})
		if n := len(outcomes); !none && (n < callersLeast || n > len(matrixCallers)) {
			return fmt.Errorf("a rule of %d outcomes: %q", n, columns)
		}
		of := m.rules[columns[0]]
		if of == nil {
			of = map[string][]string{}
			m.rules[columns[0]] = of
		}
		for _, project := range strings.Fields(columns[1]) {
			if of[project] != nil {
				return fmt.Errorf("%s has two rules for %s", columns[0], project)
			}
			if of[project] = outcomes; none {
				of[project] = []string{}
			}
		}
	}
	return nil
}

func (m *matrix) readRequests(text string) error {
	for _, columns := range matrixLines(text, " | ") {
		if len(columns) < 4 || len(columns) > 5 {
			return fmt.Errorf("a request of %d columns: %q", len(columns), columns)
		}
		asked := &matrixRequest{
			operation: columns[0], permission: columns[1], hidden: columns[2],
		}
		asked.method, asked.target, asked.body = splitRequest(columns[3])
		if len(columns) == 5 {
			asked.also = strings.Fields(columns[4])
		}
		target := m.script.target(asked.target)
		if op := operationOf(asked.method, target); op == nil || op.Name != asked.operation {
			return fmt.Errorf("%s is asked for by %s %s", asked.operation, asked.method, target)
		}
		m.requests = append(m.requests, asked)
	}
	return nil
}

func (m *matrix) readRecords(text string) error {
	for _, columns := range matrixLines(text, " | ") {
		if len(columns) < 4 || len(columns) > 5 {
			return fmt.Errorf("a record of %d columns: %q", len(columns), columns)
		}
		step := &matrixStep{caller: columns[2], keep: map[string]string{}}
		if columns[1] != "all" {
			step.projects = strings.Fields(columns[1])
		}
		step.method, step.target, step.body = splitRequest(columns[3])
		if len(columns) == 5 {
			for _, setting := range strings.Fields(columns[4]) {
				name, path, _ := strings.Cut(setting, "=")
				step.keep[name], m.makers[name] = path, columns[0]
			}
		}
		m.records[columns[0]] = append(m.records[columns[0]], step)
	}
	return nil
}

func splitRequest(text string) (method, target, body string) {
	method, target, _ = strings.Cut(text, " ")
	target, body, _ = strings.Cut(target, " ")
	return method, target, body
}

// gaps are operations without a request, and rules that are missing or unused.
func (m *matrix) gaps() (gaps []error) {
	asked, used := map[string]bool{}, map[string]bool{}
	for _, one := range m.requests {
		asked[one.operation], used[one.permission] = true, true
		if m.rules[one.permission] == nil {
			gaps = append(gaps, fmt.Errorf("%s: no rules for %q", one.operation, one.permission))
		}
	}
	for _, op := range api.Table {
		if !asked[op.Name] {
			gaps = append(gaps, fmt.Errorf("no request asks for the operation %s", op.Name))
		}
	}
	for _, permission := range slices.Sorted(maps.Keys(m.rules)) {
		if !used[permission] {
			gaps = append(gaps, fmt.Errorf("no request has the permission %s", permission))
		}
		of := m.rules[permission]
		for _, project := range requiredProjects {
			if of[project] == nil && of[onceProject] == nil {
				gaps = append(gaps, fmt.Errorf("%s has no rule for %s", permission, project))
			}
		}
		for project := range of {
			if project != onceProject && !slices.Contains(matrixProjects, project) {
				gaps = append(gaps, fmt.Errorf("%s has a rule for %s", permission, project))
			}
		}
	}
	return gaps
}

// run sends all requests in each of the given projects, one goroutine for each project.
func (m *matrix) run(projects []string) (wrong []string) {
	var all sync.WaitGroup
	worlds := make([]*world, len(projects))
	for i, project := range projects {
		worlds[i] = m.newWorld(project)
		all.Add(1)
		go func() {
			defer all.Done()
			worlds[i].run()
		}()
	}
	all.Wait()
	for _, w := range worlds {
		wrong = append(wrong, w.wrong...)
		for i, asked := range m.requests {
			asked.succeeded += w.succeeded[i]
		}
	}
	return wrong
}
