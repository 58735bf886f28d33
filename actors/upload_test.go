package actors

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pws/api"
	"pws/blobs"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/uploads"
	"pws/work"
)

// beginUpload makes an upload of an agent with one part.
func beginUpload(t testing.TB, e *Engine, owner id.ID, content string) api.UploadRecord {
	t.Helper()
	of := e.stamp(owner)
	record := api.UploadRecord{
		ID: of.ID(0), Project: of.ID(1), Agent: owner, CreatedAt: e.Now(), Body: []byte("{}"),
	}
	_, _, err := e.CreateUpload(record)
	if err == nil {
		_, err = e.PutUploadPart(owner, record.ID, 1, []byte(content))
	}
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func beginImport(t testing.TB, e *Engine, record api.UploadRecord) api.UploadImport {
	t.Helper()
	running, err := e.BeginImport(record.Agent, record.ID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.End(nil) })
	return running
}

// store stores a content in an import and commits it.
func store(t testing.TB, running api.UploadImport, content string) {
	t.Helper()
	err := running.Store(blobOf(content).Hash, []byte(content))
	if err == nil {
		err = running.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (e *Engine) holds(content string) bool {
	return e.blobs.Has(blobs.Hash(blobOf(content).Hash))
}

func statusOf(t testing.TB, e *Engine, record api.UploadRecord) api.UploadStatus {
	t.Helper()
	state, err := e.Upload(record.Agent, record.ID)
	if err != nil {
		t.Fatal(err)
	}
	return state.Status
}

// TestSweepDropsContentsOfUnmadeProjects stores contents for projects that are never made: refused,
// or cut off by a crash. The next sweep drops those that no project names.
func TestSweepDropsContentsOfUnmadeProjects(t *testing.T) {
	var config Config
	e, project, owner := oneProject(t, func(c *Config) { config = *c })
	shared, alone := strings.Repeat("shared ", 90), strings.Repeat("alone ", 90)
	mustPut(t, e, project, owner, "f", shared)
	saveAll(t, e)
	record := beginUpload(t, e, owner, "text")
	running := beginImport(t, e, record)
	if text, err := io.ReadAll(running); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if err := running.Store(blobOf(shared).Hash, []byte(shared)); err != nil {
		t.Fatal(err)
	}
	store(t, running, alone)
	crashed := config
	crashed.Dir = crashCopy(t, config.Dir)
	running.End(fault.New(fault.QuotaExceeded, "Full."))
	again := start(t, crashed)
	for i, one := range []*Engine{e, again} {
		want := []api.UploadStatus{api.UploadFailed, api.UploadOpen}[i]
		if status := statusOf(t, one, record); status != want || !one.holds(alone) {
			t.Errorf("%s, and the content is there: %v", status, one.holds(alone))
		}
		// A crash while the contents are dropped leaves the note.
		one.uploading.sweepUploads()
		if one.holds(alone) || !one.holds(shared) {
			t.Errorf("contents are there: %v %v", one.holds(alone), one.holds(shared))
		}
		note, err := one.uploading.store.Read(uploads.Key(record.ID), uploads.NoteNumber)
		if err == nil {
			t.Errorf("a note of %d bytes is left", len(note))
		}
		if status := statusOf(t, one, record); status != want {
			t.Errorf("%s AFTER the sweep", status)
		}
		if err := one.DeleteUpload(owner, record.ID); err != nil {
			t.Error(err)
		}
		if left := one.uploading.store.Bytes(); left != 0 || len(one.uploading.mu.of) != 0 {
			t.Errorf("%d bytes are left", left)
		}
		checkAccounts(t, one)
	}
}

// TestFailedImportsLeaveNoContents imports an upload again and again, and each time no project is
// made. No content is left, although the first notes were replaced BEFORE a sweep.
func TestFailedImportsLeaveNoContents(t *testing.T) {
	e, _, owner := oneProject(t, nil)
	record := beginUpload(t, e, owner, "text")
	failed := fault.New(fault.QuotaExceeded, "Full.")
	for n := range 3 {
		running := beginImport(t, e, record)
		store(t, running, strings.Repeat(fmt.Sprint("content ", n), 90))
		running.End(failed)
	}
	e.uploading.sweepUploads()
	for n := range 3 {
		if e.holds(strings.Repeat(fmt.Sprint("content ", n), 90)) {
			t.Errorf("the content of import %d is left", n)
		}
	}
}

// TestUploadOfPurgedContent imports a content that an operator has removed.
func TestUploadOfPurgedContent(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	leaked, before := strings.Repeat("leaked ", 90), strings.Repeat("before ", 90)
	mustPut(t, e, project, owner, "f", leaked)
	mustPut(t, e, project, owner, "g", before)
	if err := e.PurgeContent(blobOf(leaked).Hash, "leaked"); err != nil {
		t.Fatal(err)
	}
	running := beginImport(t, e, beginUpload(t, e, owner, "text"))
	err := running.Store(blobOf(leaked).Hash, []byte(leaked))
	if err == nil {
		err = running.Commit()
	}
	if fault.CodeOf(err) != fault.ValidationFailed || e.holds(leaked) {
		t.Errorf("%v, and it is there: %v", err, e.holds(leaked))
	}
	running.End(err)
	// Another one is purged AFTER the import has stored it.
	running = beginImport(t, e, beginUpload(t, e, owner, "text"))
	store(t, running, before)
	if err := e.PurgeContent(blobOf(before).Hash, "leaked"); err != nil {
		t.Fatal(err)
	}
	running.End(fault.New(fault.QuotaExceeded, "Full."))
	e.uploading.sweepUploads()
	if e.holds(before) {
		t.Error("a purged content is there")
	}
}

// TestSweepWaitsForUnknownOutcomes sweeps when it is not known whether the entry of a project took
// effect.
func TestSweepWaitsForUnknownOutcomes(t *testing.T) {
	e, _, owner := oneProject(t, func(c *Config) { c.OnFailure = func(error) {} })
	content := strings.Repeat("content ", 90)
	running := beginImport(t, e, beginUpload(t, e, owner, "text"))
	store(t, running, content)
	running.End(fault.New(fault.StorageUnavailable, "Unknown."))
	e.fail(errors.New("the disk is broken"))
	e.uploading.sweepUploads()
	if !e.holds(content) {
		t.Error("the content was dropped")
	}
}

// TestBackupHasNotesOfContents takes a backup while the contents of an import are stored and its
// project is not made: AFTER it was restored, a sweep drops them.
func TestBackupHasNotesOfContents(t *testing.T) {
	var config Config
	e, project, owner := oneProject(t, func(c *Config) { config = *c })
	alone := strings.Repeat("alone ", 90)
	mustPut(t, e, project, owner, "f", "kept")
	saveAll(t, e)
	record := beginUpload(t, e, owner, "text")
	running := beginImport(t, e, record)
	store(t, running, alone)
	backup, restored := filepath.Join(t.TempDir(), "b"), filepath.Join(t.TempDir(), "r")
	if _, err := Backup(config.Dir, backup); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(backup, restored); err != nil {
		t.Fatal(err)
	}
	running.End(fault.New(fault.QuotaExceeded, "Full."))
	again := openAt(t, restored)
	if !again.holds(alone) || len(again.uploading.store.Parts(uploads.Key(record.ID))) != 0 {
		t.Errorf("the content is there: %v, or parts are", again.holds(alone))
	}
	again.uploading.sweepUploads()
	if again.holds(alone) || !again.holds("kept") {
		t.Errorf("contents are there: %v %v", again.holds(alone), again.holds("kept"))
	}
	again.Advance(uploadMillis)
	if again.uploading.store.Bytes() != 0 {
		t.Error("the upload is still there")
	}
	checkAccounts(t, again)
}

// TestBackupLeavesOutNotesWithoutRecord takes a backup of a server that died between the removals
// of the record and of the note of an upload.
func TestBackupLeavesOutNotesWithoutRecord(t *testing.T) {
	var config Config
	e, project, owner := oneProject(t, func(c *Config) { config = *c })
	mustPut(t, e, project, owner, "f", "kept")
	record := beginUpload(t, e, owner, "text")
	running := beginImport(t, e, record)
	store(t, running, strings.Repeat("alone ", 90))
	running.End(fault.New(fault.QuotaExceeded, "Full."))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(config.Dir, "uploads", "*"))
	notes := 0
	for _, file := range files {
		if name, ok := uploads.RecordOfNote(filepath.Base(file)); ok {
			notes++
			if err := os.Remove(filepath.Join(filepath.Dir(file), name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := Backup(config.Dir, filepath.Join(t.TempDir(), "b")); err != nil || notes == 0 {
		t.Errorf("%d notes: %v", notes, err)
	}
}

// TestDeletedUploadStaysDeleted deletes an upload whose contents a sweep has to drop, and crashes.
func TestDeletedUploadStaysDeleted(t *testing.T) {
	var config Config
	e, _, owner := oneProject(t, func(c *Config) { config = *c })
	content := strings.Repeat("content ", 90)
	record := beginUpload(t, e, owner, "text")
	running := beginImport(t, e, record)
	store(t, running, content)
	running.End(fault.New(fault.QuotaExceeded, "Full."))
	if err := e.DeleteUpload(owner, record.ID); err != nil {
		t.Fatal(err)
	}
	config.Dir = crashCopy(t, config.Dir)
	for _, one := range []*Engine{e, start(t, config)} {
		if _, err := one.Upload(owner, record.ID); fault.CodeOf(err) != fault.UploadNotFound {
			t.Errorf("it is there: %v", err)
		}
		one.uploading.sweepUploads()
		if one.holds(content) || one.uploading.store.Bytes() != 0 {
			t.Errorf("%d bytes are left", one.uploading.store.Bytes())
		}
		checkAccounts(t, one)
	}
}

// TestUploadEndsAfterACrashBehindItsProject crashes AFTER the project of an upload is durable and
// BEFORE its parts are removed.
func TestUploadEndsAfterACrashBehindItsProject(t *testing.T) {
	var config Config
	e, _, owner := oneProject(t, func(c *Config) { config = *c })
	content := strings.Repeat("content ", 90)
	record := beginUpload(t, e, owner, "text")
	running := beginImport(t, e, record)
	store(t, running, content)
	command := importOf(e, owner, content)
	command.ID = record.Project
	mustDo(t, e, record.Project, owner, command)
	if status := statusOf(t, e, record); status != api.UploadImporting {
		t.Errorf("%s while it is imported", status)
	}
	for _, refused := range []error{
		e.DeleteUpload(owner, record.ID),
		func() error { _, err := e.PutUploadPart(owner, record.ID, 2, []byte("x")); return err }(),
		func() error { _, err := e.BeginImport(owner, record.ID); return err }(),
	} {
		if fault.CodeOf(refused) != fault.UploadNotOpen {
			t.Errorf("while it is imported: %v", refused)
		}
	}
	crashed := config
	crashed.Dir = crashCopy(t, config.Dir)
	running.End(nil)
	for _, one := range []*Engine{e, start(t, crashed)} {
		if status := statusOf(t, one, record); status != api.UploadDone {
			t.Errorf("%s AFTER the import", status)
		}
		one.uploading.sweepUploads()
		if !one.holds(content) || len(one.uploading.store.Parts(uploads.Key(record.ID))) != 0 {
			t.Error("the content is gone, or parts are left")
		}
		checkAccounts(t, one)
		one.Advance(uploadMillis)
		if _, err := one.Upload(owner, record.ID); fault.CodeOf(err) != fault.UploadNotFound {
			t.Errorf("an hour later: %v", err)
		}
		if one.uploading.store.Bytes() != 0 || !one.holds(content) {
			t.Error("the record is left, or the content is gone")
		}
	}
}

// TestOneImportAtATime refuses another import while one runs.
func TestOneImportAtATime(t *testing.T) {
	e, _, owner := oneProject(t, nil)
	first, second := beginUpload(t, e, owner, "1"), beginUpload(t, e, owner, "2")
	running := beginImport(t, e, first)
	if _, err := e.BeginImport(owner, second.ID); fault.CodeOf(err) != fault.RateLimited {
		t.Errorf("a second import: %v", err)
	}
	e.Advance(2 * uploadMillis)
	if status := statusOf(t, e, first); status != api.UploadImporting {
		t.Errorf("%s: an import expired", status)
	}
	running.End(fault.New(fault.RateLimited, "x"))
	running.End(nil)
	if status := statusOf(t, e, first); status != api.UploadFailed {
		t.Errorf("%s, want that of the first end", status)
	}
	beginImport(t, e, first).End(fault.New(fault.RateLimited, "x"))
}

// TestConcurrentUploadChanges changes uploads from many goroutines.
func TestConcurrentUploadChanges(t *testing.T) {
	e, _, _ := oneProject(t, limited(api.StoredLimits{Agent: 1 << 20, AgentHour: 1 << 20}))
	var all sync.WaitGroup
	for worker := range 4 {
		agent := register(t, e, fmt.Sprint("agent", worker))
		all.Go(func() {
			for round := range 20 {
				record := beginUpload(t, e, agent, "part")
				for n := range 3 {
					if _, err := e.PutUploadPart(agent, record.ID, n+1, []byte("more")); err != nil {
						t.Error(err)
					}
				}
				if running, err := e.BeginImport(agent, record.ID); err == nil {
					running.End(fault.New(fault.RateLimited, "x"))
				}
				e.uploading.sweepUploads()
				if round%2 == 0 {
					e.StoredBy(agent, id.ID{})
				}
				if err := e.DeleteUpload(agent, record.ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if bytes := e.uploading.store.Bytes(); bytes != 0 {
		t.Errorf("%d bytes are left", bytes)
	}
	checkAccounts(t, e)
}

// TestUploadNeedsSpace refuses parts on a disk that is nearly full.
func TestUploadNeedsSpace(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 40)
	e, _, owner := oneProject(t, func(c *Config) { c.ReserveBytes, c.free = 64<<20, freeIn(&free) })
	record := beginUpload(t, e, owner, "part")
	free.Store(64<<20 + 3)
	_, err := e.PutUploadPart(owner, record.ID, 2, []byte("part"))
	if fault.CodeOf(err) != fault.StorageUnavailable {
		t.Errorf("a part: %v", err)
	}
	if _, err := e.BeginImport(owner, record.ID); fault.CodeOf(err) != fault.StorageUnavailable {
		t.Errorf("an import: %v", err)
	}
	free.Store(1 << 40)
	if _, err := e.PutUploadPart(owner, record.ID, 2, []byte("part")); err != nil {
		t.Error(err)
	}
	if _, err := e.PutUploadPart(owner, record.ID, 2, make([]byte, 17<<20)); err != nil {
		t.Error(err)
	}
	if _, err := e.Upload(work.Stamp{}.ID(0), record.ID); fault.CodeOf(err) != fault.UploadNotFound {
		t.Errorf("another agent: %v", err)
	}
}
