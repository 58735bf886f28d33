package work_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// quotaOf returns the name of the exceeded quota in an error, "" for no error.
func quotaOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	refusal, ok := err.(*fault.Error)
	if !ok || refusal.Code != fault.QuotaExceeded {
		t.Fatal(err)
	}
	return refusal.Details["quota"].(string)
}

// TestOneGuestCannotUseUpTheQuota lets one guest create as many records as it may.
func TestOneGuestCannotUseUpTheQuota(t *testing.T) {
	w := newWorld()
	w.create(t)
	project := work.Entity{Type: work.EntityProject, ID: w.project.ID}
	var discussion id.ID
	by := func(who string, command work.Command) error {
		w.now++
		decision, err := w.do(agent(who), command)
		if _, talks := command.(*work.CreateDiscussion); talks && err == nil {
			discussion = decision.Result.Subject
		}
		return err
	}
	talk := func() work.Command { return &work.CreateDiscussion{Title: "t", Body: "b"} }
	vouch := func() work.Command {
		return &work.CreateVerification{Finding: work.Finding{
			Entity: project, Kind: work.SelfReport, Outcome: work.Passed,
		}}
	}
	say := func() work.Command { return &work.AddComment{Discussion: discussion, Body: "c"} }
	for _, test := range []struct {
		command func() work.Command
		most    int
		quota   string
	}{
		{talk, work.GuestDiscussionsMax, "discussions_of_agent"},
		{vouch, work.GuestVerificationsMax, "verifications_of_agent"},
		{say, work.GuestCommentsPerDayMax, "comments_of_agent_today"},
	} {
		for range test.most {
			if quota := quotaOf(t, by("eve", test.command())); quota != "" {
				t.Fatalf("%s: too early", quota)
			}
		}
		if quota := quotaOf(t, by("eve", test.command())); quota != test.quota {
			t.Errorf("quota %q, want %s", quota, test.quota)
		}
		for _, who := range []string{"ann", "bob"} {
			if quota := quotaOf(t, by(who, test.command())); quota != "" {
				t.Errorf("%s: refused by %s", who, quota)
			}
		}
	}
	w.now += 86_400_000
	if quota := quotaOf(t, by("eve", say())); quota != "" {
		t.Errorf("the next day: refused by %s", quota)
	}
	// What the owner deletes gives room back, and so does a membership.
	first := firstBy(w.project, agent("eve"))
	if err := by("ann", &work.DeleteDiscussion{Discussion: first}); err != nil {
		t.Fatal(err)
	}
	if quota := quotaOf(t, by("eve", talk())); quota != "" {
		t.Errorf("after a deletion: refused by %s", quota)
	}
	if quota := quotaOf(t, by("eve", talk())); quota != "discussions_of_agent" {
		t.Errorf("a second one: quota %q", quota)
	}
	if err := by("ann", &work.AddMember{Agent: agent("eve"), Role: work.Reader}); err != nil {
		t.Fatal(err)
	}
	if quota := quotaOf(t, by("eve", talk())); quota != "" {
		t.Errorf("as a member: refused by %s", quota)
	}
}

// firstBy is the oldest discussion that an agent has opened.
func firstBy(p *work.Project, author id.ID) (first id.ID) {
	p.Discussions(id.ID{}, func(d *work.Discussion) bool {
		if d.Author == author {
			first = d.ID
		}
		return true
	})
	return first
}

// TestManyGuestsLeaveRoomForNewcomers reaches the limit for all guests.
func TestManyGuestsLeaveRoomForNewcomers(t *testing.T) {
	w := newWorld()
	w.create(t)
	talk := func(who string) string {
		_, err := w.do(agent(who), &work.CreateDiscussion{Title: "t", Body: "b"})
		return quotaOf(t, err)
	}
	for nth := range 2 * work.DiscussionsMax / work.GuestDiscussionsMax {
		for talk(fmt.Sprint("guest", nth)) == "" {
		}
	}
	if quota := talk("guest1"); quota != "discussions_of_agent" {
		t.Errorf("an agent with its share: quota %q", quota)
	}
	if quota := talk("guest199"); quota != "discussions_of_guests" {
		t.Errorf("an agent with a part of its share: quota %q", quota)
	}
	// The refusal names the limit that applies to it, which is reached.
	stored := 0
	w.project.Discussions(id.ID{}, func(*work.Discussion) bool {
		stored++
		return true
	})
	_, err := w.do(agent("guest199"), &work.CreateDiscussion{Title: "t", Body: "b"})
	var refusal *fault.Error
	if !errors.As(err, &refusal) || refusal.Details["limit"].(int) > stored {
		t.Errorf("there are %d discussions: %v, %v", stored, err, refusal.Details)
	}
	for _, who := range []string{"newcomer", "ann"} {
		if quota := talk(who); quota != "" {
			t.Errorf("%s: refused by %s", who, quota)
		}
	}
}

// TestWorkspacesExpire moves the time on behind workspaces of several kinds.
func TestWorkspacesExpire(t *testing.T) {
	const day = 86_400_000
	w := newWorld()
	w.create(t)
	w.put(t, "a", "1")
	by := func(who string, command work.Command) id.ID {
		t.Helper()
		decision, err := w.do(agent(who), command)
		if err != nil {
			t.Fatal(err)
		}
		return decision.Result.Subject
	}
	status := func(workspace id.ID) string {
		found, _ := w.project.WorkspaceAt(workspace, w.now)
		return found.Status.String()
	}
	write := func(workspace id.ID, content string) {
		by("eve", &work.WriteWorkspaceFile{
			Workspace: workspace, Path: "a", Blob: blob(content), ContentType: "text/plain",
		})
	}
	var empty []id.ID
	for range work.WorkspacesPerAgentMax - 2 {
		empty = append(empty, by("eve", new(work.OpenWorkspace)))
	}
	full, offered := by("eve", new(work.OpenWorkspace)), by("eve", new(work.OpenWorkspace))
	write(full, "2")
	write(offered, "3")
	by("eve", &work.SubmitWorkspace{Workspace: offered, Summary: "s"})
	if _, err := w.do(agent("eve"), new(work.OpenWorkspace)); quotaOf(t, err) == "" {
		t.Error("there is room for another one")
	}
	w.now += day - 1
	early := status(empty[0])
	w.now++
	if late := status(empty[0]); early != "OPEN" || late != "CLOSED" {
		t.Errorf("an empty one is %s before a day is over, and %s then", early, late)
	}
	if _, err := w.do(agent("eve"), &work.WriteWorkspaceFile{
		Workspace: empty[0], Path: "a", Blob: blob("4"), ContentType: "text/plain",
	}); fault.CodeOf(err) != fault.WorkspaceClosed {
		t.Errorf("writing into an expired one: %v", err)
	}
	// The room is free at once, and what is noted of the others changes nothing that is seen.
	before := w.project.UpdatedAt
	by("eve", new(work.OpenWorkspace))
	if one, _ := w.project.Workspace(empty[0]); one.Status != work.WorkspaceClosed {
		t.Errorf("it is stored as %s", one.Status)
	}
	if w.project.UpdatedAt != max(before, w.now) || status(full) != "OPEN" {
		t.Errorf("the full one is %s", status(full))
	}
	w.now += 20 * day
	contribution, _ := w.project.Workspace(offered)
	by("ann", &work.ReviewContribution{
		Contribution: contribution.Contribution, Verdict: work.VerdictComment, Body: "b",
		Revision: w.project.CurrentRevision(must(w.project.Contribution(contribution.Contribution))).ID,
	})
	w.now += 10 * day
	if full, offered := status(full), status(offered); full != "CLOSED" || offered != "SUBMITTED" {
		t.Errorf("after a month: %s, and %s that was reviewed", full, offered)
	}
	w.now += 20 * day
	if got := status(offered); got != "CLOSED" {
		t.Errorf("the submitted one is %s a month after its review", got)
	}
	// The contribution of an expired workspace can be decided all the same.
	by("ann", &work.RejectContribution{Contribution: contribution.Contribution, Reason: "r"})
}

func must[T any](found T, ok bool) T {
	if !ok {
		panic("it is not there")
	}
	return found
}

// TestDailyQuotasOfRestoredProjects compares the daily usage of a guest after a restart. It wrote a
// comment on the first day and opened a workspace on the second.
func TestDailyQuotasOfRestoredProjects(t *testing.T) {
	w := newWorld()
	w.create(t)
	talk := w.must(t, &work.CreateDiscussion{Title: "t", Body: "b"}).Result.Subject
	must2(w.do(agent("eve"), &work.AddComment{Discussion: talk, Body: "c"}))
	w.now += 86_400_000
	must2(w.do(agent("eve"), new(work.OpenWorkspace)))
	restored, err := mustSave(t, w.project).restore()
	if err != nil {
		t.Fatal(err)
	}
	want := w.project.QuotaUsages(agent("eve"), w.now)
	if diff := cmp.Diff(want, restored.QuotaUsages(agent("eve"), w.now)); diff != "" {
		t.Error(diff)
	}
}
