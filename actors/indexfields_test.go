package actors

import (
	"crypto/sha256"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/identity"
	"pws/index"
	"pws/internal/fieldtest"
	"pws/internal/id"
	"pws/work"
)

// frozenProjects restores the frozen snapshots of package work, each as a PUBLIC and as a PRIVATE
// project.
func frozenProjects(t *testing.T) (all []*work.Project) {
	t.Helper()
	kinds := map[string]work.ChunkKind{
		"artifacts": work.ArtifactChunk, "chunk": work.HistoryChunk, "comments": work.CommentChunk,
		"contributions": work.ContributionChunk, "discussions": work.DiscussionChunk,
		"handoffs": work.HandoffChunk, "imports": work.ImportChunk,
		"relations": work.RelationChunk, "revisions": work.RevisionChunk, "tasks": work.TaskChunk,
		"verifications": work.VerificationChunk, "watchers": work.WatcherChunk,
		"workspaces": work.WorkspaceChunk,
	}
	heads, err := filepath.Glob("../work/testdata/snapshot/*/head.cbor")
	if err != nil || len(heads) == 0 {
		t.Fatalf("no frozen snapshots: %v", err)
	}
	for _, head := range heads {
		files, err := filepath.Glob(filepath.Join(filepath.Dir(head), "*"))
		if err != nil {
			t.Fatal(err)
		}
		chunks, contents := map[work.Chunk][]byte{}, map[work.Hash][]byte{}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".cbor")
			chunks[work.Chunk{Kind: kinds[name]}] = mustRead(t, file)
			contents[sha256.Sum256(mustRead(t, file))] = mustRead(t, file)
		}
		for _, visibility := range []work.Visibility{work.Public, work.Private} {
			p, err := work.Restore(mustRead(t, head), func(c work.Chunk) ([]byte, error) {
				return chunks[c], nil
			}, func(root work.Hash) (*work.Tree, error) {
				return work.ReadTree(root, func(hash work.Hash) ([]byte, error) {
					return contents[hash], nil
				})
			})
			if err != nil {
				t.Fatal(head, err)
			}
			p.Visibility = visibility
			all = append(all, p)
		}
	}
	return all
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestIndexSectionsKeepEveryField encodes and decodes what is saved of frozen projects for the
// indexes, and compares all fields. It fails for fields that none of them sets.
func TestIndexSectionsKeepEveryField(t *testing.T) {
	walk := fieldtest.New(map[string]string{"Trait.Category": "zero is a category"})
	same := func(section string, saved, restored any, err error) {
		t.Helper()
		want, got := walk.Leaves(saved), walk.Leaves(restored)
		if err != nil || !maps.Equal(want, got) {
			t.Errorf("%s: %v: restored (+) differs from saved (-):\n%s", section, err,
				cmp.Diff(want, got))
		}
	}
	for _, p := range frozenProjects(t) {
		if saved := linksOf(p); len(saved.Links) > 0 {
			restored, err := decodeLinks(encodeLinks(saved))
			same("links", saved, restored, err)
		}
		if saved := tasksOf(p); len(saved.Entries) > 0 {
			restored, err := decodeTasks(encodeTasks(saved))
			same("tasks", saved, restored, err)
		}
		saved := offersOf(p)
		// No frozen contribution waits for a review.
		saved.reviews = index.ProjectReviews{
			Public: p.Visibility == work.Public, Members: membersOf(p),
			Entries: []index.ReviewEntry{{
				Contribution: id.ID{1}, Author: id.ID{2}, Terms: index.MakeTerms("go"),
			}},
		}
		restored, err := decodeOffers(p.ID, encodeOffers(saved))
		same("offers", saved, restored, err)
	}
	for _, field := range walk.Unset() {
		t.Errorf("no frozen project sets %s", field)
	}
}

// TestInboxSectionsKeepEveryField gives the notices of all frozen events to an index of inboxes,
// saves and restores it, and compares all fields.
func TestInboxSectionsKeepEveryField(t *testing.T) {
	files, err := filepath.Glob("../work/testdata/events/v1/*.cbor")
	if err != nil || len(files) == 0 {
		t.Fatalf("no frozen events: %v", err)
	}
	live := index.NewInbox()
	for at, file := range files {
		number, _, _ := strings.Cut(filepath.Base(file), "-")
		kind, _ := strconv.Atoi(number)
		event, err := work.DecodeEvent(work.Kind(kind), mustRead(t, file))
		if err != nil {
			t.Fatal(file, err)
		}
		live.Tell(uint64(at+1), toldBy(event, at, id.ID{1}, id.ID{2}, 1_763_600_000_000))
	}
	agents := live.Agents()
	if len(agents) == 0 {
		t.Fatal("no frozen event gives a notice")
	}
	entry := uint64(len(files) + 1)
	live.Mark(entry, &identity.InboxMarked{
		Agent: agents[0], Status: identity.ItemArchived, Through: identity.Place{Entry: entry},
	})
	walk, restored := fieldtest.New(map[string]string{
		".dirty": "the agents to save next", "inboxBox.covered": "set by a start",
	}), index.NewInbox()
	for _, agent := range agents {
		saved, head := live.Saved(agent)
		decoded, err := decodeInbox(encodeInbox(saved))
		if err != nil {
			t.Fatal(err)
		}
		restored.Restore(agent, decoded, head)
	}
	want, got := walk.Leaves(live), walk.Leaves(restored)
	if !maps.Equal(want, got) {
		t.Errorf("restored (+) differs from saved (-):\n%s", cmp.Diff(want, got))
	}
	for _, field := range walk.Unset() {
		t.Errorf("no frozen event sets %s", field)
	}
}
