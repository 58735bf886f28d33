package actors

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pws/api"
	"pws/blobs"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// TestVerifyFindsMissingLongTexts drops the contents of long texts of each kind of record.
func TestVerifyFindsMissingLongTexts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := newService(t, dir)
	project := s.create(work.Public)
	long := func(name string) string { return name + strings.Repeat(" long", 800) }
	s.do(0, project, &work.CreateTask{Spec: work.TaskSpec{Title: "t", Description: long("task")}})
	s.do(0, project, &work.CreateHandoff{
		Continuation: work.Continuation{NextActions: []string{long("handoff")}},
	})
	changed := putOf("a", "content")
	changed.Message = long("message")
	s.do(0, project, changed)
	s.do(0, project, &work.CreateDiscussion{Title: "t", Body: long("discussion")})
	var talk id.ID
	viewOf(t, s.Engine, project).Discussions(id.ID{}, func(d *work.Discussion) bool {
		talk = d.ID
		return false
	})
	s.do(0, project, &work.AddComment{Discussion: talk, Body: long("comment")})
	s.save()
	sound := crashCopy(t, dir)
	mustVerify(t, sound)
	named := []string{"5 faults", `of "texts" is missing`}
	viewOf(t, s.Engine, project).LongTexts(
		func(kind id.Prefix, record id.ID, text work.Away) bool {
			named = append(named, fmt.Sprintf("%s %s: the content %x", kind.Noun(),
				record.Format(kind), text.Hash))
			return true
		})
	if len(named) != 2+5 {
		t.Fatalf("the texts are of %q", named)
	}
	dropBlobs(t, sound, func(h blobs.Hash) bool { return h == blobs.Hash(blobOf("content").Hash) })
	wantFaults(t, sound, named...)
}

// TestVerifyChecksProjectsOnce verifies a project that has chunks of the kinds whose keys begin
// like those of projects and cards.
func TestVerifyChecksProjectsOnce(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	owner, reader := register(t, e, "owner"), register(t, e, "reader")
	project := createProject(t, e, owner, work.Public)
	mustDo(t, e, project, owner, &work.CreateDiscussion{
		Title: "t", Body: "hello @reader", Mentions: []id.ID{reader},
	})
	for n := range 2 {
		mustDo(t, e, project, owner, &work.UpdateState{
			Statement: work.Statement{Summary: fmt.Sprint(n)},
		})
	}
	left, err := e.Do(api.Order{Project: project, Agent: owner, Command: &work.CreateHandoff{
		Continuation: work.Continuation{NextActions: []string{strings.Repeat("long ", 800)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	mustDo(t, e, project, owner, &work.DeleteHandoff{Handoff: left.Result.Subject})
	saveAll(t, e)
	for _, kind := range []work.ChunkKind{work.StateChunk, work.PastChunk} {
		if _, there := e.snapshot.SectionPosition(
			datadir.ChunkKey(project, work.Chunk{Kind: kind}),
		); !there {
			t.Errorf("there is no chunk %c", kind)
		}
	}
	stop(t, e)
	report, err := Verify(config.Dir)
	if err != nil || report.Projects != 1 {
		t.Errorf("%d projects: %v", report.Projects, err)
	}
}
