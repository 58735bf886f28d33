package work_test

import (
	"testing"

	"pws/internal/id"
	"pws/work"
)

// preparedImport is an import of a bundle with a handoff, and with a discussion and a comment that
// were deleted there.
func preparedImport(t *testing.T, w *world) *work.ImportProject {
	command := &work.ImportProject{
		ID: agent("imported"), Kind: work.Standard,
		About:    work.About{Name: "n", Visibility: work.Private, Status: work.Active},
		Imported: work.Imported{Whole: true},
		History:  []work.BundledChangeset{{ID: agent("c"), Message: "m"}},
		Discussions: []work.Bundled[work.Discussion]{{Record: work.Discussion{
			ID: agent("d"), Deleted: work.Deletion{By: agent("x"), At: 7},
		}}},
		Comments: []work.Bundled[work.Comment]{{Record: work.Comment{
			ID: agent("m"), Discussion: agent("d"), Deleted: work.Deletion{By: agent("x"), At: 8},
		}}},
		Handoffs: []work.Bundled[work.Handoff]{{Record: work.Handoff{
			ID: agent("h"), Changeset: agent("c"), Continuation: work.Continuation{Summary: "s"},
		}}},
	}
	if err := command.Prepare(w.stamp(agent("ann"))); err != nil {
		t.Fatal(err)
	}
	return command
}

// TestPreparedImportNamesItsSession: the handoffs of an import belong to the work session that the
// import opens.
func TestPreparedImportNamesItsSession(t *testing.T) {
	w := newWorld()
	command := preparedImport(t, w)
	w.now += 5000
	w.must(t, command)
	open, ok := w.project.OpenSession(agent("ann"))
	if got := w.project.LatestHandoff().WorkSession; !ok || got != open.ID {
		t.Errorf("the handoff names session %s, the session is %s",
			got.Format(id.WorkSession), open.ID.Format(id.WorkSession))
	}
}

// TestPreparedImportIsRetimed: what was prepared is of the time of the newest decision, also if an
// earlier one had no effect.
func TestPreparedImportIsRetimed(t *testing.T) {
	w := newWorld()
	command := preparedImport(t, w)
	w.now += 5000
	if _, err := work.Decide(command, nil, w.stamp(agent("ann"))); err != nil {
		t.Fatal(err)
	}
	w.now += 5000
	w.must(t, command)
	p := w.project
	p.Discussions(id.ID{}, func(d *work.Discussion) bool {
		if d.CreatedAt != p.CreatedAt || d.Deleted.At != p.CreatedAt {
			t.Errorf("the project is of %d, a discussion of %d, deleted at %d", p.CreatedAt,
				d.CreatedAt, d.Deleted.At)
		}
		return true
	})
	comments := 0
	p.Discussions(id.ID{}, func(d *work.Discussion) bool {
		p.Comments(d.ID, id.ID{}, func(c *work.Comment) bool {
			if comments++; c.CreatedAt != p.CreatedAt || c.Deleted.At != p.CreatedAt {
				t.Errorf("the project is of %d, a comment of %d, deleted at %d", p.CreatedAt,
					c.CreatedAt, c.Deleted.At)
			}
			return true
		})
		return true
	})
	if comments != 1 || p.LatestHandoff().CreatedAt != p.CreatedAt {
		t.Errorf("%d comments, the handoff is of %d", comments, p.LatestHandoff().CreatedAt)
	}
}
