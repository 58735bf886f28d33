package work_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// paths are few and nested, so that random commands meet each other.
var paths = []string{
	"a", "a/b", "a/b/c.go", "a/d.py", "b", "b.go", "c/x", "c/y", "c/z/1", "d", "A", "e-1", "e/1",
}

// source draws what a random command is made of; rapid and a plain seed both can.
type source func(n int) int

func (draw source) path() string { return paths[draw(len(paths))] }

func (draw source) content() *work.Blob {
	b := blob(fmt.Sprint("content ", draw(12)))
	return &b
}

func (draw source) contentType() string { return []string{"text/plain", "text/x"}[draw(2)] }

func (draw source) agent() id.ID {
	return agent([]string{"ann", "ann", "ann", "bob", "carl", "dora"}[draw(6)])
}

func (draw source) operation() work.Operation {
	step := work.Operation{Action: work.Action(1 + draw(4)), Path: draw.path()}
	if step.Action == work.Rename {
		step.NewPath = draw.path()
	}
	if step.Action == work.Create || step.Action == work.Modify ||
		step.Action == work.Rename && draw(3) == 0 {
		step.Content, step.ContentType = draw.content(), draw.contentType()
	}
	if draw(8) == 0 {
		step.Expected = &draw.content().Hash
	}
	return step
}

func (draw source) command(p *work.Project) work.Command {
	if p.Status == work.Archived && draw(4) == 0 {
		return &work.UpdateProject{Status: work.Active}
	}
	switch kind := draw(20); {
	case kind < 9:
		return &work.PutFile{
			Path: draw.path(), Blob: *draw.content(), ContentType: draw.contentType(),
			Message: []string{"", "said"}[draw(2)],
		}
	case kind < 12:
		return &work.DeleteFile{Path: draw.path()}
	case kind < 16:
		command := &work.PublishChangeset{Base: p.Head().ID, Message: "several"}
		if draw(10) == 0 {
			command.Base = p.ChangesetNumber(uint32(1 + draw(p.ChangesetsCount()))).ID
		}
		for range 1 + draw(5) {
			command.Operations = append(command.Operations, draw.operation())
		}
		return command
	case kind == 16:
		name := fmt.Sprint("name ", draw(3))
		topics := [][]string{nil, {}, {"one"}, {"one", "two"}}[draw(4)]
		return &work.UpdateProject{
			Name: &name, Topics: &topics, Visibility: work.Visibility(draw(4)),
			Reuse: work.Reuse(draw(3)), Status: work.Status(draw(3)),
		}
	case kind == 17:
		return &work.AddMember{Agent: draw.agent(), Role: work.Role(1 + draw(4))}
	case kind == 18:
		return &work.ChangeMember{Agent: draw.agent(), Role: work.Role(1 + draw(4))}
	}
	return &work.RemoveMember{Agent: draw.agent()}
}

// act gives one random command; all but refusals of the rules are faults.
func act(w *world, draw source) error {
	w.now += int64(draw(2000)) - 200
	if draw(30) == 0 {
		w.now += work.IdempotencySeconds * 400
	}
	var key []byte
	if draw(3) == 0 {
		key = []byte{byte(draw(200))}
	}
	who := w.project.Owner
	if draw(3) == 0 {
		who = draw.agent()
	}
	_, err := w.do(who, draw.command(w.project), key...)
	if code := fault.CodeOf(err); code == fault.Internal {
		return err
	}
	return nil
}

// checkEqual compares the live state with the replayed one, with a restored one, and with a
// restored older one that the rest of the log was applied to, bit for bit.
func checkEqual(w *world, old saved, oldLog int) error {
	want, err := save(w.project)
	if err != nil {
		return err
	}
	restored, err := want.restore()
	if err != nil {
		return err
	}
	replayed, err := replayOn(nil, w.log)
	if err != nil {
		return err
	}
	continued, err := old.restore()
	if err == nil {
		continued, err = replayOn(continued, w.log[oldLog:])
	}
	if err != nil {
		return err
	}
	for name, other := range map[string]*work.Project{
		"restored": restored, "replayed": replayed, "snapshot and tail": continued,
	} {
		got, err := save(other)
		if err != nil {
			return err
		}
		if !got.equal(want) {
			return fmt.Errorf("the %s state is another", name)
		}
		summary, err := work.RestoreSummary(got.head)
		if err != nil || summary.FilesCount() != other.FilesCount() ||
			summary.ChangesetsCount() != other.ChangesetsCount() ||
			summary.Head().ID != other.Head().ID {
			return fmt.Errorf("the summary is another: %v", err)
		}
		if w.steps%2 == 0 {
			w.project = other
		}
	}
	return nil
}

// random runs commands and compares now and then; at the end all states that were saved on the way
// must still be what they were.
func random(t testing.TB, steps, every int, draw source) error {
	w, m := newWorld(), newModel()
	w.create(t)
	type kept struct {
		project *work.Project
		saved   saved
		log     int
	}
	olds := []kept{{w.project, mustSave(t, w.project), len(w.log)}}
	for step := range steps {
		if err := act(w, draw); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		if err := m.follow(w.project); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		if (step+1)%every != 0 {
			continue
		}
		old := olds[draw(len(olds))]
		err := checkEqual(w, old.saved, old.log)
		if err == nil {
			count := w.project.ChangesetsCount()
			some := []uint32{uint32(count), uint32(1 + draw(count)), uint32(1 + draw(count))}
			err = m.compare(w.project, some)
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		olds = append(olds, kept{w.project, mustSave(t, w.project), len(w.log)})
	}
	if count := w.project.ChangesetsCount(); steps > 3000 && count < 2*work.ChunkLen {
		return fmt.Errorf("%d changesets are too few to tell", count)
	}
	for at, old := range olds {
		if !mustSave(t, old.project).equal(old.saved) {
			return fmt.Errorf("published state %d has changed since", at)
		}
	}
	return nil
}

func TestRandomCommands(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := source(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "n") })
		if err := random(t, rapid.IntRange(5, 60).Draw(rt, "steps"), 9, draw); err != nil {
			rt.Fatal(err)
		}
	})
}

// TestLongHistory goes over the boundaries of the chunks of a saved history.
func TestLongHistory(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random64 := rand.New(rand.NewPCG(seed, 0))
	if err := random(t, 3200, 800, random64.IntN); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
}
