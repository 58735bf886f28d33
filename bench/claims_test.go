package bench

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// httpAnswer returns the raw bytes of a response.
func httpAnswer(status int, body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

// taskID returns the nth ID of a test.
func taskID(n int) string { return fmt.Sprintf("tsk_%026d", n) }

func claimAnswer(task string) []byte {
	return httpAnswer(201, `{"ok":true,"data":{"task":{"id":"`+task+`","parent_task_id":"`+
		taskID(9999)+`"},"claim":{"task_id":"`+task+`","fencing_token":1}}}`)
}

func refusal(status int, code string) []byte {
	return httpAnswer(status, `{"ok":false,"error":{"code":"`+code+`","message":"m"}}`)
}

// newTestRace returns a race of two agents for the tasks of some projects.
func newTestRace(t *testing.T, projects ...string) *claimRace {
	race := &claimRace{server: &server{config: testConfig(t)}, projects: projects, perProject: 2}
	for range 2 {
		race.agents = append(race.agents, &claimer{race: race, agent: agent{credential: "c"}, asked: -1})
	}
	return race
}

func TestAgentsMoveOnTogether(t *testing.T) {
	race := newTestRace(t, "prj_a", "prj_b")
	first, second := race.agents[0], race.agents[1]
	asks := func(agent *claimer, project string) {
		t.Helper()
		if request := string(agent.next()); project == "" && request != "" ||
			!strings.Contains(request, project) {
			t.Fatalf("asks for %q, want %q", request, project)
		}
	}
	gets := func(agent *claimer, answer []byte, want string) {
		t.Helper()
		if whole, outcome, err := agent.complete(answer); !whole || outcome != want || err != nil {
			t.Fatalf("%t %q %v, want outcome %q", whole, outcome, err, want)
		}
	}
	empty := refusal(404, "TASK_NOT_FOUND")
	asks(first, "prj_a")
	asks(second, "prj_a")
	gets(first, claimAnswer(taskID(1)), "")
	gets(second, claimAnswer(taskID(2)), "")
	asks(first, "prj_a")
	asks(second, "prj_a")
	gets(first, empty, outcomeUncounted)
	asks(first, "prj_b")
	gets(second, empty, outcomeUncounted)
	asks(second, "prj_b")
	gets(second, refusal(409, "TASK_ALREADY_CLAIMED"), "409 TASK_ALREADY_CLAIMED")
	gets(first, httpAnswer(201, `{"ok":true,"data":{}}`), "201 without a claim")
	asks(second, "prj_b")
	gets(second, empty, outcomeUncounted)
	if race.dry.Load() {
		t.Error("dry BEFORE the last project had no task left")
	}
	asks(first, "")
	if !race.dry.Load() {
		t.Error("it is not reported that no tasks are left")
	}
	if first.taken[0] != taskID(1) || second.taken[0] != taskID(2) {
		t.Errorf("taken %v, %v", first.taken, second.taken)
	}
}

func TestClaimsAreCounted(t *testing.T) {
	for _, one := range []struct {
		name  string
		spoil func(race *claimRace, found [][]claimableTask)
		want  string
	}{
		{"good", func(*claimRace, [][]claimableTask) {}, ""},
		{"lost", func(_ *claimRace, found [][]claimableTask) { found[1][0].Claim = nil },
			"claims: 3 successful claims, 2 tasks are claimed; " +
				"claims: 1 tasks were given out and are not claimed"},
		{"twice", func(race *claimRace, _ [][]claimableTask) {
			race.agents[1].taken[0] = race.agents[0].taken[0]
		}, "claims: 1 tasks were given out twice"},
		{"silent", func(race *claimRace, _ [][]claimableTask) { race.agents[1].taken = nil },
			"claims: 2 successful claims, 3 tasks are claimed"},
		{"token", func(_ *claimRace, found [][]claimableTask) { found[0][1].Claim.FencingToken = 2 },
			"claims: 1 claims have a fencing token other than 1"},
		{"withheld", func(_ *claimRace, found [][]claimableTask) {
			found[0] = append(found[0], claimableTask{ID: taskID(7)})
		}, "claims: 1 open tasks were withheld"},
		{"dry", func(race *claimRace, _ [][]claimableTask) { race.dry.Store(true) },
			"claims: all 4 tasks were claimed BEFORE the rounds were over"},
	} {
		var found [][]claimableTask
		text := `[[{"id":"%s","claim":{"fencing_token":1}},{"id":"%s","claim":{"fencing_token":1}}],
			[{"id":"%s","claim":{"fencing_token":1}},{"id":"%s","claim":null}]]`
		text = fmt.Sprintf(text, taskID(1), taskID(2), taskID(3), taskID(4))
		if err := json.Unmarshal([]byte(text), &found); err != nil {
			t.Fatal(err)
		}
		race := newTestRace(t, "prj_a", "prj_b")
		race.agents[0].taken = []string{taskID(1), taskID(3)}
		race.agents[1].taken = []string{taskID(2)}
		one.spoil(race, found)
		report := &Report{Claims: race.count(found, 1)}
		if got := strings.Join(report.Failed(), "; "); got != one.want {
			t.Errorf("%s: failed with %q", one.name, got)
		}
	}
}

func TestCheckpointsBuildOnEachOther(t *testing.T) {
	heads := []string{"chg_" + strings.Repeat("a", 26), "chg_" + strings.Repeat("b", 26)}
	c := &checkpointer{
		projects: []ownProject{{path: "/one", head: heads[0]}, {path: "/two", head: heads[0]}},
		filler:   newFiller(0, contentBytes), words: newProse(0),
	}
	type body struct {
		Base  string `json:"base_changeset_id"`
		Files []struct{ Path, Content string }
		State struct{ Summary string }
		// Handoff is decoded to check that it is an object.
		Handoff map[string]any
	}
	seen := map[string]bool{}
	exchange := func(path, base string, answer []byte, want string) {
		t.Helper()
		head, text, _ := strings.Cut(string(c.next()), "\r\n\r\n")
		var sent body
		if err := json.Unmarshal([]byte(text), &sent); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if !strings.HasPrefix(head, "POST "+path+" ") || sent.Base != base || len(sent.Files) != 1 ||
			len(sent.Files[0].Content) != contentBytes || sent.Handoff["summary"] == "" ||
			seen[sent.State.Summary] {
			t.Errorf("%s %+v", head, sent)
		}
		seen[sent.State.Summary] = true
		if whole, outcome, err := c.complete(answer); !whole || outcome != want || err != nil {
			t.Errorf("%t %q %v, want outcome %q", whole, outcome, err, want)
		}
	}
	made := httpAnswer(201, `{"data":{"checkpoint":{"changeset_id":"`+heads[1]+`"}}}`)
	exchange("/one", heads[0], made, "")
	exchange("/two", heads[0], refusal(409, "PROJECT_MOVED"), "409 PROJECT_MOVED")
	exchange("/one", heads[1], made, "201 without a changeset")
	exchange("/two", heads[0], httpAnswer(201, `{"data":{}}`), "201 without a changeset")
}

func TestProseIsJSON(t *testing.T) {
	for _, one := range []struct {
		name     string
		text     func(p *prose) []byte
		min, max int
	}{
		{"state", func(p *prose) []byte { return p.state(nil) }, 900, 1200},
		{"full state", func(p *prose) []byte { return p.fullState(nil) }, 5000, 7000},
		{"handoff", func(p *prose) []byte { return p.handoff(nil) }, 900, 1200},
		{"task", func(p *prose) []byte { return p.task(nil, 7) }, 300, 450},
	} {
		p := newProse(1)
		first, second := one.text(p), one.text(p)
		var decoded map[string]any
		if err := json.Unmarshal(second, &decoded); err != nil {
			t.Errorf("%s: %v in %s", one.name, err, second)
		}
		if len(first) < one.min || len(first) > one.max || string(first) == string(second) {
			t.Errorf("%s: %d bytes of %s", one.name, len(first), first)
		}
	}
}

func TestFindID(t *testing.T) {
	for body, want := range map[string]string{
		`{"parent_task_id":"` + taskID(1) + `","task_id":"` + taskID(2) + `"}`: taskID(2),
		`{"task_id":null}`:  "",
		`{"task_id":"tsk_1`: "",
	} {
		if got, found := findID([]byte(body), `"task_id":"`); got != want || found != (want != "") {
			t.Errorf("%s: %q", body, got)
		}
	}
}
