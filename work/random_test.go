package work_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func (draw source) command(w *world) work.Command {
	p := w.project
	if p.Status == work.Archived && draw(4) == 0 {
		return &work.UpdateProject{Status: work.Active}
	}
	switch kind := draw(49); {
	case kind >= 46:
		return draw.talkCommand(w)
	case kind >= 43:
		return draw.artifactCommand(w)
	case kind >= 40:
		return draw.recordCommand(w)
	case kind >= 26:
		return draw.workCommand(w)
	case kind >= 20:
		return draw.leftCommand(w)
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

// models follow a project by what its commands say.
type models struct {
	files *model
	tasks *taskModel
	left  *leftModel

	records recordModel
	offers  offerModel
	talk    talkModel
}

func newModels() *models {
	return &models{files: newModel(), tasks: newTaskModel(), left: newLeftModel()}
}

// act gives one random command; all but refusals of the rules are faults, and so is another outcome
// than that which the models foretell.
func (m *models) act(w *world, draw source) error {
	draw.time(w)
	var key []byte
	if draw(3) == 0 {
		key = []byte{byte(draw(200))}
	}
	who := w.project.Owner
	if draw(2) == 0 {
		who = draw.agent()
	}
	command := draw.command(w)
	if _, ok := command.(*work.ExpireClaims); ok {
		who = id.ID{}
	} else if holder := m.tasks.holder(command); !holder.IsZero() && draw(2) == 0 {
		who = holder
	}
	code, about, known := m.tasks.expected(w.project, who, command, w.now)
	changesets := w.project.ChangesetsCount()
	decision, err := w.do(who, command, key...)
	got := fault.CodeOf(err)
	if got == fault.Internal {
		return err
	}
	if known && (got != code || err == nil && decision.Result.Subject != about) {
		return fmt.Errorf("%T came out as %v about %v; want %q about %v", command, err,
			decision.Result.Subject, code, about)
	}
	if update, ok := command.(*work.UpdateTask); ok {
		if err := m.tasks.checkOutcome(w.project, who, update, got, w.now); err != nil {
			return err
		}
	}
	if err == nil && len(decision.Events) > 0 {
		old := m.tasks.at(w.now)
		m.tasks.observe(w.project, who, command, about, w.now)
		m.talk.observe(w.project, who, command, decision.Result.Subject, w.now)
		switch command.(type) {
		case *work.WatchProject, *work.UnwatchProject:
			// They belong to no work session.
			return nil
		}
		m.left.observe(w.project, who, command, changesets,
			m.worked(old, command, about, decision.Events), w.now)
		m.records.observe(who, command, decision.Result.Subject, w.now)
		m.offers.observe(w.project, who, command, decision.Result, w.now)
	}
	return m.files.observe(w.project)
}

// worked names the tasks that a command made, changed, claimed or released.
func (m *models) worked(
	old map[id.ID]*modelTask, command work.Command, about id.ID, events []work.Event,
) []id.ID {
	switch command := command.(type) {
	case *work.ClaimTask, *work.ClaimNext, *work.ReleaseTask:
		return []id.ID{about}
	case *work.CreateTask:
		return m.tasks.order[len(m.tasks.order)-1:]
	case *work.UpdateTask:
		return inOrder([]id.ID{command.Task}, events)
	case *work.CreateCheckpoint:
		return inOrder(m.workedAtCheckpoint(old, command), events)
	case *work.UpdateProject, *work.ChangeMember, *work.RemoveMember:
		var freed []id.ID
		for task, before := range old {
			if before.version != m.tasks.tasks[task].version {
				freed = append(freed, task)
			}
		}
		return inOrder(freed, events)
	}
	return nil
}

// inOrder sorts tasks by the events that changed them: of two updates of one task in a checkpoint,
// either may be the one that changes it first. It drops those that no event changed; an update that
// only renews the claim is no work.
func inOrder(tasks []id.ID, events []work.Event) []id.ID {
	at := func(task id.ID) int {
		return slices.IndexFunc(events, func(event work.Event) bool {
			switch event := event.(type) {
			case *work.TaskCreated:
				return event.ID == task
			case *work.TaskUpdated:
				return event.Task == task
			case *work.TaskReleased:
				return event.Task == task
			}
			return false
		})
	}
	tasks = slices.DeleteFunc(tasks, func(task id.ID) bool { return at(task) < 0 })
	slices.SortStableFunc(tasks, func(a, b id.ID) int { return at(a) - at(b) })
	return tasks
}

func (m *models) workedAtCheckpoint(
	old map[id.ID]*modelTask, command *work.CreateCheckpoint,
) (worked []id.ID) {
	made := m.tasks.order[len(old):]
	for i := range command.Tasks {
		one := &command.Tasks[i]
		if one.Create != nil {
			worked, made = append(worked, made[0]), made[1:]
		} else if before := old[one.Update.Task]; before == nil ||
			before.version != m.tasks.tasks[one.Update.Task].version {
			worked = append(worked, one.Update.Task)
		}
	}
	return worked
}

func (m *models) compare(w *world, draw source) error {
	count := w.project.ChangesetsCount()
	some := []uint32{uint32(count), uint32(1 + draw(count)), uint32(1 + draw(count))}
	if err := m.files.compare(w.project, some); err != nil {
		return err
	}
	moments := []int64{0, w.now, w.now + int64(draw(work.LeaseSeconds*1000))}
	if next := w.project.NextExpiry(); next != 0 {
		moments = append(moments, next-1, next)
	}
	for _, now := range moments {
		if err := m.tasks.compare(w.project, now); err != nil {
			return err
		}
	}
	if err := m.records.compare(w.project, draw); err != nil {
		return err
	}
	if err := m.offers.compare(w.project, m.files, draw); err != nil {
		return err
	}
	if err := m.talk.compare(w.project, draw); err != nil {
		return err
	}
	return m.left.compare(w.project)
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
			summary.Head().ID != other.Head().ID || summary.Outdated() ||
			!cmp.Equal(summary.OwnEvidence(), other.OwnEvidence()) ||
			summary.HasVerifications() != other.HasVerifications() {
			return fmt.Errorf("the summary is another: %v", err)
		}
		if w.steps%2 == 0 {
			w.project = other
		}
	}
	return nil
}

// overChunks reports whether each saved list of the project fills two chunks.
func overChunks(p *work.Project) bool {
	return p.ChangesetsCount() >= 2*work.ChunkLen && p.TasksTotal() >= 2*work.TaskChunk.Len() &&
		len(p.Handoffs()) >= 2*work.HandoffChunk.Len()
}

// random runs commands and compares now and then; at the end all states that were saved on the way
// must still be what they were. A long run goes on, to twice its steps, until two chunks of each
// list are full: how many commands add to a list depends on the seed.
func random(t testing.TB, steps, every int, draw source) error {
	w, m := newWorld(), newModels()
	w.create(t)
	m.left.sessions[w.project.Owner] = &modelSession{
		started: w.now, last: w.now, changesets: []uint32{1},
	}
	type kept struct {
		project *work.Project
		saved   saved
		log     int
	}
	olds := []kept{{w.project, mustSave(t, w.project), len(w.log)}}
	var published []kept
	for step := 0; step < steps || steps > 3000 && step < 2*steps && !overChunks(w.project); step++ {
		if err := m.act(w, draw); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		if (step+1)%(every/8+1) == 0 {
			published = append(published, kept{w.project, mustSave(t, w.project), len(w.log)})
		}
		if (step+1)%every != 0 {
			continue
		}
		old := olds[draw(len(olds))]
		err := checkEqual(w, old.saved, old.log)
		if err == nil {
			err = m.compare(w, draw)
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		olds = append(olds, kept{w.project, mustSave(t, w.project), len(w.log)})
	}
	if steps > 3000 && !overChunks(w.project) {
		return fmt.Errorf("%d changesets, %d tasks, %d handoffs do not fill two chunks each",
			w.project.ChangesetsCount(), w.project.TasksTotal(), len(w.project.Handoffs()))
	}
	for i, old := range append(published, olds...) {
		if !mustSave(t, old.project).equal(old.saved) {
			return fmt.Errorf("published state %d has changed since", i)
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
	if err := random(t, 8000, 2000, random64.IntN); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
}
