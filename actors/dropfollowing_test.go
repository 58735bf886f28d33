package actors

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"pws/api"
	"pws/blobs"
	"pws/identity"
	"pws/internal/datadir"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// TestFollowedDropSurvivesCrashes has a server that has not led drop what only removed projects
// had, as another server says that it lacks. It copies the data directory at each step, as a killed
// process leaves it: every copy goes on when it is started.
func TestFollowedDropSurvivesCrashes(t *testing.T) {
	var other *Engine
	askOther := func(config Config) Config {
		config.NoSearch = true
		config.AskHeld = func(_ context.Context, hashes []byte) ([]byte, error) {
			return other.HeldOf(hashes)
		}
		return config
	}
	w := newDropWorld(t, askOther(dropConfig(t)))
	saveAll(t, w.Engine)
	led := &dropWorld{
		Engine: start(t, quiet(crashCopy(t, w.config.Dir))),
		owner:  w.owner, doomed: w.doomed, other: w.other, copied: w.copied,
	}
	if err := led.remove(); err != nil {
		t.Fatal(err)
	}
	other = led.Engine
	w.followRemoval(t)
	replayed := crashCopy(t, w.config.Dir)
	if err := (datadir.Erasure{Due: true}).Write(w.config.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := w.HeldOf(nil); !errors.Is(err, errDropsDue) {
		t.Errorf("it answers BEFORE it has dropped anything: %v", err)
	}
	copies := w.copyErasure(t)
	if err := w.erasing.dropFollowed(); err != nil {
		t.Fatal(err)
	}
	w.checkDropped(t, w.Engine)
	if note, err := datadir.ReadErasure(w.config.Dir); err != nil || note.Due {
		t.Errorf("still due: %v, %v", note, err)
	}
	// The entries that a start finds in the log say it, too.
	copies["replayed"] = replayed
	for name, dir := range copies {
		e := start(t, askOther(quiet(dir)))
		if err := e.erasing.dropFollowed(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		w.checkDropped(t, e)
		stop(t, e)
		if _, err := Verify(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(copies) < 10 {
		t.Errorf("%d steps", len(copies))
	}
}

// followRemoval gives a server the entries of a removal by another one.
func (w *dropWorld) followRemoval(t *testing.T) {
	t.Helper()
	projects := []id.ID{w.doomed, w.copied}
	for _, project := range projects {
		note := &identity.DropProject{Project: project, Reason: "malware", ByOperator: true}
		_, err := w.OperatorDo(note)
		for _, command := range []work.Command{
			&work.RemoveProject{Reason: "malware"}, new(work.EraseProject),
		} {
			if err == nil {
				_, err = w.Do(api.Order{Project: project, Command: command})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.OperatorDo(&identity.EndDrops{Projects: projects}); err != nil {
		t.Fatal(err)
	}
}

// TestNamedContentsSurviveAWrongAnswer has another server lack everything: what a project names
// stays.
func TestNamedContentsSurviveAWrongAnswer(t *testing.T) {
	config := dropConfig(t)
	config.AskHeld = func(_ context.Context, hashes []byte) ([]byte, error) {
		return make([]byte, len(hashes)/len(blobs.Hash{})), nil
	}
	w := newDropWorld(t, config)
	w.followRemoval(t)
	if err := (datadir.Erasure{Due: true}).Write(w.config.Dir); err != nil {
		t.Fatal(err)
	}
	if err := w.erasing.dropFollowed(); err != nil {
		t.Fatal(err)
	}
	w.checkDropped(t, w.Engine)
}

// TestHeldOf asks for contents that are there, are not, and for what is no hash.
func TestHeldOf(t *testing.T) {
	w := newDropWorld(t, dropConfig(t))
	there, gone := blobOf("the xyloshared").Hash, blobOf("nowhere").Hash
	held, err := w.HeldOf(append(there[:], gone[:]...))
	if err != nil || len(held) != 2 || held[0] != 1 || held[1] != 0 {
		t.Errorf("%v, %v", held, err)
	}
	if _, err := w.HeldOf(there[1:]); !errors.Is(err, errHashesCut) {
		t.Errorf("a hash that is cut off: %v", err)
	}
}

// TestErasureIsWokenAfterItsEndIsPublished has followErasures not woken BEFORE the end of an
// erasure is published: it would find nothing to do in the earlier state, and not look again.
func TestErasureIsWokenAfterItsEndIsPublished(t *testing.T) {
	e := &Engine{}
	e.erasing = newEraser(e)
	due, err := e.erasing.noteErasures([]identity.Event{&identity.ContentErased{}})
	if !due || err != nil {
		t.Fatalf("an erasure is due: %v, %v", due, err)
	}
	if len(e.erasing.followed) != 0 {
		t.Error("followErasures is woken BEFORE the event is published")
	}
	due, err = e.erasing.noteErasures([]identity.Event{&identity.ContentPurged{}})
	if due || err != nil {
		t.Errorf("nothing is due yet: %v, %v", due, err)
	}
}

// TestDropsStayDueAfterLeavingTheGroup makes single servers of a member that has contents which
// others have dropped: of a backup of it, of its directory AFTER it has left, and of the entries
// alone. They drop what nobody names, and no more.
func TestDropsStayDueAfterLeavingTheGroup(t *testing.T) {
	config := dropConfig(t)
	config.NoSearch = true
	config.AskHeld = func(_ context.Context, hashes []byte) ([]byte, error) {
		return nil, context.DeadlineExceeded
	}
	w := newDropWorld(t, config)
	running := beginImport(t, w.Engine, beginUpload(t, w.Engine, w.owner, "text"))
	store(t, running, "in a note alone")
	saveAll(t, w.Engine)
	w.followRemoval(t)
	replayed := crashCopy(t, w.config.Dir)
	if err := (datadir.Erasure{Due: true}).Write(w.config.Dir); err != nil {
		t.Fatal(err)
	}
	saveAll(t, w.Engine)
	saveAll(t, w.Engine)
	saved, restored := filepath.Join(t.TempDir(), "saved"), filepath.Join(t.TempDir(), "restored")
	_, err := Backup(w.config.Dir, saved)
	if err == nil {
		_, err = Restore(saved, restored)
	}
	left := crashCopy(t, w.config.Dir)
	if err = errors.Join(err, datadir.RemoveMember(left)); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{
		"restored": restored, "left": left, "replayed": replayed,
	} {
		config := quiet(dir)
		for range 2 {
			e := start(t, config)
			if err := e.erasing.dropFollowed(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			w.checkDropped(t, e)
			if !e.holds("in a note alone") {
				t.Errorf("%s: what the note of an upload names was dropped", name)
			}
			if note, err := datadir.ReadErasure(dir); err != nil || note.Due {
				t.Errorf("%s: still due: %v, %v", name, note, err)
			}
			stop(t, e)
		}
		if _, err := Verify(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDropsWaitForDamagedProjects has a single server not drop what a damaged project may name.
func TestDropsWaitForDamagedProjects(t *testing.T) {
	w := newDamagedWorld(t)
	if err := (datadir.Erasure{Due: true}).Write(w.config.Dir); err != nil {
		t.Fatal(err)
	}
	err := w.erasing.dropFollowed()
	if fault.CodeOf(err) != fault.StateConflict {
		t.Errorf("beside a damaged project: %v", err)
	}
	if note, err := datadir.ReadErasure(w.config.Dir); err != nil || !note.Due {
		t.Errorf("not due any more: %v, %v", note, err)
	}
	if err := w.RemoveProject(w.damaged, "damaged"); err != nil {
		t.Fatal(err)
	}
	if err := w.erasing.dropFollowed(); err != nil {
		t.Errorf("AFTER it was removed: %v", err)
	}
	if note, err := datadir.ReadErasure(w.config.Dir); err != nil || note.Due {
		t.Errorf("still due: %v, %v", note, err)
	}
}
