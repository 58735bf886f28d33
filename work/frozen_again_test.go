package work_test

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"pws/work"
)

// frozenChunks are the kinds of the chunks in the folders of frozen snapshots, by file name.
var frozenChunks = map[string]work.ChunkKind{
	"artifacts": work.ArtifactChunk, "chunk": work.HistoryChunk, "comments": work.CommentChunk,
	"contributions": work.ContributionChunk, "discussions": work.DiscussionChunk,
	"handoffs": work.HandoffChunk, "imports": work.ImportChunk, "relations": work.RelationChunk,
	"revisions": work.RevisionChunk, "tasks": work.TaskChunk,
	"verifications": work.VerificationChunk, "watchers": work.WatcherChunk,
	"workspaces": work.WorkspaceChunk, "states": work.StateChunk, "past": work.PastChunk,
}

// frozenAdditions are the keys of the head that older snapshots lack, or have with fewer members.
// They are computed when a project is restored.
var frozenAdditions = map[string][]uint64{"v1": {18}, "v4-records": {37, 50, 51}}

func readFrozen(t *testing.T, folder string) saved {
	t.Helper()
	s := saved{chunks: map[work.Chunk][]byte{}}
	files, err := filepath.Glob(folder + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".cbor")
		kind, isChunk := frozenChunks[name]
		switch {
		case isChunk:
			s.chunks[work.Chunk{Kind: kind}] = data
		case name == "head":
			s.head = data
		case strings.HasPrefix(name, "manifest-"):
			manifests.Store(work.Hash(sha256.Sum256(data)), data)
		default:
			t.Fatalf("%s: the kind of the file is unknown", file)
		}
	}
	return s
}

// TestFrozenSnapshotsEncodeAgain restores every frozen snapshot and saves it again. The bytes are
// the same, except for the keys that older formats lack.
func TestFrozenSnapshotsEncodeAgain(t *testing.T) {
	folders, err := filepath.Glob("testdata/snapshot/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no frozen snapshots: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			frozen := readFrozen(t, folder)
			p, err := frozen.restore()
			if err != nil {
				t.Fatal(err)
			}
			again := mustSave(t, p)
			for name, data := range frozen.chunks {
				if !bytes.Equal(again.chunks[name], data) {
					t.Errorf("chunk %c differs", name.Kind)
				}
			}
			checkFrozenHead(t, frozen.head, again.head, frozenAdditions[filepath.Base(folder)])
		})
	}
}

func checkFrozenHead(t *testing.T, frozen, again []byte, additions []uint64) {
	t.Helper()
	var want, got map[uint64]cbor.RawMessage
	for data, into := range map[*[]byte]*map[uint64]cbor.RawMessage{&frozen: &want, &again: &got} {
		if err := cbor.Unmarshal(*data, into); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if !bytes.Equal(want[key], got[key]) && !slices.Contains(additions, key) {
			t.Errorf("key %d of the head is %x, want %x", key, got[key], want[key])
		}
		delete(want, key)
	}
	for key := range want {
		t.Errorf("key %d of the head is missing", key)
	}
	if len(additions) == 0 && !bytes.Equal(frozen, again) {
		t.Error("the head has other bytes")
	}
}
