package actors

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pws/api"
	"pws/blobs"
	"pws/index"
	"pws/internal/disk/disktest"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// damagedWorld is a service on a directory in which a section of one project was damaged.
type damagedWorld struct {
	*Engine
	owner, damaged, sound id.ID
	log                   *bytes.Buffer
}

// damagedMark is in the saved record of the project that is damaged.
const damagedMark = "xylodamaged"

func newDamagedWorld(t *testing.T) *damagedWorld {
	t.Helper()
	w := &damagedWorld{log: new(bytes.Buffer)}
	config := quiet(filepath.Join(t.TempDir(), "data"))
	config.Log = slog.New(slog.NewTextHandler(w.log, nil))
	e := start(t, config)
	w.owner = register(t, e, "owner")
	w.damaged = createProject(t, e, w.owner, work.Public)
	name := damagedMark
	mustDo(t, e, w.damaged, w.owner, &work.UpdateProject{Name: &name})
	mustPut(t, e, w.damaged, w.owner, "a.txt", "the xylofile")
	w.sound = createProject(t, e, w.owner, work.Public)
	mustPut(t, e, w.sound, w.owner, "b.txt", "the xylofile")
	mustPut(t, e, w.sound, w.owner, "c.txt", "the xyloother")
	saveAll(t, e)
	stop(t, e)
	flipMark(t, config.Dir, damagedMark)
	w.Engine = start(t, config)
	return w
}

// flipMark damages the record of a project, that has the mark, in all files of sections.
func flipMark(t *testing.T, dir, mark string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "snapshot", "sections-*"))
	if err != nil {
		t.Fatal(err)
	}
	flipped := false
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(content, []byte(mark)); at >= 0 {
			flip(t, name, func(int) int { return at })
			flipped = true
		}
	}
	if !flipped {
		t.Fatal("no section has the mark")
	}
}

func (w *damagedWorld) snapshotFault() string {
	for _, check := range w.Health() {
		if check.Name == "snapshot" {
			return check.Fault
		}
	}
	return "no check"
}

// TestDamagedProjectIsLostAlone reads and writes beside a project whose record is damaged.
func TestDamagedProjectIsLostAlone(t *testing.T) {
	w := newDamagedWorld(t)
	for range 3 {
		listed, err := w.PublicProjects(index.Position{}, 10)
		if err != nil || len(listed) != 1 || listed[0].ID != w.sound {
			t.Fatalf("%v, %v", listed, err)
		}
		if _, err := w.Summary(w.damaged); !errors.Is(err, api.ErrDamaged) {
			t.Error(err)
		}
		if _, err := w.Project(w.damaged); !errors.Is(err, api.ErrDamaged) {
			t.Error(err)
		}
		if _, err := put(w.Engine, w.damaged, w.owner, "a", "b"); !errors.Is(err, api.ErrDamaged) {
			t.Error(err)
		}
	}
	if p, err := api.Intact(w.Project(w.damaged)); p != nil || err != nil {
		t.Errorf("%v, %v", p, err)
	}
	named := w.damaged.Format(id.Project)
	if why := w.snapshotFault(); !strings.Contains(why, named) {
		t.Errorf("the check of snapshots says %q", why)
	}
	if count := strings.Count(w.log.String(), "level=ERROR"); count != 1 ||
		!strings.Contains(w.log.String(), named) {
		t.Errorf("%d errors are in the log:\n%s", count, w.log)
	}
	for _, one := range w.Metrics() {
		if one.Name == "pws_damaged_projects" && one.Value() != 1 {
			t.Errorf("%v projects are counted", one.Value())
		}
	}
	mustPut(t, w.Engine, w.sound, w.owner, "d.txt", "written later")
	saveAll(t, w.Engine)
	if why := w.snapshotFault(); !strings.Contains(why, named) {
		t.Errorf("AFTER a snapshot its check says %q", why)
	}
}

// TestLackOfMemoryIsNoDamage has a list fail where a project cannot be loaded for now.
func TestLackOfMemoryIsNoDamage(t *testing.T) {
	for _, err := range []error{
		nil, fault.Stopping(), os.ErrClosed, &os.PathError{Op: "read", Err: os.ErrClosed},
	} {
		if isDamage(err) {
			t.Errorf("%v is damage", err)
		}
	}
	if !isDamage(errSectionMissing) {
		t.Error("a missing section is none")
	}
}

// TestPurgeAndRemovalWorkBesideADamagedProject purges a content and removes a project.
func TestPurgeAndRemovalWorkBesideADamagedProject(t *testing.T) {
	w := newDamagedWorld(t)
	if err := w.PurgeContent(blobOf("the xyloother").Hash, "leaked"); err != nil {
		t.Error(err)
	}
	if err := w.RemoveProject(w.sound, "malware"); err != nil {
		t.Error(err)
	}
	if p := viewOf(t, w.Engine, w.sound); !p.Erased() {
		t.Errorf("%+v", p.Record)
	}
	if drops := w.Identity().Drops(); len(drops) > 0 {
		t.Errorf("%+v", drops)
	}
}

// TestDamagedProjectIsRemoved removes a project without its state, and once more where the removal
// was interrupted. Entries behind its section do not keep the log.
func TestDamagedProjectIsRemoved(t *testing.T) {
	w := newDamagedWorld(t)
	errStop := errors.New("interrupted")
	w.erasing.hook = func(step string) error {
		if step == "removed" {
			return errStop
		}
		return nil
	}
	if err := w.RemoveProject(w.damaged, "damaged"); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	if p, err := w.ProjectFor(w.damaged, w.owner); p != nil || err != nil {
		t.Errorf("%v, %v", p, err)
	}
	stop(t, w.Engine)
	w.Engine = start(t, w.config)
	if err := w.RemoveProject(w.damaged, "damaged"); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		if p := viewOf(t, w.Engine, w.damaged); !p.Erased() || p.Readable(w.owner) {
			t.Errorf("%+v", p.Record)
		}
		if listed, err := w.PublicProjects(index.Position{}, 10); err != nil || len(listed) != 1 {
			t.Errorf("%v, %v", listed, err)
		}
		if count := w.Indexes(index.ForListing).Listing.Len(); count != 1 {
			t.Errorf("%d projects are listed", count)
		}
		if why := w.snapshotFault(); why != "" {
			t.Errorf("the check of snapshots says %q", why)
		}
		if drops := w.Identity().Drops(); len(drops) > 0 {
			t.Errorf("%+v", drops)
		}
	}
	check()
	if err := w.RemoveProject(w.sound, "malware"); err != nil {
		t.Error(err)
	}
	stop(t, w.Engine)
	if name, err := disktest.Holding(w.config.Dir, damagedMark[1:]); err != nil || name != "" {
		t.Errorf("it is still in %s, %v", name, err)
	}
	if _, err := Verify(w.config.Dir); err != nil {
		t.Error(err)
	}
	w.Engine = start(t, w.config)
	if p := viewOf(t, w.Engine, w.damaged); !p.Erased() {
		t.Errorf("%+v", p.Record)
	}
}

// flipContent damages a content in the packs of a folder.
func flipContent(t *testing.T, dir, content string) {
	t.Helper()
	name, err := disktest.Holding(dir, content)
	if err != nil || name == "" {
		t.Fatal(name, err)
	}
	packed, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, name, func(int) int { return bytes.Index(packed, []byte(content)) })
}

// TestDamagedContentFailsHealth reads a content whose pack is damaged: the check of contents fails
// from then on, until the content is purged.
func TestDamagedContentFailsHealth(t *testing.T) {
	w := newDamagedWorld(t)
	content := "the xyloother"
	stop(t, w.Engine)
	flipContent(t, filepath.Join(w.config.Dir, "blobs"), content)
	w.Engine = start(t, w.config)
	check := func(problem string, count float64) {
		t.Helper()
		for _, one := range w.Health() {
			if one.Name == "blobs" && one.Fault != problem {
				t.Errorf("the check of contents says %q, want %q", one.Fault, problem)
			}
		}
		for _, one := range w.Metrics() {
			if one.Name == "pws_damaged_contents" && one.Value() != count {
				t.Errorf("%v contents are counted, want %v", one.Value(), count)
			}
		}
	}
	check("", 0)
	hash := blobOf(content).Hash
	for range 2 {
		if _, err := w.Blob(hash); fault.CodeOf(err) != fault.BlobCorrupt {
			t.Error(err)
		}
		check("damaged contents: 1", 1)
	}
	if err := w.PurgeContent(hash, "damaged"); err != nil {
		t.Fatal(err)
	}
	check("", 0)
}

// TestDamagedPackIsNotMerged has a damaged content be in a pack that is due for merging: the
// snapshot has succeeded, and the log says that the packs are not merged.
func TestDamagedPackIsNotMerged(t *testing.T) {
	w := newDamagedWorld(t)
	stop(t, w.Engine)
	flipContent(t, filepath.Join(w.config.Dir, "blobs"), "the xyloother")
	w.log.Reset()
	w.Engine = start(t, w.config)
	const line = "packs are not merged"
	for n := 0; n < 20 && !strings.Contains(w.log.String(), line); n++ {
		mustPut(t, w.Engine, w.sound, w.owner, "d.txt", fmt.Sprint(n))
		saveAll(t, w.Engine)
	}
	if got := strings.Count(w.log.String(), line); got != 1 {
		t.Errorf("%d lines with %q: %s", got, line, w.log)
	}
	if problem := w.snapshotFault(); problem != "" {
		t.Errorf("the check of the snapshot says %q", problem)
	}
}

// TestDamagedCardIsMadeAnew starts with a damaged card: lists and names are those of the project,
// and the next snapshot has the card again. Of a project that is damaged, too, nothing is listed.
func TestDamagedCardIsMadeAnew(t *testing.T) {
	config := quiet(filepath.Join(t.TempDir(), "data"))
	log := new(bytes.Buffer)
	config.Log = slog.New(slog.NewTextHandler(log, nil))
	e := start(t, config)
	owner := register(t, e, "owner")
	var projects []id.ID
	// Cards of projects that were made in the same millisecond differ by their names alone.
	for _, name := range []string{"one", "another", damagedMark} {
		project := createProject(t, e, owner, work.Public)
		mustDo(t, e, project, owner, &work.UpdateProject{Name: &name})
		projects = append(projects, project)
	}
	saveAll(t, e)
	flipCard := func(project id.ID) {
		t.Helper()
		card := e.projections.indexes.EncodeCard(viewOf(t, e, project))
		name := newest(t, config.Dir, "snapshot/sections-*")
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(content, card)
		if at < 0 {
			t.Fatal("there is no such card")
		}
		flip(t, name, func(int) int { return at })
	}
	flipCard(projects[0])
	flipCard(projects[2])
	stop(t, e)
	flipMark(t, config.Dir, damagedMark)
	e = start(t, config)
	check := func() {
		t.Helper()
		listed, err := e.PublicProjects(index.Position{}, 10)
		if err != nil || len(listed) != 2 {
			t.Errorf("%d are listed, %v", len(listed), err)
		}
		if count := e.Indexes(index.All).Listing.Len(); count != 2 {
			t.Errorf("%d are in the index", count)
		}
	}
	check()
	for _, project := range []id.ID{projects[0], projects[2]} {
		if !strings.Contains(log.String(), project.Format(id.Project)) {
			t.Errorf("the log does not name the project:\n%s", log)
		}
	}
	saveAll(t, e)
	check()
	stop(t, e)
	log.Reset()
	e = start(t, config)
	check()
	if strings.Contains(log.String(), projects[0].Format(id.Project)) {
		t.Errorf("the card is not saved again:\n%s", log)
	}
}

// TestImportRepairsADamagedContent imports a content that is damaged: it is counted no more, and is
// read.
func TestImportRepairsADamagedContent(t *testing.T) {
	w := newDamagedWorld(t)
	content := "the xyloother"
	stop(t, w.Engine)
	flipContent(t, filepath.Join(w.config.Dir, "blobs"), content)
	w.Engine = start(t, w.config)
	if _, err := w.Blob(blobOf(content).Hash); fault.CodeOf(err) != fault.BlobCorrupt {
		t.Fatal(err)
	}
	running := beginImport(t, w.Engine, beginUpload(t, w.Engine, w.owner, "text"))
	store(t, running, content)
	if count := w.corrupted.count(); count != 0 {
		t.Errorf("%d contents are damaged", count)
	}
	if _, err := w.Blob(blobOf(content).Hash); err != nil {
		t.Error(err)
	}
}

// TestUnreadDamageIsRepaired writes a content to another path that is damaged, as nothing has met
// since the start. It is checked away from the write, and stored again.
func TestUnreadDamageIsRepaired(t *testing.T) {
	w := newDamagedWorld(t)
	content := "the xyloother"
	stop(t, w.Engine)
	flipContent(t, filepath.Join(w.config.Dir, "blobs"), content)
	w.Engine = start(t, w.config)
	mustPut(t, w.Engine, w.sound, w.owner, "another.txt", content)
	// The loop may have checked it already.
	w.check(blobs.Unread{Hash: blobs.Hash(blobOf(content).Hash)})
	saveAll(t, w.Engine)
	stop(t, w.Engine)
	w.Engine = start(t, w.config)
	if _, err := w.Blob(blobOf(content).Hash); err != nil {
		t.Error(err)
	}
}
