package work_test

import (
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
		"":              &work.UpdateProject{Visibility: work.Private},
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
