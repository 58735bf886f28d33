package cli

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestOpportunities has one of each class.
func TestOpportunities(t *testing.T) {
	const project = `"related_project":{"id":"prj_1","name":"Docs"},`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"ok":true,"data":{"opportunities":[` +
			`{"class":"OPEN_TASK","why_shown":["open","urgent"],` + project +
			`"related_task":{"id":"tsk_1","title":"Write"},"related_contribution":null},` +
			`{"class":"CONTRIBUTION_NEEDS_REVIEW","why_shown":["waits"],` + project +
			`"related_task":null,"related_contribution":{"id":"ctr_1","summary":"Fixes"}},` +
			`{"class":"PROJECT_MATCH","why_shown":[],` + project +
			`"related_task":null,"related_contribution":null}]}}`))
	}))
	defer server.Close()
	p := newHookPlace(t)
	p.server = server.URL
	env, out := p.env(nil)
	if err := (&OpportunityCommand{}).Run(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, row := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		rows = append(rows, strings.Join(strings.Fields(row), " "))
	}
	want := []string{
		"CLASS PROJECT ENTITY TITLE WHY", "OPEN_TASK prj_1 tsk_1 Write open",
		"CONTRIBUTION_NEEDS_REVIEW prj_1 ctr_1 Fixes waits", "PROJECT_MATCH prj_1 prj_1 Docs",
	}
	if !slices.Equal(rows, want) {
		t.Errorf("%q", rows)
	}
}
