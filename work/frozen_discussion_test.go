package work_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/id"
	"pws/work"
)

// frozenDiscussionEvents are the events of discussions, comments and watches.
var frozenDiscussionEvents = []frozenEvent{
	{"40-discussion-created", &work.DiscussionCreated{
		ID: agent("discussion"), Title: "ä title", Body: "a body\nof two lines",
		Subject:  work.Matter{Type: work.MatterTask, ID: agent("task")},
		Mentions: []id.ID{agent("bob"), agent("eve")},
	}},
	{"40-discussion-of-file", &work.DiscussionCreated{
		ID: agent("discussion"), Title: "t", Body: "b",
		Subject: work.Matter{Type: work.MatterFile, Path: "a/b"},
	}},
	{"41-comment-added", &work.CommentAdded{
		ID: agent("comment"), Discussion: agent("discussion"), Body: "no, @bob",
		ReplyTo: agent("first"), Mentions: []id.ID{agent("bob")},
		DiscussionAuthor: agent("ann"), ReplyAuthor: agent("eve"),
	}},
	{"41-comment-plain", &work.CommentAdded{
		ID: agent("comment"), Discussion: agent("discussion"), Body: "yes",
		DiscussionAuthor: agent("ann"),
	}},
	{"42-project-watched", &work.ProjectWatched{Agent: agent("eve")}},
	{"36-project-imported-talk", &work.ProjectImported{
		Changesets: []work.ChangesetPublished{{
			ID: agent("changeset"), Source: work.SourceImport,
		}},
		Status: work.Active,
		Discussions: []*work.Discussion{{
			ID: agent("discussion"), Author: agent("ann"), Title: "t", Body: "b",
			Subject: work.Matter{Type: work.MatterFile, Path: "a"}, CreatedAt: testNow,
		}},
		Comments: []*work.Comment{{
			ID: agent("comment"), Discussion: agent("discussion"), Author: agent("ann"), Body: "c",
			ReplyTo: agent("first"), CreatedAt: testNow,
		}},
		Imported: work.Imported{
			Project: frozenOrigin("project"), State: frozenOrigin(""),
			Discussions: []work.Origin{frozenOrigin("old discussion")},
			Comments:    []work.Origin{frozenOrigin("old comment")},
		},
	}},
	{"43-project-unwatched", &work.ProjectUnwatched{Agent: agent("eve")}},
	{"44-workspace-ended", &work.WorkspaceEnded{Workspace: agent("workspace")}},
	{"44-workspace-expired", &work.WorkspaceEnded{
		Workspace: agent("workspace"), Expired: true,
	}},
	{"30-contribution-withdrawn-closes", &work.ContributionWithdrawn{
		Contribution: agent("contribution"), Reason: "r", Closes: true,
	}},
	{"45-discussion-locked", &work.DiscussionSet{
		Discussion: agent("discussion"), Status: work.DiscussionLocked,
	}},
	{"45-discussion-opened", &work.DiscussionSet{Discussion: agent("discussion")}},
	{"46-discussion-deleted", &work.DiscussionDeleted{Discussion: agent("discussion")}},
	{"47-comment-deleted", &work.CommentDeleted{
		Discussion: agent("discussion"), Comment: agent("comment"),
	}},
}

// frozenDiscussions is what the frozen snapshot with discussions was made of.
func frozenDiscussions(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	w.put(t, "a", "1")
	by := func(who string, command work.Command) id.ID {
		t.Helper()
		w.now++
		decision, err := w.do(agent(who), command)
		if err != nil {
			t.Fatal(err)
		}
		return decision.Result.Subject
	}
	first := by("eve", &work.CreateDiscussion{
		Title: "first", Body: "what of @ann", Mentions: []id.ID{agent("ann")},
		Subject: work.Matter{Type: work.MatterFile, Path: "a"},
	})
	second := by("ann", &work.CreateDiscussion{Title: "second", Body: "b"})
	said := by("ann", &work.AddComment{Discussion: first, Body: "one"})
	by("bob", &work.AddComment{Discussion: second, Body: "elsewhere"})
	by("eve", &work.AddComment{
		Discussion: first, Body: "two", ReplyTo: said, Mentions: []id.ID{agent("bob")},
	})
	by("eve", new(work.WatchProject))
	by("bob", new(work.WatchProject))
	by("eve", new(work.UnwatchProject))
	return w
}

// TestFrozenDiscussions reads a project that was saved with discussions and a watcher.
func TestFrozenDiscussions(t *testing.T) {
	p, head := frozenProject(t, "testdata/snapshot/v5-discussions", frozenDiscussions,
		map[string]work.ChunkKind{
			"discussions.cbor": work.DiscussionChunk, "comments.cbor": work.CommentChunk,
			"watchers.cbor": work.WatcherChunk,
		})
	var found []*work.Discussion
	p.Discussions(id.ID{}, func(d *work.Discussion) bool { found = append(found, d); return true })
	if len(found) != 2 || !p.Has(id.Discussion, found[0].ID) {
		t.Fatalf("%d discussions", len(found))
	}
	first := found[1]
	want := &work.Discussion{
		ID: first.ID, Author: agent("eve"), Title: "first", Body: "what of @ann",
		Subject:  work.Matter{Type: work.MatterFile, Path: "a"},
		Mentions: []id.ID{agent("ann")}, CreatedAt: testNow + 1,
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	var said []*work.Comment
	p.Comments(first.ID, id.ID{}, func(c *work.Comment) bool { said = append(said, c); return true })
	if len(said) != 2 || !p.Has(id.Comment, said[0].ID) {
		t.Fatalf("%d comments", len(said))
	}
	wantSaid := &work.Comment{
		ID: said[1].ID, Discussion: first.ID, Author: agent("eve"), Body: "two",
		ReplyTo: said[0].ID, Mentions: []id.ID{agent("bob")}, CreatedAt: testNow + 5,
	}
	if diff := cmp.Diff(wantSaid, said[1]); diff != "" {
		t.Error(diff)
	}
	if count, newest := p.CommentCount(first.ID); count != 2 || newest != said[1] {
		t.Errorf("%d comments, the newest is %v", count, newest)
	}
	since, watching := p.Watch(agent("bob"))
	if _, gone := p.Watch(agent("eve")); gone || !watching || since != testNow+7 {
		t.Errorf("bob watches since %d, eve does: %t", since, gone)
	}
	summary, err := work.RestoreSummary(head)
	if err != nil || summary.WatchersCount() != 1 || p.WatchersCount() != 1 {
		t.Errorf("the summary: %v, %d watchers", err, p.WatchersCount())
	}
}
