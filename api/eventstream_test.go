package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pws/api"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// memberEngine is a server of a group. It asks the others at BeginRead if it waits for them.
type memberEngine struct {
	*testEngine
	waits, cutOff bool
	// ask is done at BeginRead, as what has reached the server by then. began counts those calls.
	ask   func()
	began int
}

func (m *memberEngine) ReadsWait() bool { return m.waits }

func (m *memberEngine) BeginRead() (api.ReadMark, error) {
	m.began++
	if m.ask != nil {
		m.ask()
	}
	if m.cutOff && m.waits {
		return 0, errOld
	}
	return 1, nil
}

func (m *memberEngine) EndRead(api.ReadMark) error {
	if m.cutOff {
		return errOld
	}
	return nil
}

var errOld = fault.New(fault.StorageUnavailable, "Old.").With("reason", api.ReasonNotLeading)

// waiting is a long poll or a stream of events of a project.
type waiting struct {
	m       *memberEngine
	ann     *testAgent
	project id.ID
	// look and beat report whether there is an answer. The last look of a poll is its beat.
	look, beat func() (there bool, err error)
}

// wait begins to wait for events of a project of its own.
func (o *testEngine) wait(t *testing.T, waits, streams bool) *waiting {
	t.Helper()
	w := &waiting{
		m: &memberEngine{testEngine: o, waits: waits}, ann: o.register(fmt.Sprint("ann-", o.made)),
	}
	o.service = api.NewService(w.m, api.Config{})
	w.project, _ = o.project(w.ann, work.Private)
	at := slices.IndexFunc(api.Table, func(op *api.Operation) bool { return op.Name == "events.poll" })
	c := &api.Call{
		Service: o.service, Operation: api.Table[at], Now: o.Now(), Session: w.ann.session,
		Agent: w.ann.id(), Streams: streams, Query: map[string]string{
			"wait": "30", "type": work.ActivityTaskCreated.String(),
			"project": w.project.Format(id.Project),
		},
	}
	c.BeginRead()
	reply, err := c.Operation.Run(c, c.Operation.NewRequest())
	if err != nil {
		t.Fatal(err)
	}
	if live, ok := reply.Data.(api.EventStream); ok {
		t.Cleanup(live.Stop)
		said := func(text []byte, err error) (bool, error) { return len(text) > 0, err }
		w.look = func() (bool, error) { return said(live.Look(nil)) }
		w.beat = func() (bool, error) { return said(live.Beat(nil)) }
		// The first look is that of Run.
		if there, err := w.look(); there || err != nil {
			t.Fatal(there, err)
		}
		return w
	}
	later := reply.Data.(api.Deferred)
	t.Cleanup(later.Stop)
	polled := func(_ api.Reply, there bool, err error) (bool, error) { return there, err }
	w.look = func() (bool, error) { return polled(later.Look(false)) }
	w.beat = func() (bool, error) { return polled(later.Look(true)) }
	return w
}

// TestWaitersAnswerWithTheNewest has requests wait for events while their server loses its group,
// or is told that the session has ended. What they answer rests on what is true AFTER the wait.
func TestWaitersAnswerWithTheNewest(t *testing.T) {
	o := newTestEngine(t)
	event := func(w *waiting) {
		w.m.give(w.ann, w.project, &work.CreateTask{Spec: work.TaskSpec{Title: "task"}})
	}
	cut := func(w *waiting) { w.m.cutOff = true }
	ends := func(w *waiting) {
		w.m.ask = func() {
			w.m.ask = nil
			w.m.identify(&identity.EndSession{
				Caller: identity.Caller{Agent: w.ann.id(), Session: w.ann.session.ID},
			})
		}
	}
	const old, ended = fault.StorageUnavailable, fault.SessionInvalid
	for name, c := range map[string]struct {
		happens []func(*waiting)
		beats   bool
		there   bool
		code    fault.Code
	}{
		"nothing":                          {},
		"an event":                         {happens: []func(*waiting){event}, there: true},
		"the end of the time":              {beats: true, there: true},
		"nothing, cut off":                 {happens: []func(*waiting){cut}},
		"an event, cut off":                {happens: []func(*waiting){event, cut}, code: old},
		"the end of the time, cut off":     {happens: []func(*waiting){cut}, beats: true, code: old},
		"an event, session ended":          {happens: []func(*waiting){event, ends}, code: ended},
		"the end of both time and session": {happens: []func(*waiting){ends}, beats: true, code: ended},
	} {
		t.Run(name, func(t *testing.T) {
			for _, waits := range []bool{false, true} {
				for _, streams := range []bool{false, true} {
					w := o.wait(t, waits, streams)
					for _, happens := range c.happens {
						happens(w)
					}
					began := w.m.began
					look := w.look
					if c.beats {
						look = w.beat
					}
					there, err := look()
					if there != c.there || fault.CodeOf(err) != c.code {
						t.Errorf("asks %v, streams %v: answered %v, %v", waits, streams, there, err)
					}
					if waits && !c.there && c.code == "" && w.m.began > began {
						t.Error("a check that has found nothing asked the group")
					}
				}
			}
		})
	}
}

// TestBeatsSendEvents has an event happen AFTER the last look of a page's stream: the heartbeat,
// which moves its place, sends it.
func TestBeatsSendEvents(t *testing.T) {
	o := newTestEngine(t)
	ann := o.register("ann")
	project, _ := o.project(ann, work.Public)
	at := slices.IndexFunc(api.Table, func(op *api.Operation) bool { return op.Name == "events.poll" })
	c := &api.Call{Service: o.service, Operation: api.Table[at], Now: o.Now(), Streams: true}
	followed, err := c.Follow(project.Format(id.Project))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := followed.Stream(followed.Now(), func(to []byte, one *api.Happening) []byte {
		return append(to, one.Type...)
	})
	if err != nil {
		t.Fatal(err)
	}
	live := reply.Data.(api.EventStream)
	defer live.Stop()
	if text, err := live.Look(nil); len(text) > 0 || err != nil {
		t.Fatalf("%q, %v", text, err)
	}
	o.give(ann, project, &work.CreateTask{Spec: work.TaskSpec{Title: "task"}})
	if text, err := live.Beat(nil); !strings.Contains(string(text), "task.created") || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}
