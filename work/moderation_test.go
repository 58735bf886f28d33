package work_test

import (
	"bytes"
	"testing"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// moderated is a public project with two members that an operator has hidden.
func moderated(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	w.must(t, &work.AddMember{Agent: agent("bob"), Role: work.Reader})
	w.now += 1000
	w.operate(t, &work.HideProject{Reason: "spam"})
	return w
}

// operate gives the command of an operator.
func (w *world) operate(t *testing.T, command work.Command) work.Decision {
	t.Helper()
	decision, err := w.do(id.ID{}, command)
	if err != nil {
		t.Fatal(err)
	}
	return decision
}

// removedWorld is a project that an operator has removed.
func removedWorld(t *testing.T) *world {
	w := moderated(t)
	w.operate(t, &work.ShowProject{})
	w.operate(t, &work.RemoveProject{Reason: "malware"})
	return w
}

func TestHiddenProjects(t *testing.T) {
	w := moderated(t)
	p := w.project
	hidden := p.Moderation()
	if hidden == nil || hidden.Reason != "spam" || hidden.At != w.now || hidden.Was != work.Public {
		t.Fatalf("%+v", hidden)
	}
	if p.Visibility != work.Private || p.Readable(agent("eve")) || !p.Readable(agent("bob")) {
		t.Error("it can be read by others, or not by its members")
	}
	for code, command := range map[fault.Code]work.Command{
		fault.Forbidden: &work.UpdateProject{Visibility: work.Unlisted, Reuse: work.AllowReuse},
		"":              &work.UpdateProject{Name: pointer("hidden")},
	} {
		if _, err := w.do(agent("ann"), command); fault.CodeOf(err) != code {
			t.Errorf("%+v: %v", command, err)
		}
	}
	more := &work.AddMember{Agent: agent("eve"), Role: work.Reader}
	if _, err := w.do(agent("ann"), more); fault.CodeOf(err) != fault.Forbidden {
		t.Errorf("another member: %v", err)
	}
	if err := work.MayReuse.Require(p, agent("ann")); fault.CodeOf(err) != fault.ReuseNotPermitted {
		t.Errorf("a fork: %v", err)
	}
	if err := work.MayExport.Require(p, agent("ann")); err != nil {
		t.Errorf("an export: %v", err)
	}
	for _, command := range []work.Command{
		&work.HideProject{Reason: "mine"}, &work.ShowProject{}, &work.RemoveProject{},
	} {
		if _, err := w.do(agent("ann"), command); fault.CodeOf(err) != fault.ProjectNotFound {
			t.Errorf("%T by an agent: %v", command, err)
		}
	}
	w.operate(t, &work.HideProject{Reason: "much spam"})
	if again := w.project.Moderation(); again.Reason != "much spam" || again.Was != work.Public {
		t.Errorf("hidden again: %+v", again)
	}
	w.operate(t, &work.ShowProject{})
	if w.project.Moderation() != nil || w.project.Visibility != work.Public {
		t.Errorf("shown, it is %s", w.project.Visibility)
	}
	if decision := w.operate(t, &work.ShowProject{}); len(decision.Events) > 0 {
		t.Errorf("shown again: %v", decision.Events)
	}
}

func TestRemovedProjects(t *testing.T) {
	w := removedWorld(t)
	p := w.project
	if !p.Moderation().Removed || len(p.Members()) > 0 || p.Readable(agent("ann")) {
		t.Errorf("%+v with members %v", p.Moderation(), p.Members())
	}
	for _, command := range []work.Command{
		&work.HideProject{Reason: "x"}, &work.ShowProject{}, &work.RemoveProject{},
	} {
		if _, err := w.do(id.ID{}, command); fault.CodeOf(err) != fault.ProjectNotFound {
			t.Errorf("%T: %v", command, err)
		}
	}
}

// TestFrozenRemovedProject reads a removed project as it was first saved.
func TestFrozenRemovedProject(t *testing.T) {
	p, head := frozenProject(t, "testdata/snapshot/v7-removed", removedWorld, nil)
	summary, err := work.RestoreSummary(head)
	if err != nil || !summary.Moderation().Removed || summary.Readable(agent("ann")) ||
		p.Moderation().Reason != "malware" || p.Moderation().Was != work.Public {
		t.Errorf("%+v, %v", p.Moderation(), err)
	}
}

// erasedWorld is a removed project that has lost all that it had.
func erasedWorld(t *testing.T) *world {
	w := removedWorld(t)
	w.operate(t, new(work.EraseProject))
	return w
}

// TestFrozenErasedProject reads an erased project as it was first saved.
func TestFrozenErasedProject(t *testing.T) {
	p, head := frozenProject(t, "testdata/snapshot/v9-erased", erasedWorld, nil)
	summary, err := work.RestoreSummary(head)
	if err != nil || !summary.Erased() || !p.Erased() || p.Moderation().Reason != "malware" {
		t.Errorf("%+v, %v", p.Moderation(), err)
	}
}

// TestErasedProjects erases projects with all kinds of records, as they are, and as they are read
// when contents are missing. The result is the same, and has none of the records.
func TestErasedProjects(t *testing.T) {
	for name, w := range fieldWorlds(t) {
		for _, code := range []fault.Code{fault.ProjectNotFound, ""} {
			if code == "" && !w.project.Removed() {
				w.operate(t, &work.RemoveProject{Reason: "malware"})
			}
			_, err := w.do(w.project.Owner, new(work.EraseProject))
			if fault.CodeOf(err) != fault.ProjectNotFound {
				t.Errorf("%s, by an agent: %v", name, err)
			}
		}
		head, err := w.project.EncodeHead()
		if err != nil {
			t.Fatal(err)
		}
		short, err := work.RestoreRemoved(head)
		if err != nil {
			t.Fatal(err)
		}
		revision := short.Revision
		w.operate(t, new(work.EraseProject))
		if short.Erased() == w.project.Erased() && name != "erased" {
			t.Errorf("%s: erased %v, then %v", name, short.Erased(), w.project.Erased())
		}
		short.Apply(new(work.ProjectErased), work.Moment{Now: w.now})
		if name == "erased" {
			continue
		}
		got, err := short.EncodeHead()
		if err != nil {
			t.Fatal(err)
		}
		want, err := w.project.EncodeHead()
		if err != nil || !bytes.Equal(got, want) || short.Revision != revision+1 {
			t.Errorf("%s: %x\nwant %x, %v", name, got, want, err)
		}
		w.project.Contents(func(work.Hash) bool { return false }, func(hash work.Hash) {
			t.Errorf("%s: %x is still named", name, hash)
		})
		for _, kind := range work.ChunkKinds {
			if first, end := w.project.Chunks(kind); end > first {
				t.Errorf("%s: chunks %d to %d of kind %c", name, first, end, kind)
			}
		}
		if decision := w.operate(t, new(work.EraseProject)); len(decision.Events) > 0 {
			t.Errorf("%s: erased again: %v", name, decision.Events)
		}
		if _, err := work.RestoreSummary(want); err != nil {
			t.Error(err)
		}
	}
	w := newWorld()
	w.create(t)
	if _, err := w.do(id.ID{}, new(work.EraseProject)); fault.CodeOf(err) != fault.ProjectNotFound {
		t.Errorf("a project that is not removed: %v", err)
	}
	head, err := w.project.EncodeHead()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := work.RestoreRemoved(head); err == nil {
		t.Error("a project that is not removed is read as one that is")
	}
}

// TestHiddenProjectStaysPrivate has the owner make a hidden project PRIVATE: it is not shown to
// others when the operator shows it again.
func TestHiddenProjectStaysPrivate(t *testing.T) {
	w := moderated(t)
	private := &work.UpdateProject{Visibility: work.Private}
	for _, events := range []int{1, 0} {
		w.operate(t, &work.HideProject{Reason: "still spam"})
		if d := w.must(t, private); len(d.Events) != events {
			t.Errorf("%d events, want %d", len(d.Events), events)
		}
		if was := w.project.Moderation().Was; was != work.Private {
			t.Errorf("it will be %v", was)
		}
	}
	w.operate(t, new(work.ShowProject))
	if p := w.project; p.Visibility != work.Private || p.Readable(agent("eve")) {
		t.Errorf("visibility %v", p.Visibility)
	}
}
