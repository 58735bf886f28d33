package index

import (
	"crypto/sha256"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/disk"
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
		"workspaces": work.WorkspaceChunk, "states": work.StateChunk,
		"past": work.PastChunk,
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
		saved := map[string][]byte{}
		chunks, contents := map[work.Chunk][]byte{}, map[work.Hash][]byte{}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".cbor")
			if saved[file], err = os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
			chunks[work.Chunk{Kind: kinds[name]}] = saved[file]
			contents[sha256.Sum256(saved[file])] = saved[file]
		}
		for _, visibility := range []work.Visibility{work.Public, work.Private} {
			p, err := work.Restore(saved[head], func(c work.Chunk) ([]byte, error) {
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

// restoredLinks returns everything in the index for a project.
func restoredLinks(l *Links, project id.ID) (all ProjectLinks) {
	if counted := l.mu.counted[project]; counted != nil {
		all.Audience = counted.Audience
	}
	l.mu.order.Scan(func(place linkPlace) bool {
		if place.source != project {
			return true
		}
		link := LinkCount{Link: place.Link, Times: 1}
		if counted := l.mu.counted[project]; counted != nil {
			for _, one := range counted.Links {
				if one.Link == place.Link {
					link.Times = one.Times
				}
			}
		}
		all.Links = append(all.Links, link)
		return true
	})
	return all
}

// restoredEvidence returns all evidence in the index for a project.
func restoredEvidence(p *Profiles, project id.ID) map[Evidence]bool {
	all := map[Evidence]bool{}
	for agent, list := range p.mu.agents {
		list.all(func(one *proof) {
			if one.project == project {
				all[Evidence{agent, one.trait.Value(), int(one.count), one.at}] = true
			}
		})
	}
	return all
}

// TestCardsKeepEveryField restores the cards of frozen projects and compares all fields with the
// state. It fails for fields that no frozen project sets.
func TestCardsKeepEveryField(t *testing.T) {
	walk := fieldtest.New(nil)
	same := func(part string, want, got any) {
		t.Helper()
		if want, got := walk.Leaves(want), walk.Leaves(got); !maps.Equal(want, got) {
			t.Errorf("%s: restored (+) differs from saved (-):\n%s", part, cmp.Diff(want, got))
		}
	}
	for _, p := range frozenProjects(t) {
		of := NewProjections()
		if err := of.Restore(All, p.ID, of.EncodeCard(p)); err != nil {
			t.Fatal(err)
		}
		same("tasks", TasksOf(p), of.Tasks.Get(p.ID))
		same("links", LinksOf(p), restoredLinks(of.Links, p.ID))
		evidence := map[Evidence]bool{}
		for _, one := range EvidenceOf(p) {
			evidence[one] = true
		}
		if got := restoredEvidence(of.Profiles, p.ID); !maps.Equal(got, evidence) {
			t.Errorf("evidence is restored as %v, want %v", got, evidence)
		}
		p.Watchers(func(one work.Watcher) bool {
			same("watchers", []Watched{{p.ID, one.Since}}, of.Watches.Of(one.Agent))
			return true
		})
		p.Workspaces(func(one *work.Workspace) bool {
			own := OwnWorkspace{one.ID, p.ID}
			if got := of.Workspaces.Of(one.Agent); !slices.Contains(got, own) {
				t.Errorf("workspaces are restored as %v without %v", got, own)
			}
			return true
		})
		p.ClaimedTasks(work.AsStored, func(task *work.Task) bool {
			own := OwnClaim{task.ID, p.ID, task.Claim.ExpiresAt}
			got := of.Claims.Of(task.Claim.Agent, own.Until-1)
			if !slices.Contains(got, own) {
				t.Errorf("claims are restored as %v without %v", got, own)
			}
			same("claims", own, got[slices.Index(got, own)])
			return true
		})
		for _, member := range p.Members() {
			filter := &MembershipFilter{
				Role: member.Role, Visibility: p.Visibility, Status: p.Status,
				Name: FoldName(p.Name),
			}
			want := []Position{{p.UpdatedAt, p.ID}}
			same("members", want, of.Memberships.Of(member.Agent, filter, Position{}, 2))
		}
		// No frozen contribution waits for a review.
		card := &Card{Project: p.ID, Visibility: p.Visibility, Members: membersOf(p)}
		reviews := ProjectReviews{
			Public: p.Visibility == work.Public, Members: card.Members,
			Entries: []ReviewEntry{{
				Contribution: id.ID{1}, Author: id.ID{2}, Terms: MakeTerms("go"),
			}},
		}
		part := disk.NewReader(appendReviews(nil, reviews.Entries))
		if err := of.Reviews.Restore(card, &part); err != nil {
			t.Fatal(err)
		}
		same("reviews", reviews, of.Reviews.Get(p.ID))
	}
	for _, field := range walk.Unset() {
		t.Errorf("no frozen project sets %s", field)
	}
}
