package api

import (
	"regexp"
	"strings"
	"testing"

	"pws/internal/fault"
)

var placePattern = regexp.MustCompile(`<[^>]*>`)

// TestAdviceNamesWhatExists: what advice names exists, and every code has advice for everybody.
func TestAdviceNamesWhatExists(t *testing.T) {
	for code, list := range adviceByCode {
		fault.Lookup(code)
		for _, one := range list {
			for _, place := range placePattern.FindAllString(one.text, -1) {
				name := strings.Trim(place, "<>")
				if name != "base" && name != sameRequest && name != readAgain && operationNamed(name) == nil {
					t.Errorf("%s: there is no operation %s", code, name)
				}
			}
			bare := placePattern.ReplaceAllString(one.text, "")
			for _, found := range dottedPattern.FindAllString(bare, -1) {
				if !strings.HasPrefix(found, "details.") && !strings.HasSuffix(found, ".md") {
					t.Errorf("%s: %s is named without being looked up", code, found)
				}
			}
			if method := regexp.MustCompile(`(GET|PUT|PATCH|DELETE) /`).FindString(bare); method != "" {
				t.Errorf("%s: a route is written by hand: %s", code, one.text)
			}
		}
	}
	for name := range stepRights {
		if operationNamed(name) == nil {
			t.Errorf("a right for %s, which is no operation", name)
		}
	}
	nobody := &Call{}
	for _, entry := range fault.Catalog {
		for _, client := range []Client{{MCP: true}, {MCP: true, Core: true}, {}} {
			step := nobody.Next(fault.New(entry.Code, "x"), client)
			if step.Text == "" || strings.ContainsAny(step.Text, "<>") {
				t.Errorf("%s: the step is %q", entry.Code, step.Text)
			}
		}
	}
}

// TestAdviceInProtocol: over MCP a step names tools of the profile and no routes.
func TestAdviceInProtocol(t *testing.T) {
	nobody := &Call{}
	for _, entry := range fault.Catalog {
		for _, core := range []bool{false, true} {
			step := nobody.Next(fault.New(entry.Code, "x"), Client{MCP: true, Core: core})
			for _, call := range step.Calls {
				if call.Operation.Tool == "" || core && !call.Operation.Core {
					t.Errorf("%s: %s is not listed", entry.Code, call.Operation.Name)
				}
			}
			if entry.Status != 401 && strings.Contains(step.Text, "/api/") {
				t.Errorf("%s: %s", entry.Code, step.Text)
			}
		}
	}
	step := nobody.Next(fault.New(fault.SessionExpired, "x"), Client{MCP: true, Base: "http://a"})
	if !strings.Contains(step.Text, "POST http://a/api/v1/auth/challenge") {
		t.Errorf("%s", step.Text)
	}
}

// TestAdviceOfLargeAnswers: a tool whose answer is too large is called over HTTP.
func TestAdviceOfLargeAnswers(t *testing.T) {
	large := fault.New(fault.QuotaExceeded, "x").With("quota", QuotaToolAnswer)
	call := &Call{
		Operation: operationNamed("project.export"), Params: []string{"prj_1"},
		Query: map[string]string{"history": "full"},
	}
	for _, core := range []bool{false, true} {
		step := call.Next(large, Client{MCP: true, Core: core, Base: "http://a"})
		want := "GET http://a/api/v1/projects/prj_1/export?history=full"
		if !strings.Contains(step.Text, want) || len(step.Calls) > 0 {
			t.Errorf("%+v", step)
		}
	}
}
