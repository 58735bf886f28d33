package api_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// named are the texts of a list of a resume, with their handoffs.
func named(list any, key string) (texts, handoffs []string) {
	items, _ := list.([]any)
	for _, item := range items {
		texts = append(texts, fmt.Sprint(at(item, key)))
		handoffs = append(handoffs, fmt.Sprint(at(item, "handoff_id")))
	}
	return texts, handoffs
}

// TestResumeRemembersAllSessions: a successor sees what failed in each of six sessions, what they
// decided, asked and feared: newest first, duplicates once, each with its handoff. Next actions are
// the newest ones.
func TestResumeRemembersAllSessions(t *testing.T) {
	d := newFakeEngine()
	d.create(t, work.About{Name: "chain", Description: "six sessions"})
	var handoffs, want, ids []string
	for n := range 6 {
		d.now += 1000
		text := func(what string) string { return fmt.Sprintf("%s %d", what, n) }
		d.do(t, "ann", &work.CreateHandoff{Continuation: work.Continuation{
			Summary: text("session"), NextActions: []string{text("action")},
			FailedApproaches: []work.Note{
				{Text: text("approach"), Reason: text("reason"), Reasoned: true},
				{Text: "the same"},
			},
			Decisions:     []work.Note{{Text: text("decision")}},
			OpenQuestions: []string{text("question"), "which?"}, ResidualRisks: []string{text("risk")},
			Blockers: []string{text("blocker")},
		}})
		handoffs = append(handoffs, d.project.LatestHandoff().ID.Format(id.Handoff))
		if n == 3 {
			d.now++
			d.do(t, "ann", &work.UpdateState{Statement: work.Statement{
				Decisions: []string{"of the state", "decision 1"}, OpenQuestions: []string{"which?"},
			}})
		}
	}
	for n := 5; n >= 0; n-- {
		want, ids = append(want, fmt.Sprintf("approach %d", n)), append(ids, handoffs[n])
		if n == 5 {
			want, ids = append(want, "the same"), append(ids, handoffs[n])
		}
	}
	for _, detail := range []string{"compact", "standard", "full"} {
		_, got := d.resumeOf(t, "", "detail", detail)
		texts, from := named(got["failures"], "approach")
		if !slices.Equal(texts, want) || !slices.Equal(from, ids) {
			t.Errorf("%s: failures %v of %v", detail, texts, from)
		}
		if reason := at(got, "failures", 2, "reason"); reason != "reason 4" {
			t.Errorf("%s: reason %v", detail, reason)
		}
		texts, from = named(got["decisions"], "decision")
		decided := "decision 5 decision 4 of the state decision 1 decision 3 decision 2 decision 0"
		if strings.Join(texts, " ") != decided || from[2] != "<nil>" || from[3] != handoffs[1] {
			t.Errorf("%s: decisions %v of %v", detail, texts, from)
		}
		texts, from = named(got["open_questions"], "question")
		if len(texts) != 7 || texts[1] != "which?" || from[1] != handoffs[5] {
			t.Errorf("%s: questions %v of %v", detail, texts, from)
		}
		if texts, _ = named(got["residual_risks"], "risk"); len(texts) != 6 || texts[5] != "risk 0" {
			t.Errorf("%s: risks %v", detail, texts)
		}
		if actions := fmt.Sprint(got["next_actions"]); actions != "[action 5]" {
			t.Errorf("%s: next actions %s", detail, actions)
		}
		blockers, _ := got["blockers"].([]any)
		if (detail == "full") != (len(blockers) == 6) || blockers[0] != "blocker 5" {
			t.Errorf("%s: blockers %v", detail, blockers)
		}
		if got["truncated_sections"] != nil {
			t.Errorf("%s: lost %v", detail, got["truncated_sections"])
		}
	}
}

// TestResumeOfChores: tasks that do not matter take a line each and leave room for the changes.
func TestResumeOfChores(t *testing.T) {
	d := newFakeEngine()
	d.create(t, work.About{Name: "chores"})
	since := d.project.Head().ID.Format(id.Changeset)
	for n := range 30 {
		d.publish(t, fmt.Sprintf("Change %d of the reader, with a reason", n),
			writes(fmt.Sprintf("src/file%d.go", n), "package main\n"))
	}
	for n := range 25 {
		d.task(t, work.TaskSpec{
			Title: fmt.Sprintf("Chore %d", n), Priority: work.PriorityLow, Skills: []string{"go"},
			Description: strings.Repeat("at length ", 40),
		})
	}
	for _, query := range [][]string{{}, {"since_changeset", since}, {"detail", "full"}} {
		text, got := d.resumeOf(t, "", append(query, "max_chars", "12000")...)
		changes, _ := got["changes"].([]any)
		open, _ := at(got, "tasks", "open").([]any)
		t.Logf("%v: %d changes, %d tasks, %d bytes", query, len(changes), len(open), len(text))
		least := map[bool]int{true: 20, false: 30}[len(query) == 0]
		if len(changes) < least && len(query) == 0 || len(open) != 25 && !slices.Contains(query, since) {
			t.Errorf("%v: %d changes, %d tasks", query, len(changes), len(open))
		}
		if slices.Contains(query, since) && len(changes) != 30 {
			t.Errorf("since: %d changes", len(changes))
		}
		if last, _ := open[len(open)-1].(map[string]any); len(last) != 4 {
			t.Errorf("%v: the last task is %v", query, last)
		}
		if names := fmt.Sprint(got["truncated_sections"]); !strings.Contains(names, "tasks") {
			t.Errorf("%v: lost %s", query, names)
		}
	}
}

// TestResumeCutsChangedFiles: a handoff shows 20 of its changed files and how many there are.
func TestResumeCutsChangedFiles(t *testing.T) {
	d := newFakeEngine()
	d.create(t, work.About{Name: "wide"})
	var operations []work.Operation
	for n := range 60 {
		operations = append(operations, writes(fmt.Sprintf("f%d.txt", n), "x"))
	}
	d.publish(t, "wide", operations...)
	d.do(t, "ann", &work.CreateHandoff{Continuation: work.Continuation{Summary: "left"}})
	_, got := d.resumeOf(t, "", "detail", "full", "max_chars", "200000")
	files, _ := at(got, "handoff", "changed_files").([]any)
	if count := at(got, "handoff", "changed_files_count"); len(files) != 20 || count != float64(60) {
		t.Errorf("%d files of %v", len(files), count)
	}
	if names := fmt.Sprint(got["truncated_sections"]); names != "[handoff]" {
		t.Errorf("lost %s", names)
	}
}

// TestFailedVerificationIsKnown: a record with the outcome FAILED is in manifest and resume, until
// its author leaves a newer PASSED.
func TestFailedVerificationIsKnown(t *testing.T) {
	d := newFakeEngine()
	d.join("bob", "bob")
	d.create(t, work.About{Name: "verified"})
	leave := func(who string, outcome work.Outcome, summary string) string {
		d.now++
		return d.do(t, who, &work.CreateVerification{Finding: work.Finding{
			Entity: work.Entity{Type: work.EntityProject, ID: d.project.ID}, Kind: work.SelfReport,
			Outcome: outcome, Summary: summary,
		}}).Result.Subject.Format(id.Verification)
	}
	check := func(want ...string) {
		t.Helper()
		_, resume := d.resumeOf(t, "")
		for _, holder := range []map[string]any{resume, d.manifestOf(t, "")} {
			var ids []string
			list, _ := holder["failed_verifications"].([]any)
			for _, one := range list {
				ids = append(ids, fmt.Sprint(at(one, "id")))
				if at(one, "outcome") != "FAILED" || at(one, "summary") == nil {
					t.Errorf("%v", one)
				}
			}
			if !slices.Equal(ids, want) {
				t.Errorf("failed %v, not %v", ids, want)
			}
		}
	}
	check()
	first := leave("ann", work.Failed, "does not build")
	check(first)
	second := leave("bob", work.Failed, "loses data")
	leave("ann", work.Inconclusive, "cannot say")
	check(second, first)
	leave("ann", work.Passed, "builds")
	check(second)
	leave("ann", work.Passed, "builds again")
	check(second)
}

// TestResumeOfLongChains: what a long chain of handoffs holds is bounded by the room, and by a
// number where the handoffs repeat each other; what is left out is named.
func TestResumeOfLongChains(t *testing.T) {
	d := newFakeEngine()
	d.create(t, work.About{Name: "long"})
	for n := range 1000 {
		d.do(t, "ann", &work.CreateHandoff{Continuation: work.Continuation{
			Summary: "left", FailedApproaches: []work.Note{{Text: "approach " + strconv.Itoa(n)}},
			ResidualRisks: []string{"always the same"},
		}})
	}
	_, got := d.resumeOf(t, "", "detail", "full", "max_chars", "200000")
	all, _ := named(got["failures"], "approach")
	if len(all) != 1000 || all[999] != "approach 0" {
		t.Errorf("%d failures", len(all))
	}
	if texts, _ := named(got["residual_risks"], "risk"); len(texts) != 1 {
		t.Errorf("%d risks", len(texts))
	}
	if got["truncated_sections"] != nil {
		t.Errorf("lost %v", got["truncated_sections"])
	}
	_, got = d.resumeOf(t, "", "max_chars", "3000")
	texts, _ := named(got["failures"], "approach")
	if len(texts) < 10 || texts[0] != "approach 999" {
		t.Errorf("%d failures: %v", len(texts), texts)
	}
	if names := fmt.Sprint(got["truncated_sections"]); !strings.HasPrefix(names, "[failures ") {
		t.Errorf("lost %s", names)
	}
}

// TestResumeBeginsWithTheNewestNotes: of state and handoff the newer says first what to do next,
// and that is what has room.
func TestResumeBeginsWithTheNewestNotes(t *testing.T) {
	d := newFakeEngine()
	d.join("ann", "ann")
	d.create(t, work.About{Name: "busy"})
	leave := func(action string) {
		d.do(t, "ann", &work.CreateHandoff{Continuation: work.Continuation{
			Summary: "left", NextActions: []string{action},
			CompletedWork: slices.Repeat([]string{strings.Repeat("x", 300)}, 50),
		}})
	}
	first := func(want string) {
		t.Helper()
		for _, size := range []string{"1000", "12000"} {
			text, err := d.read("resume.read", "ann", "max_chars", size)
			if err != nil || at(object(t, text), "resume", "next_actions", 0) != want {
				t.Errorf("%v %.300s does not begin with %q", err, text, want)
			}
		}
	}
	leave("old")
	first("old")
	d.now++
	d.do(t, "ann", &work.UpdateState{Statement: work.Statement{NextActions: []string{"new"}}})
	first("new")
	leave("together")
	first("together")
}
