package actors

import (
	"runtime"
	"testing"

	"pws/api"
	"pws/blobs"
	"pws/internal/id"
	"pws/work"
)

// logBytesOf is what a write adds to the log, before compression.
func logBytesOf(t *testing.T, e *Engine, project, agent id.ID, command work.Command) uint64 {
	t.Helper()
	logged := func() uint64 {
		for {
			if stats := e.journal.Stats(); stats.Durable == stats.Last {
				return stats.RawBytes
			}
			runtime.Gosched()
		}
	}
	before := logged()
	if _, err := e.Do(api.Order{Project: project, Agent: agent, Command: command}); err != nil {
		t.Fatal(err)
	}
	return logged() - before
}

func putBlob(path string, blob work.Blob) *work.PutFile {
	return &work.PutFile{Path: path, Blob: blob, ContentType: "text/plain"}
}

// TestForeignContentsCostTheSame writes a content that a private project of another agent has, and
// one that nobody has: the entries have the same size, and both are read from memory next.
func TestForeignContentsCostTheSame(t *testing.T) {
	const size = 64 << 10
	e, public, owner := oneProject(t, nil)
	eve := register(t, e, "eve")
	private := createProject(t, e, owner, work.Private)
	own := createProject(t, e, eve, work.Public)
	write := func(project, agent id.ID, path string, content work.Blob) uint64 {
		return logBytesOf(t, e, project, agent, putBlob(path, content))
	}
	recent, packed := noise(1, size), noise(2, size)
	write(private, owner, "packed", packed)
	saveAll(t, e)
	write(private, owner, "recent", recent)
	unknown := write(own, eve, "0", noise(3, size))
	if unknown < size {
		t.Fatalf("an unknown content took %d bytes", unknown)
	}
	for path, content := range map[string]work.Blob{"1": recent, "2": packed} {
		if took := write(own, eve, path, content); took != unknown {
			t.Errorf("content %s took %d bytes, an unknown one %d", path, took, unknown)
		}
	}
	// Neither did what the public project of another have count, nor is anything stored twice.
	if took := write(public, owner, "3", recent); took != unknown {
		t.Errorf("in another project it took %d bytes, not %d", took, unknown)
	}
	saveAll(t, e)
	if stored := e.blobs.Stats().PackedBytes; stored != 3*size {
		t.Errorf("%d bytes are stored, not %d", stored, 3*size)
	}
}

// TestHeldContentsAreNotRepeated writes contents that the path had before.
func TestHeldContentsAreNotRepeated(t *testing.T) {
	const size = 64 << 10
	e, project, owner := oneProject(t, nil)
	first := noise(1, size)
	for _, content := range []work.Blob{first, blobOf("second")} {
		logBytesOf(t, e, project, owner, putBlob("f", content))
	}
	if took := logBytesOf(t, e, project, owner, putBlob("f", first)); took > size/2 {
		t.Errorf("what the path had before took %d bytes", took)
	}
	logBytesOf(t, e, project, owner, &work.DeleteFile{Path: "f"})
	if took := logBytesOf(t, e, project, owner, putBlob("f", first)); took > size/2 {
		t.Errorf("what the deleted file had took %d bytes", took)
	}
	view, err := e.Project(project)
	if err != nil {
		t.Fatal(err)
	}
	more := noise(2, size)
	twice := logBytesOf(t, e, project, owner, &work.PublishChangeset{Base: view.Head().ID,
		Operations: []work.Operation{
			{Action: work.Create, Path: "g", Content: &more, ContentType: "text/plain"},
			{Action: work.Create, Path: "h", Content: &more, ContentType: "text/plain"},
		}})
	if twice > size*3/2 {
		t.Errorf("a content at two paths took %d bytes", twice)
	}
	if _, err := e.blobs.Get(blobs.Hash(more.Hash)); err != nil {
		t.Error(err)
	}
}
