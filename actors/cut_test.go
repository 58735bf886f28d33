package actors

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pws/api"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/journal"
	"pws/work"
)

// cutLog is a data directory with a snapshot and some records behind it. After each entry its
// position, its end in the last segment and all that was published were noted.
type cutLog struct {
	dir, segment string
	whole        []byte
	ends         []int
	positions    []uint64
	states       map[uint64]map[string]string
}

func (c *cutLog) note(t *testing.T, e *Engine) {
	t.Helper()
	position := e.journal.Stats().Last
	c.ends = append(c.ends, extent(t, c.segment))
	c.positions = append(c.positions, position)
	c.states[position] = fullState(t, e)
}

// newCutLog works on two projects and on identity, one entry after the other.
func newCutLog(t *testing.T) *cutLog {
	t.Helper()
	config := quiet(filepath.Join(t.TempDir(), "data"))
	e := start(t, config)
	owner := register(t, e, "owner")
	projects := []id.ID{
		createProject(t, e, owner, work.Public), createProject(t, e, owner, work.Private),
	}
	tasks := createTasks(t, e, projects[0], owner, 12)
	for step := range 10 {
		mustPut(t, e, projects[step%2], owner, fmt.Sprint("f", step%3), fmt.Sprint(step))
	}
	saveAll(t, e)
	c := &cutLog{
		dir: config.Dir, segment: newest(t, config.Dir, "log/0*"),
		states: map[uint64]map[string]string{},
	}
	c.note(t, e)
	for step := range 5 {
		mustPut(t, e, projects[step%2], owner, fmt.Sprint("g", step), fmt.Sprint("new ", step))
		c.note(t, e)
		content := blobOf(fmt.Sprint("several ", step))
		done, err := e.Do(api.Order{Project: projects[1], Agent: owner,
			Idempotency: keyFor(fmt.Sprint(step), "publish"),
			Command: &work.PublishChangeset{
				Base: viewOf(t, e, projects[1]).Head().ID,
				Operations: []work.Operation{
					{Action: work.Create, Path: fmt.Sprint("pair/a", step), Content: &content},
					{Action: work.Create, Path: fmt.Sprint("pair/b", step), Content: &content},
				},
			}})
		if err != nil || done.Replayed {
			t.Fatal(err)
		}
		c.note(t, e)
		_, err = e.Do(api.Order{Project: projects[0], Agent: owner, Command: &work.UpdateProject{
			Visibility: work.Visibility(1 + step%2), Reuse: work.AllowReuse,
		}})
		if err != nil {
			t.Fatal(err)
		}
		c.note(t, e)
		mustDo(t, e, projects[0], owner, &work.ClaimTask{Task: tasks[step*2]})
		c.note(t, e)
		mustDo(t, e, projects[0], owner, everything(viewOf(t, e, projects[0]), step, tasks))
		c.note(t, e)
	}
	register(t, e, "late")
	// A registration is two entries; between them lies a state that nobody has looked at.
	c.note(t, e)
	mustPut(t, e, projects[0], owner, "last", "last")
	c.note(t, e)
	stop(t, e)
	whole, err := os.ReadFile(c.segment)
	if err != nil {
		t.Fatal(err)
	}
	c.whole = whole
	return c
}

// everything is a checkpoint with all parts that there are.
func everything(p *work.Project, step int, tasks []id.ID) *work.CreateCheckpoint {
	base, text := p.Head().ID, fmt.Sprint("checkpoint ", step)
	content, other := blobOf(text), blobOf(text+", the other")
	done := work.UpdateTask{
		Task: tasks[step*2], Change: work.TaskChange{Status: work.TaskDone},
	}
	return &work.CreateCheckpoint{
		Summary: text, Base: &base, Message: text,
		Files: []work.CheckpointFile{
			{Path: "state/a", Content: &content, ContentType: "text/plain"},
			{Path: fmt.Sprint("state/", step), Content: &other, ContentType: "text/plain"},
		},
		State:   &work.UpdateState{Statement: work.Statement{Summary: text}},
		Handoff: &work.Continuation{Summary: text, NextActions: []string{"go on"}},
		Tasks: []work.CheckpointTask{
			{Update: done},
			{Create: &work.TaskSpec{Title: text, Priority: work.PriorityHigh}},
			{Update: *describe(tasks[step+6], text)},
		},
		EndSession: step%2 == 0,
	}
}

// open starts an engine on the log with another last segment.
func (c *cutLog) open(t *testing.T, segment []byte) (*Engine, *Recovery, error) {
	t.Helper()
	if err := os.WriteFile(c.segment, segment, 0o600); err != nil {
		t.Fatal(err)
	}
	// The feed never is ahead of the log; one that is gone begins with what the log has.
	if err := os.RemoveAll(filepath.Join(c.dir, datadir.FeedName)); err != nil {
		t.Fatal(err)
	}
	return Open(quiet(c.dir))
}

// check expects all that was published when the last whole entry was acknowledged, and nothing
// else.
func (c *cutLog) check(t *testing.T, what string, segment []byte, valid int) {
	t.Helper()
	e, report, err := c.open(t, segment)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer stop(t, e)
	least := uint64(0)
	for i, end := range c.ends {
		if end <= valid {
			least = c.positions[i]
		}
	}
	if last := report.Log.Last; last < least {
		t.Fatalf("%s: the last entry is %d, want %d", what, last, least)
	}
	if want, noted := c.states[report.Log.Last]; noted {
		sameState(t, what, want, fullState(t, e))
		checkFound(t, what, e)
	}
}

// TestLogCutAnywhere cuts the log behind the snapshot: at the bytes around the end of each record,
// and at some of the others, more of them in the last records, of which the first is a checkpoint
// with all its parts. Where those lie is drawn anew in each run; PWS_CUT_ALL takes every byte, as
// the tests of the log itself do.
func TestLogCutAnywhere(t *testing.T) {
	c := newCutLog(t)
	sparse, dense := 149, 17
	if os.Getenv("PWS_CUT_ALL") != "" {
		sparse, dense = 1, 1
	}
	phase := int(seedOf(t) % uint64(sparse*dense))
	for cut := c.ends[0]; cut <= len(c.whole); cut++ {
		step := sparse
		if cut >= c.ends[len(c.ends)-4] {
			step = dense
		}
		if c.nearEnd(cut) || (cut+phase)%step == 0 {
			c.check(t, fmt.Sprint("cut at ", cut), c.whole[:cut], cut)
		}
	}
}

// nearEnd reports whether a record ends at a byte, or next to it.
func (c *cutLog) nearEnd(cut int) bool {
	return slices.ContainsFunc(c.ends, func(end int) bool { return cut-end >= -1 && cut-end <= 1 })
}

// TestTornTails puts behind a whole record what a file system may leave there.
func TestTornTails(t *testing.T) {
	c := newCutLog(t)
	for i, end := range c.ends {
		torn := append([]byte(nil), c.whole[:end]...)
		for _, zeros := range []int{1, 48, 4096} {
			c.check(t, fmt.Sprint(zeros, " zeros behind ", i), append(torn, make([]byte, zeros)...),
				end)
		}
		if i+1 < len(c.ends) {
			half := append([]byte(nil), c.whole[:c.ends[i+1]]...)
			clear(half[end+(c.ends[i+1]-end)/2:])
			c.check(t, fmt.Sprint("half a record behind ", i), half, end)
		}
	}
}

// TestWritesAfterACut goes on writing on a log that was cut, and finds all of it again.
func TestWritesAfterACut(t *testing.T) {
	c := newCutLog(t)
	for i := 0; i < len(c.ends); i += 4 {
		e, _, err := c.open(t, c.whole[:min(c.ends[i]+5, len(c.whole))])
		if err != nil {
			t.Fatal(err)
		}
		owner, _ := e.Identity().AgentByHandle("owner")
		project := createProject(t, e, owner.ID, work.Public)
		mustPut(t, e, project, owner.ID, "after", "the cut")
		want := fullState(t, e)
		stop(t, e)
		e = start(t, quiet(c.dir))
		sameState(t, "after a cut and a write", want, fullState(t, e))
		stop(t, e)
	}
}

// TestFlippedBitsAreNamed damages records that others follow.
func TestFlippedBitsAreNamed(t *testing.T) {
	c := newCutLog(t)
	last := c.ends[len(c.ends)-2]
	for i := 0; i < last; i += 97 {
		damaged := bytes.Clone(c.whole)
		damaged[i] ^= 0x10
		e, _, err := c.open(t, damaged)
		var corrupt *journal.CorruptError
		if err == nil {
			stop(t, e)
			t.Fatalf("a flipped bit at %d was not found", i)
		}
		if !errors.As(err, &corrupt) || corrupt.File != c.segment ||
			corrupt.Offset > int64(i) || !bytes.Contains([]byte(err.Error()), []byte(c.segment)) {
			t.Fatalf("a flipped bit at %d: %v", i, err)
		}
	}
	c.check(t, "undamaged", c.whole, len(c.whole))
}
