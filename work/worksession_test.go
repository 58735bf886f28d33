package work_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// TestLongWorkSessionKeepsTheNewest writes more than a work session names. What was published on
// the way stays what it was.
func TestLongWorkSessionKeepsTheNewest(t *testing.T) {
	w := newWorld()
	w.create(t)
	var views []*work.Project
	var sequences []uint32
	for n := range 5 * work.WorkSessionItemsMax {
		w.put(t, "a", fmt.Sprint(n))
		views = append(views, w.project)
		sequences = append(sequences, uint32(n+2))
	}
	for i, view := range views {
		session, ok := view.OpenSession(agent("ann"))
		all := append([]uint32{1}, sequences[:i+1]...)
		if !ok || len(session.Changesets) > 2*work.WorkSessionItemsMax ||
			!endOf(session.Changesets, all) {
			t.Fatalf("after %d changesets: %+v", i+2, session)
		}
	}
}

func TestLongWorkSessionKeepsTheNewestTasks(t *testing.T) {
	w := newWorld()
	w.create(t)
	var views []*work.Project
	var tasks []id.ID
	for n := range 3 * work.WorkSessionItemsMax {
		command := &work.CreateTask{Spec: work.TaskSpec{Title: fmt.Sprint(n)}}
		tasks = append(tasks, w.must(t, command).Result.Subject)
		views = append(views, w.project)
	}
	for i, view := range views {
		session, ok := view.OpenSession(agent("ann"))
		if !ok || len(session.Tasks) > 2*work.WorkSessionItemsMax ||
			!endOf(session.Tasks, tasks[:i+1]) {
			t.Fatalf("after %d tasks: %+v", i+1, session)
		}
	}
}

// TestRecordingAnExpiryIsNotActivity watches a project in which a claim has expired: that
// the claim ended comes with the watch, which is of no work session.
func TestRecordingAnExpiryIsNotActivity(t *testing.T) {
	w := newWorld()
	w.create(t)
	task := w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "one"}}).Result.Subject
	w.must(t, &work.ClaimTask{Task: task})
	before, _ := w.project.OpenSession(agent("ann"))
	w.now += work.LeaseSeconds*1000 + 1
	if events := w.must(t, &work.WatchProject{}).Events; len(events) != 2 {
		t.Fatalf("%d events, want the end of the claim and the watch", len(events))
	}
	after, ok := w.project.OpenSession(agent("ann"))
	if !ok || after.LastActiveAt != before.LastActiveAt {
		t.Errorf("the work session went on from %d: %+v", before.LastActiveAt, after)
	}
}

// TestManyWorkSessions lets more agents come and go than a project keeps work sessions of, in an
// order that means nothing. Each view of the past stays what it was.
func TestManyWorkSessions(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	draw := source(rand.New(rand.NewPCG(seed, 0)).IntN)
	w := newWorld()
	w.must(t, &work.CreateProject{
		ID: agent("project"), Kind: work.Community,
		About: work.About{Name: "sample", Visibility: work.Public, Reuse: work.AllowReuse},
	})
	type view struct {
		project *work.Project
		head    []byte
	}
	var views []view
	open, ended := map[id.ID]bool{agent("ann"): true}, 0
	for step := range 5000 {
		w.now++
		who := agent(fmt.Sprint("a", draw(600)))
		var command work.Command = &work.UpdateState{}
		session, ok := w.project.OpenSession(who)
		if ok != open[who] {
			t.Fatalf("step %d: the work session of %s is open: %v", step, name(who), ok)
		}
		if ends := ok && draw(2) == 0; ends {
			command = &work.EndWorkSession{Session: session.ID}
			delete(open, who)
			ended++
		} else {
			open[who] = true
		}
		if _, err := w.do(who, command); err != nil {
			t.Fatal(err)
		}
		if step%250 == 0 {
			views = append(views, view{w.project, mustSave(t, w.project).head})
		}
	}
	if got := len(w.project.WorkSessions()); ended <= work.WorkSessionsMax ||
		got != len(open)+work.WorkSessionsMax || len(open) < 200 {
		t.Errorf("%d sessions, want %d that are open and %d of %d that ended", got, len(open),
			work.WorkSessionsMax, ended)
	}
	for i, view := range views {
		if !slices.Equal(mustSave(t, view.project).head, view.head) {
			t.Errorf("view %d has changed since", i)
		}
	}
	restored, err := mustSave(t, w.project).restore()
	if err != nil {
		t.Fatal(err)
	}
	for who := range open {
		want, _ := w.project.OpenSession(who)
		if got, ok := restored.OpenSession(who); !ok || got.ID != want.ID {
			t.Errorf("the restored work session of %s is %+v", name(who), got)
		}
	}
}

// TestStrangersKeepEndedSessions ends many sessions of strangers with long summaries: those of
// members stay, and the summaries take a limited size.
func TestStrangersKeepEndedSessions(t *testing.T) {
	w := newWorld()
	w.must(t, &work.CreateProject{
		ID: agent("project"), Kind: work.Community,
		About: work.About{Name: "sample", Visibility: work.Public, Reuse: work.AllowReuse},
	})
	end := func(who string, size int) id.ID {
		t.Helper()
		w.now++
		if _, err := w.do(agent(who), new(work.UpdateState)); err != nil {
			t.Fatal(err)
		}
		open, _ := w.project.OpenSession(agent(who))
		_, err := w.do(agent(who), &work.EndWorkSession{
			Session: open.ID, Summary: strings.Repeat("s", size),
		})
		if err != nil {
			t.Fatal(err)
		}
		return open.ID
	}
	kept := end("ann", 1000)
	for range 1200 {
		end("eve", 0)
	}
	for range 300 {
		end("mal", 4000)
	}
	if one, found := w.project.WorkSession(kept); !found || len(one.Summary) != 1000 {
		t.Error("the session of a member is gone")
	}
	bytes, ended := 0, 0
	for _, one := range w.project.WorkSessions() {
		bytes += len(one.Summary)
		if one.EndedAt != 0 {
			ended++
		}
	}
	if bytes > work.EndedBytesMax || bytes < work.EndedBytesMax-4000 || ended < 100 {
		t.Errorf("%d ended sessions with %d bytes", ended, bytes)
	}
	if restored, err := mustSave(t, w.project).restore(); err != nil ||
		restored.MemoryBytes() != w.project.MemoryBytes() {
		t.Errorf("%v: %d bytes of memory are not those of the restored project", err,
			w.project.MemoryBytes())
	}
}

// TestOpenSessionsKeepFewSummaries has many agents make a checkpoint: the summary of the newest is
// kept with its session, and those of all take a limited size.
func TestOpenSessionsKeepFewSummaries(t *testing.T) {
	w := newWorld()
	w.must(t, &work.CreateProject{
		ID: agent("project"), Kind: work.Community,
		About: work.About{Name: "sample", Visibility: work.Public, Reuse: work.AllowReuse},
	})
	for nth := range 300 {
		who := agent(fmt.Sprint("guest", nth))
		summary := strings.Repeat("s", 3900) + fmt.Sprint(nth)
		if _, err := w.do(who, &work.CreateCheckpoint{Summary: summary}); err != nil {
			t.Fatal(err)
		}
		if open, ok := w.project.OpenSession(who); !ok || open.Summary != summary {
			t.Fatalf("agent %d has another summary", nth)
		}
		bytes := 0
		w.project.OpenSessions(func(s *work.WorkSession) bool { bytes += len(s.Summary); return true })
		if bytes > work.EndedBytesMax {
			t.Fatalf("%d open sessions have summaries of %d bytes", nth+1, bytes)
		}
	}
}
