package work_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pws/internal/id"
	"pws/work"
)

// frozenLongTextEvents have messages and bodies that are stored away.
var frozenLongTextEvents = []frozenEvent{
	{"6-changeset-away", &work.ChangesetPublished{
		ID: agent("changeset"), Source: work.SourceFilePut, Away: pointer(frozenRef("m")),
	}},
	{"40-discussion-away", &work.DiscussionCreated{
		ID: agent("discussion"), Title: "t", Away: pointer(frozenRef("b")),
	}},
	{"41-comment-away", &work.CommentAdded{
		ID: agent("comment"), Discussion: agent("discussion"), DiscussionAuthor: agent("ann"),
		Away: pointer(frozenRef("b")),
	}},
	{"36-project-imported-talk-away", &work.ProjectImported{
		Changesets: []work.ChangesetPublished{{
			ID: agent("changeset"), Source: work.SourceImport, Away: pointer(frozenRef("m")),
		}},
		Discussions: []*work.Discussion{{
			ID: agent("discussion"), Author: agent("ann"), Title: "t", CreatedAt: testNow,
			Away: pointer(frozenRef("d")),
		}},
		Comments: []*work.Comment{{
			ID: agent("comment"), Author: agent("ann"), Discussion: agent("discussion"),
			CreatedAt: testNow, Away: pointer(frozenRef("c")),
		}},
	}},
}

// longTextWorld is a project with long messages and bodies, some of which were deleted.
func longTextWorld(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	message := func(text string, path string) {
		w.must(t, &work.PublishChangeset{
			Base: w.project.Head().ID, Message: text,
			Operations: []work.Operation{createOp(path, path)},
		})
	}
	message(long("first"), "a")
	message("short", "b")
	talk := func(title string) id.ID {
		made, err := w.do(agent("ann"), &work.CreateDiscussion{
			Title: title, Body: long("body"),
		}, byte(3*len(title)))
		if err != nil {
			t.Fatal(err)
		}
		return made.Result.Subject
	}
	kept, deleted := talk("kept"), talk("deleted")
	comment := func(body string) id.ID {
		return w.must(t, &work.AddComment{Discussion: kept, Body: body}).Result.Subject
	}
	comment(long("comment"))
	comment("short")
	last := comment(long("last"))
	w.must(t, &work.DeleteComment{Discussion: kept, Comment: last})
	w.must(t, &work.DeleteDiscussion{Discussion: deleted})
	message(long("head"), "c")
	return w
}

// TestFrozenLongTexts reads a project that was saved with messages and bodies stored away.
func TestFrozenLongTexts(t *testing.T) {
	p, head := frozenProject(t, "testdata/snapshot/v11-longtexts", longTextWorld,
		map[string]work.ChunkKind{
			"discussions.cbor": work.DiscussionChunk, "comments.cbor": work.CommentChunk,
			"past.cbor": work.PastChunk,
		})
	w := longTextWorld(t)
	list := func(p *work.Project) (all []string) {
		p.LongTexts(func(kind id.Prefix, record id.ID, text work.Away) bool {
			said, err := text.Text(w.load)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, record.Format(kind)+" "+said)
			return true
		})
		return all
	}
	want, got := list(w.project), list(p)
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 4 {
		t.Errorf("%d texts: %s", len(got), diff)
	}
	summary, err := work.RestoreSummary(head)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.project.Head().Away, summary.Head().Away); diff != "" {
		t.Error(diff)
	}
	past := 0
	p.PastContents(func(work.Hash) { past++ })
	if past != 2 {
		t.Errorf("%d past contents", past)
	}
	result, kept := p.ResultAt(0)
	if !kept || !result.LeftOut {
		t.Errorf("the stored result is %+v", result)
	}
}

// TestLongMessagesAndBodiesAreStoredAway compares what records have and count with what was given.
func TestLongMessagesAndBodiesAreStoredAway(t *testing.T) {
	w := longTextWorld(t)
	p := w.project
	first, short := p.ChangesetNumber(2), p.ChangesetNumber(3)
	text, err := first.Away.Text(w.load)
	if err != nil || text != long("first") || first.Message != "" {
		t.Errorf("the long message is %q, %q, %v", first.Message, text, err)
	}
	if short.Away != nil || short.Message != "short" {
		t.Errorf("the short one is %q, %v", short.Message, short.Away)
	}
	var talks []*work.Discussion
	p.Discussions(id.ID{}, func(d *work.Discussion) bool { talks = append(talks, d); return true })
	slices.Reverse(talks)
	kept, deleted := talks[0], talks[1]
	body, err := kept.Away.Text(w.load)
	if err != nil || body != long("body") || kept.Body != "" ||
		kept.Bytes() != len("kept")+len(long("body")) {
		t.Errorf("the body is %q, %q, %v; it counts %d", kept.Body, body, err, kept.Bytes())
	}
	if deleted.Away != nil || deleted.Bytes() != 0 {
		t.Errorf("the deleted discussion has %v and counts %d", deleted.Away, deleted.Bytes())
	}
	var said []string
	p.AllComments(func(c *work.Comment) bool {
		text := c.Body
		if c.Away != nil {
			text, err = c.Away.Text(w.load)
		}
		if c.Bytes() != len(text) || err != nil {
			t.Errorf("a comment of %d bytes counts %d: %v", len(text), c.Bytes(), err)
		}
		said = append(said, text)
		return true
	})
	if diff := cmp.Diff([]string{long("comment"), "short", ""}, said); diff != "" {
		t.Error(diff)
	}
	named := map[work.Hash]bool{}
	p.Contents(func(work.Hash) bool { return false }, func(h work.Hash) { named[h] = true })
	p.PastContents(func(h work.Hash) { named[h] = true })
	for hash, content := range w.blobs {
		if content[0] == 0xff && !named[hash] {
			t.Errorf("nothing names the text %.20q", content)
		}
	}
	gone := func(work.Hash) ([]byte, error) { return nil, nil }
	if text, err := kept.Away.Text(gone); text != "" || err != nil {
		t.Errorf("a removed body is %q, %v", text, err)
	}
	other := func(work.Hash) ([]byte, error) { return []byte("a file"), nil }
	if _, err := kept.Away.Text(other); err == nil {
		t.Error("another content is taken for a text")
	}
	restored, err := mustSave(t, p).restore()
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.ChangesetsCount() {
		want, got := p.ChangesetNumber(uint32(i+1)), restored.ChangesetNumber(uint32(i+1))
		if diff := cmp.Diff(want.Away, got.Away); diff != "" || want.Message != got.Message {
			t.Errorf("changeset %d: %s", i, diff)
		}
	}
	if p.MemoryBytes() != restored.MemoryBytes() {
		t.Errorf("it takes %d bytes, restored %d", p.MemoryBytes(), restored.MemoryBytes())
	}
}

// TestLimitsOfLongTexts stores texts away from a length on.
func TestLimitsOfLongTexts(t *testing.T) {
	w := newWorld()
	w.create(t)
	for _, of := range []struct {
		bytes         int
		message, body bool
	}{{511, false, false}, {512, true, false}, {2047, true, false}, {2048, true, true}} {
		text := strings.Repeat("x", of.bytes)
		content := blob(text)
		w.must(t, &work.PutFile{
			Path: "f", Blob: content, ContentType: "text/plain", Message: text,
		})
		talk := w.must(t, &work.CreateDiscussion{Title: "t", Body: text}).Result.Subject
		made, _ := w.project.Discussion(talk)
		if message := w.project.Head().Away != nil; message != of.message ||
			(made.Away != nil) != of.body {
			t.Errorf("%d bytes: %v, %v", of.bytes, message, made.Away)
		}
	}
}

// TestRevertsNameLongMessages reverts a changeset whose message is stored away.
func TestRevertsNameLongMessages(t *testing.T) {
	w := longTextWorld(t)
	reverted := w.project.Head()
	w.must(t, &work.RevertChangeset{
		Changeset: reverted.ID, Reverted: "its first line\n" + long("head"),
	})
	want := "Revert " + reverted.ID.Format(id.Changeset) + ": its first line"
	if got := w.project.Head().Message; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
}

// TestImportedLongTextsAreStoredAway imports a bundle with long texts.
func TestImportedLongTextsAreStoredAway(t *testing.T) {
	w := newWorld()
	command := &work.ImportProject{
		ID: agent("imported"), Kind: work.Standard,
		About: work.About{Name: "n", Visibility: work.Private, Status: work.Active},
		Imported: work.Imported{
			Project: work.Origin{}, Whole: true,
		},
		History: []work.BundledChangeset{{ID: agent("c"), Message: long("message")}},
		Discussions: []work.Bundled[work.Discussion]{{Record: work.Discussion{
			ID: agent("d"), Title: "t", Body: long("body"),
		}}},
		Comments: []work.Bundled[work.Comment]{{Record: work.Comment{
			ID: agent("k"), Discussion: agent("d"), Body: long("comment"),
		}}},
	}
	decision, err := work.Decide(command, nil, work.Stamp{Now: testNow, Agent: agent("ann")})
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range decision.Blobs {
		w.blobs[content.Hash] = content.Content
	}
	p := work.NewProject()
	for _, event := range decision.Events {
		p.Apply(event, work.Moment{Now: testNow, Agent: agent("ann")})
	}
	var said []string
	p.LongTexts(func(_ id.Prefix, _ id.ID, text work.Away) bool {
		one, err := text.Text(w.load)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, one)
		return true
	})
	want := []string{long("message"), long("body"), long("comment")}
	if diff := cmp.Diff(want, said, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}
