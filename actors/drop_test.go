package actors

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pws/api"
	"pws/identity"
	"pws/internal/disk/disktest"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// dropTexts are texts of projects that are dropped, each in another place. sharedText is a content
// of another project too.
var dropTexts = []string{
	"xylofile", "xyloolder", "xylopath", "xylotask", "xylotalk", "xyloname", "xylospace",
	"xylofork", "xylolong", "xylopast", "xylonote",
}

const sharedText = "xyloshared"

// dropWorld is a service with a project that is to be dropped, and with others that name some of
// the same contents.
type dropWorld struct {
	*Engine
	owner, doomed, other, copied id.ID
}

// onErasure sets what is called between the steps of an erasure.
func (w *dropWorld) onErasure(hook func(step string) error) {
	w.erasing.running.Lock()
	defer w.erasing.running.Unlock()
	w.erasing.hook = hook
}

func newDropWorld(t testing.TB, config Config) *dropWorld {
	t.Helper()
	w := &dropWorld{Engine: start(t, config)}
	w.owner = register(t, w.Engine, "owner")
	source := createProject(t, w.Engine, w.owner, work.Public)
	mustPut(t, w.Engine, source, w.owner, "kept.txt", "a quartz in the source")
	p := viewOf(t, w.Engine, source)
	fork := forkOrderAt(w.Engine, p, p.Head(), w.owner, work.Public)
	w.doomed = fork.Project
	if _, err := w.Do(fork); err != nil {
		t.Fatal(err)
	}
	name := "about xyloname"
	mustDo(t, w.Engine, w.doomed, w.owner, &work.UpdateProject{Name: &name})
	mustPut(t, w.Engine, w.doomed, w.owner, "a.txt", "the xyloolder")
	mustPut(t, w.Engine, w.doomed, w.owner, "a.txt", "the xylofile")
	mustPut(t, w.Engine, w.doomed, w.owner, "xylopath.txt", "the xyloshared")
	mustDo(t, w.Engine, w.doomed, w.owner, &work.CreateTask{Spec: work.TaskSpec{
		Title: "the xylotask", Priority: work.PriorityLow,
	}})
	talk := &work.CreateDiscussion{Title: "the xylotalk", Body: "xylotalk"}
	mustDo(t, w.Engine, w.doomed, w.owner, talk)
	w.writeLongTexts(t)
	// It is forked again, and the fork is dropped with it.
	saveAll(t, w.Engine)
	w.other = createProject(t, w.Engine, w.owner, work.Public)
	mustPut(t, w.Engine, w.other, w.owner, "b.txt", "the xyloshared")
	mustPut(t, w.Engine, w.doomed, w.owner, "late.txt", "the xylospace")
	view := viewOf(t, w.Engine, w.doomed)
	again := forkOrderAt(w.Engine, view, view.Head(), w.owner, work.Public)
	w.copied = again.Project
	if _, err := w.Do(again); err != nil {
		t.Fatal(err)
	}
	mustPut(t, w.Engine, w.copied, w.owner, "c.txt", "the xylofork")
	return w
}

// writeLongTexts writes texts that are stored as contents: those of a task, of an earlier version
// of it, and of a handoff that is deleted.
func (w *dropWorld) writeLongTexts(t testing.TB) {
	t.Helper()
	long := strings.Repeat("long ", 500)
	made, err := w.Do(api.Order{Project: w.doomed, Agent: w.owner, Command: &work.CreateTask{
		Spec: work.TaskSpec{Title: "t", Description: "the xylopast " + long},
	}})
	if err != nil {
		t.Fatal(err)
	}
	later := "the xylolong " + long
	mustDo(t, w.Engine, w.doomed, w.owner, &work.UpdateTask{
		Task: made.Result.Subject, Change: work.TaskChange{Description: &later},
	})
	left, err := w.Do(api.Order{Project: w.doomed, Agent: w.owner, Command: &work.CreateHandoff{
		Continuation: work.Continuation{NextActions: []string{"the xylonote " + long}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	mustDo(t, w.Engine, w.doomed, w.owner, &work.DeleteHandoff{Handoff: left.Result.Subject})
}

// remove removes both projects.
func (w *dropWorld) remove() error {
	err := w.DropProjects(&identity.DropProject{
		Project: w.copied, Reason: "malware", ByOperator: true,
	})
	return errors.Join(err, w.RemoveProject(w.doomed, "malware"))
}

// checkDropped checks that the data of the projects has left the disk, and that of others has not.
func (w *dropWorld) checkDropped(t *testing.T, e *Engine) {
	t.Helper()
	for _, text := range dropTexts {
		name, err := disktest.Holding(e.config.Dir, text)
		if err != nil || name != "" {
			t.Errorf("%s is still in %s, %v", text, filepath.Base(name), err)
		}
	}
	if name, err := disktest.Holding(e.config.Dir, sharedText); err != nil || name == "" {
		t.Errorf("what another project has is gone: %v", err)
	}
	p := viewOf(t, e, w.other)
	if text, _, err := contentOf(e, p, "b.txt"); err != nil || text != "the xyloshared" {
		t.Errorf("%q, %v", text, err)
	}
	for _, project := range []id.ID{w.doomed, w.copied} {
		if p := viewOf(t, e, project); !p.Erased() || p.Readable(w.owner) || p.FilesCount() > 0 {
			t.Errorf("%+v", p.Record)
		}
		if err := e.RemoveProject(project, "again"); fault.CodeOf(err) != fault.ProjectNotFound {
			t.Error(err)
		}
	}
	if drops := e.Identity().Drops(); len(drops) > 0 {
		t.Errorf("%+v", drops)
	}
}

func dropConfig(t testing.TB) Config {
	config := quiet(filepath.Join(t.TempDir(), "data"))
	config.NoSearch = false
	return config
}

// TestDroppedProjectsLeaveTheDisk removes projects whose data is in packs, sections, the log, the
// feed and the search index.
func TestDroppedProjectsLeaveTheDisk(t *testing.T) {
	w := newDropWorld(t, dropConfig(t))
	w.AwaitSearch()
	for _, text := range append(slices.Clone(dropTexts), sharedText) {
		if name, err := disktest.Holding(w.config.Dir, text); err != nil || name == "" {
			t.Fatalf("%s is nowhere, %v", text, err)
		}
	}
	if err := w.remove(); err != nil {
		t.Fatal(err)
	}
	w.checkDropped(t, w.Engine)
	checkAccounts(t, w.Engine)
	checkLinks(t, "AFTER the removal", w.Engine)
	stop(t, w.Engine)
	if _, err := Verify(w.config.Dir); err != nil {
		t.Error(err)
	}
	w.checkDropped(t, start(t, w.config))
}

// sampleOf are the moments of a crash that a test goes on from: every fourth, the first one drawn
// anew in each run. PWS_CUT_ALL takes all.
func sampleOf(moments []string) []string {
	if os.Getenv("PWS_CUT_ALL") != "" {
		return moments
	}
	var sample []string
	for i := rand.IntN(4); i < len(moments); i += 4 {
		sample = append(sample, moments[i])
	}
	return sample
}

// TestDropSurvivesCrashes copies the data directory at each step of a removal, as a killed process
// leaves it: every copy goes on when it is started.
func TestDropSurvivesCrashes(t *testing.T) {
	config := dropConfig(t)
	config.NoSearch = true
	w := newDropWorld(t, config)
	copies := map[string]string{}
	var names []string
	keep := func(step string) error {
		name := fmt.Sprintf("%02d %s", len(names), step)
		names, copies[name] = append(names, name), crashCopy(t, w.config.Dir)
		return nil
	}
	w.onErasure(func(step string) error {
		// The steps of a snapshot are different ones from here on.
		w.saver.hook = func(saved string) error { return keep(step + ", " + saved) }
		return keep(step)
	})
	if err := w.remove(); err != nil {
		t.Fatal(err)
	}
	for _, name := range sampleOf(names) {
		e := start(t, quiet(copies[name]))
		if err := e.erasing.resumeErasure(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !e.Identity().Dropping(w.doomed) {
			// It died before the second removal was noted.
			if p := viewOf(t, e, w.doomed); !p.Removed() {
				if err := e.RemoveProject(w.doomed, "malware"); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		w.checkDropped(t, e)
		stop(t, e)
		if _, err := Verify(copies[name]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if t.Failed() {
			t.Fatalf("after a crash at %q", name)
		}
	}
	if len(names) < 40 {
		t.Errorf("%d steps", len(names))
	}
}

// TestDropIsRepeated has each step of a removal fail: the same removal, given again, ends it.
func TestDropIsRepeated(t *testing.T) {
	config := dropConfig(t)
	config.NoSearch = true
	w := newDropWorld(t, config)
	if err := w.RemoveProject(w.copied, "malware"); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("it fails")
	for i := 1; ; i++ {
		nth, name := 0, ""
		w.onErasure(func(step string) error {
			if nth++; nth == i {
				name = step
				return failed
			}
			return nil
		})
		err := w.RemoveProject(w.doomed, "malware")
		if err == nil {
			break
		}
		if !errors.Is(err, failed) {
			t.Fatalf("%s: %v", name, err)
		}
		if !w.Identity().Dropping(w.doomed) {
			t.Fatalf("%s: it is not noted", name)
		}
	}
	w.onErasure(nil)
	w.checkDropped(t, w.Engine)
	noted := 0
	for _, done := range w.Identity().Actions() {
		if done.Action == identity.ActionRemove {
			noted++
		}
	}
	if noted != 2 {
		t.Errorf("%d removals are noted", noted)
	}
}

// TestForkOfDroppedProject forks and writes at the moments at which contents are dropped: a fork of
// what is removed is refused, and what others store at that moment is kept.
func TestForkOfDroppedProject(t *testing.T) {
	config := dropConfig(t)
	config.NoSearch = true
	w := newDropWorld(t, config)
	p := viewOf(t, w.Engine, w.doomed)
	fork := forkOrderAt(w.Engine, p, p.Head(), w.owner, work.Public)
	late := map[string]id.ID{}
	w.onErasure(func(step string) error {
		if step == "noted" {
			return nil
		}
		if _, err := w.Do(fork); fault.CodeOf(err) != fault.ProjectNotFound {
			t.Errorf("%s: a fork: %v", step, err)
		}
		project := createProject(t, w.Engine, w.owner, work.Private)
		late[step] = project
		mustPut(t, w.Engine, project, w.owner, "late.txt", "the xylospace")
		return nil
	})
	if err := w.RemoveProject(w.doomed, "malware"); err != nil {
		t.Fatal(err)
	}
	check := func(e *Engine) {
		for step, project := range late {
			text, _, err := contentOf(e, viewOf(t, e, project), "late.txt")
			if err != nil || text != "the xylospace" {
				t.Errorf("%s: %q, %v", step, text, err)
			}
		}
		text, _, err := contentOf(e, viewOf(t, e, w.copied), "a.txt")
		if err != nil || text != "the xylofile" {
			t.Errorf("the fork: %q, %v", text, err)
		}
	}
	check(w.Engine)
	w.saver.hook = nil
	w.onErasure(nil)
	stop(t, w.Engine)
	if _, err := Verify(w.config.Dir); err != nil {
		t.Error(err)
	}
	check(start(t, w.config))
}

// TestTextsOfAreFound finds the long texts of a project, also those that were replaced or deleted,
// and purges one of them.
func TestTextsOfAreFound(t *testing.T) {
	w := newDropWorld(t, quiet(t.TempDir()))
	find := func(part string) []StoredText {
		t.Helper()
		found, err := w.TextsOf(w.doomed, part)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if all := find(""); len(all) != 3 {
		t.Errorf("all: %+v", all)
	}
	if found := find("xylolong"); len(found) != 1 || !strings.HasPrefix(found[0].Record, "tsk_") {
		t.Errorf("that of a task: %+v", found)
	}
	for _, part := range []string{"xylopast", "xylonote"} {
		found := find(part)
		if len(found) != 1 || found[0].Record != "" {
			t.Fatalf("%s: %+v", part, found)
		}
		if err := w.PurgeContent(found[0].Hash, "leaked"); err != nil {
			t.Fatal(err)
		}
		if name, err := disktest.Holding(w.config.Dir, part); err != nil || name != "" {
			t.Errorf("%s is still in %s, %v", part, filepath.Base(name), err)
		}
		if found := find(part); len(found) > 0 {
			t.Errorf("%s was purged: %+v", part, found)
		}
	}
	if all := find(""); len(all) != 3 || !all[1].Removed || !all[2].Removed {
		t.Errorf("AFTER the purge: %+v", all)
	}
	if _, err := w.TextsOf(w.owner, ""); fault.CodeOf(err) != fault.ProjectNotFound {
		t.Errorf("of no project: %v", err)
	}
}

// TestMarksAreNotPurged purges the content that an imported project has in place of a removed one.
func TestMarksAreNotPurged(t *testing.T) {
	e := start(t, quiet(t.TempDir()))
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	removed := blobOf("a secret").Hash
	mark := work.RemovedMark(removed)
	mustDo(t, e, project, owner, putBlob("key.txt", mark))
	var refusal *fault.Error
	err := e.PurgeContent(mark.Hash, "leaked")
	says := fmt.Sprintf("stands for the content %x", removed)
	if !errors.As(err, &refusal) || !strings.Contains(fmt.Sprint(refusal.Details), says) {
		t.Errorf("purging a mark: %v", err)
	}
}

// TestPurgeSurvivesCrashes copies the data directory at each step of a purge, as a killed process
// leaves it: every copy goes on when it is started.
func TestPurgeSurvivesCrashes(t *testing.T) {
	config := dropConfig(t)
	config.NoSearch = true
	w := newDropWorld(t, config)
	secret := blobOf("the xyloshared").Hash
	copies := w.copyErasure(t)
	if err := w.PurgeContent(secret, "leaked"); err != nil {
		t.Fatal(err)
	}
	w.checkPurged(t, copies, func(e *Engine) error { return e.erasing.resumeErasure() })
}

// TestFollowedPurgeSurvivesCrashes does the same on the disk of a server that has not led. It has
// followed the end of the erasure, and has all contents.
func TestFollowedPurgeSurvivesCrashes(t *testing.T) {
	config := dropConfig(t)
	config.NoSearch = true
	w := newDropWorld(t, config)
	secret := blobOf("the xyloshared").Hash
	if err := w.Save(); err != nil {
		t.Fatal(err)
	}
	for _, command := range []identity.Command{
		&identity.PurgeContent{Hash: secret, Reason: "leaked"},
		&identity.EndErasure{Hashes: [][32]byte{secret}},
	} {
		if _, err := w.OperatorDo(command); err != nil {
			t.Fatal(err)
		}
		if _, err := w.erasing.forgetTexts([]work.Hash{secret}); err != nil {
			t.Fatal(err)
		}
	}
	if where, err := disktest.Holding(w.config.Dir, sharedText); err != nil || where == "" {
		t.Fatalf("it is in %q, %v", where, err)
	}
	copies := w.copyErasure(t)
	if err := w.erasing.eraseFollowed(); err != nil {
		t.Fatal(err)
	}
	w.checkPurged(t, copies, func(e *Engine) error { return e.erasing.eraseFollowed() })
}

// copyErasure copies the data directory at each step of an erasure that follows, by its name.
func (w *dropWorld) copyErasure(t *testing.T) map[string]string {
	copies := map[string]string{}
	keep := func(step string) error {
		copies[step] = crashCopy(t, w.config.Dir)
		return nil
	}
	w.onErasure(func(step string) error {
		w.saver.hook = func(saved string) error { return keep(step + ", " + saved) }
		return keep(step)
	})
	return copies
}

// checkPurged checks that copies of copyErasure go on until the shared text is nowhere any more.
func (w *dropWorld) checkPurged(t *testing.T, copies map[string]string, goOn func(*Engine) error) {
	secret := blobOf("the xyloshared").Hash
	for name, dir := range copies {
		e := start(t, quiet(dir))
		if err := goOn(e); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if where, err := disktest.Holding(dir, sharedText); err != nil || where != "" {
			t.Errorf("%s: it is still in %s, %v", name, filepath.Base(where), err)
		}
		if _, err := e.Blob(secret); fault.CodeOf(err) != fault.ContentRemoved {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := put(e, w.other, w.owner, "new.txt", "the xyloshared"); err == nil {
			t.Errorf("%s: it is stored again", name)
		}
		stop(t, e)
		if _, err := Verify(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(copies) < 10 {
		t.Errorf("%d steps", len(copies))
	}
}

// TestCloseEndsARemoval closes the engine while an operator removes a project, at each step and
// while a snapshot is written for it. Closing is no error, and the next start goes on.
func TestCloseEndsARemoval(t *testing.T) {
	for _, at := range []string{
		"noted", "removed", "settled", "segment", "search", "log", "contents", "manifests", "state",
		"feed", "sections", "older sections",
	} {
		t.Run(at, func(t *testing.T) {
			config := dropConfig(t)
			config.NoSearch = true
			w := newDropWorld(t, config)
			closed := make(chan error, 1)
			w.onErasure(func(step string) error {
				if step != at {
					return nil
				}
				w.erasing.hook = nil
				w.saver.hook = func(saved string) error {
					if saved == "project" {
						t.Error("a run of the snapshot is open AFTER the engine was closed")
						closed <- <-closed
					}
					return nil
				}
				go func() { closed <- w.Close() }()
				<-w.stop
				return nil
			})
			if err := w.RemoveProject(w.doomed, "t"); fault.CodeOf(err) != fault.ShuttingDown {
				t.Errorf("the removal: %v", err)
			}
			if err := <-closed; err != nil {
				t.Errorf("closing: %v", err)
			}
			again := start(t, quiet(config.Dir))
			if err := again.erasing.resumeErasure(); err != nil || again.erasing.erasureDue() {
				t.Errorf("the removal is still due, %v", err)
			}
		})
	}
}
