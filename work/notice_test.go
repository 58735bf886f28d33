package work_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// silentKinds are the events that concern nobody in particular.
var silentKinds = []work.Kind{
	1, 2, 4, 5, // the project, and changes of its members
	6, 7, 8, 9, 10, 11, // changesets, work sessions, state, handoffs, checkpoints
	12, 13, 14, 15, 16, // tasks, but for claims that ran out
	18, 19, 20, 21, 22, 23, // workspaces and turns
	30,                     // who withdraws a contribution is its author
	31, 32, 33, 34, 35, 36, // forks, artifacts, imports, relations, verification records, bundles
	42, 43, // watches
	44, 45, 46, 47, // what was closed or deleted
	50, 56, 57, // a removed project, which nobody can read, and what was left of purged texts
	52, 53, 54, 55, // blocks, and turns that are waited for or end
	71,         // a restored project
	60, 61, 63, // deleted records, but for undecided contributions
}

// noticeCases are by ann. A notice is the agent, its kind, and what it is about.
var noticeCases = []struct {
	event work.Event
	want  string
}{
	{
		&work.DiscussionCreated{ID: agent("d"), Mentions: []id.ID{agent("bob"), agent("ann")}},
		"bob MENTION DISCUSSION d",
	},
	{&work.DiscussionCreated{ID: agent("d")}, ""},
	{
		&work.CommentAdded{ID: agent("c"), DiscussionAuthor: agent("bob")},
		"bob REPLY COMMENT c",
	},
	{&work.CommentAdded{ID: agent("c"), DiscussionAuthor: agent("ann")}, ""},
	{
		&work.CommentAdded{
			ID: agent("c"), DiscussionAuthor: agent("bob"), ReplyAuthor: agent("eve"),
			Mentions: []id.ID{agent("dan"), agent("eve"), agent("dan")},
		},
		"dan MENTION COMMENT c, eve MENTION COMMENT c, bob REPLY COMMENT c",
	},
	{
		&work.CommentAdded{
			ID: agent("c"), DiscussionAuthor: agent("bob"), ReplyAuthor: agent("bob"),
		},
		"bob REPLY COMMENT c",
	},
	{
		&work.ContributionSubmitted{
			ID: agent("x"), Revision: agent("r"), Deciders: []id.ID{agent("bob"), agent("eve")},
		},
		"bob REVIEW_REQUESTED CONTRIBUTION x r, eve REVIEW_REQUESTED CONTRIBUTION x r",
	},
	{&work.ContributionSubmitted{ID: agent("x"), Revision: agent("r")}, ""},
	{
		&work.RevisionSubmitted{
			Contribution: agent("x"), ID: agent("r"), Deciders: []id.ID{agent("bob")},
		},
		"bob REVIEW_REQUESTED CONTRIBUTION x r",
	},
	{
		&work.ContributionReviewed{
			Contribution: agent("x"), ID: agent("v"), Binding: true, Author: agent("bob"),
		},
		"bob REVIEWED CONTRIBUTION x v",
	},
	{
		&work.ContributionReviewed{
			Contribution: agent("x"), ID: agent("v"), Verdict: work.VerdictComment,
			Author: agent("bob"),
		},
		"bob REVIEWED CONTRIBUTION x v",
	},
	{&work.ContributionReviewed{Contribution: agent("x"), Author: agent("ann")}, ""},
	{&work.ContributionReviewed{Contribution: agent("x"), Binding: true}, ""},
	{
		&work.ContributionConflicted{Contribution: agent("x"), Author: agent("bob")},
		"bob REVIEWED CONTRIBUTION x",
	},
	{
		&work.ContributionAccepted{Contribution: agent("x"), Author: agent("bob")},
		"bob CONTRIBUTION_DECIDED CONTRIBUTION x",
	},
	{&work.ContributionAccepted{Contribution: agent("x"), Author: agent("ann")}, ""},
	{&work.ContributionAccepted{Contribution: agent("x")}, ""},
	{
		&work.ContributionRejected{Contribution: agent("x"), Author: agent("bob")},
		"bob CONTRIBUTION_DECIDED CONTRIBUTION x",
	},
	{
		&work.ContributionDeleted{
			Contribution: agent("x"), Author: agent("bob"), Decides: true,
		},
		"bob CONTRIBUTION_DECIDED CONTRIBUTION x",
	},
	{
		&work.ContributionDeleted{
			Contribution: agent("x"), Author: agent("ann"), Decides: true,
		},
		"",
	},
	{&work.ContributionDeleted{Contribution: agent("x"), Author: agent("bob")}, ""},
	{
		&work.MemberAdded{Member: work.Member{Agent: agent("bob"), Role: work.Reader}},
		"bob MEMBER_ADDED PROJECT",
	},
	{
		&work.TaskClaimExpired{Task: agent("t"), Agent: agent("bob")},
		"bob CLAIM_EXPIRED TASK t",
	},
	{&work.ProjectHidden{Reason: "r", Owner: agent("bob")}, "bob PROJECT_HIDDEN PROJECT"},
	{&work.ProjectShown{Owner: agent("bob")}, "bob PROJECT_SHOWN PROJECT"},
	{
		&work.ProjectDeleted{Members: []id.ID{agent("ann"), agent("bob"), agent("eve")}},
		"bob PROJECT_DELETED PROJECT, eve PROJECT_DELETED PROJECT",
	},
	// Who comes back too late notes it by whatever it does next.
	{
		&work.TaskClaimExpired{Task: agent("t"), Agent: agent("ann")},
		"ann CLAIM_EXPIRED TASK t",
	},
}

func TestNotices(t *testing.T) {
	names := map[id.ID]string{{}: ""}
	for _, name := range strings.Fields("ann bob eve dan c d r t v x") {
		names[agent(name)] = name
	}
	notified := map[work.Kind]bool{}
	for _, c := range noticeCases {
		var got []string
		for _, n := range work.Notices(c.event, agent("ann")) {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s",
				names[n.Agent], n.Kind, n.Subject.Type, names[n.Subject.ID], names[n.Part])))
			notified[work.KindOf(c.event)] = true
			if !n.Kind.Given() || !slices.Contains(work.NoticeKinds(), n.Kind.String()) {
				t.Errorf("%T: kind %d", c.event, n.Kind)
			}
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%T %+v\n got %s\nwant %s", c.event, c.event, got, c.want)
		}
	}
	for kind := work.Kind(1); kind < 1000; kind++ {
		silent := slices.Contains(silentKinds, kind)
		switch {
		case work.Known(kind) && !silent && !notified[kind]:
			t.Errorf("kind %d is neither in silentKinds nor in noticeCases with a notice", kind)
		case silent && notified[kind]:
			t.Errorf("kind %d is in silentKinds, and a case of noticeCases has a notice", kind)
		case work.GivesNotices(kind) != notified[kind]:
			t.Errorf("GivesNotices(%d) is %t; noticeCases has a notice: %t", kind,
				work.GivesNotices(kind), notified[kind])
		}
	}
	for _, frozen := range frozenEvents {
		kind := work.KindOf(frozen.event)
		if slices.Contains(silentKinds, kind) && len(work.Notices(frozen.event, id.ID{})) > 0 {
			t.Errorf("%s is not silent", frozen.file)
		}
	}
}

// Those who can accept a contribution are notified; among them always the owner.
func TestDecidersAreAskedForReviews(t *testing.T) {
	w := newWorld()
	w.create(t)
	w.put(t, "a", "1")
	by := func(who string, command work.Command) work.Decision {
		t.Helper()
		w.now++
		decision, err := w.do(agent(who), command)
		if err != nil {
			t.Fatal(err)
		}
		return decision
	}
	asked := func(decision work.Decision, by string) (agents []id.ID) {
		for _, event := range decision.Events {
			for _, n := range work.Notices(event, agent(by)) {
				agents = append(agents, n.Agent)
			}
		}
		return agents
	}
	by("ann", &work.AddMember{Agent: agent("bob"), Role: work.Maintainer})
	by("ann", &work.AddMember{Agent: agent("cat"), Role: work.Contributor})
	workspace := by("bob", new(work.OpenWorkspace)).Result.Subject
	write := func(content string) {
		by("bob", &work.WriteWorkspaceFile{
			Workspace: workspace, Path: "a", Blob: blob(content), ContentType: "text/plain",
		})
	}
	write("2")
	got := asked(by("bob", &work.SubmitWorkspace{Workspace: workspace, Summary: "s"}), "bob")
	if !slices.Equal(got, []id.ID{agent("ann")}) {
		t.Fatalf("%d are asked for bob's", len(got))
	}
	for n := range 120 {
		by("ann", &work.AddMember{Agent: agent(fmt.Sprint("m", n)), Role: work.Maintainer})
	}
	by("ann", &work.ChangeMember{Agent: agent("m119"), Role: work.Owner})
	write("3")
	got = asked(by("bob", &work.SubmitWorkspace{Workspace: workspace, Summary: "s"}), "bob")
	if len(got) != 100 || got[0] != agent("m119") || got[1] != agent("ann") ||
		slices.Contains(got, agent("cat")) {
		t.Fatalf("%d are asked for the second revision", len(got))
	}
	contribution, _ := w.project.Workspace(workspace)
	got = asked(by("m119", &work.RejectContribution{Contribution: contribution.Contribution}), "m119")
	if !slices.Equal(got, []id.ID{agent("bob")}) {
		t.Fatalf("%d are notified of the rejection", len(got))
	}
}
