package work_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// contributions gives random commands to a project, its workspaces and their contributions.
type contributions struct {
	*workspaces
	// sent are the revisions as they were submitted: the tree of their base, and what their workspace
	// showed.
	sent map[id.ID]sentRevision
	// done counts what came of the tries to accept.
	accepted, conflicted, kept, rebased int
}

type sentRevision struct{ base, view side }

func (r *contributions) treeAt(changeset id.ID) side {
	tree := side{}
	c, _ := r.project.Changeset(changeset)
	r.project.FilesAt(c, "", func(f work.FileInfo) bool {
		tree[f.Path] = string(r.blobs[f.Blob])
		return true
	})
	return tree
}

// submit gives a workspace away, and checks the outcome.
func (r *contributions) submit(space *work.Workspace) {
	r.t.Helper()
	base, view := r.treeAt(space.Base), maps.Clone(r.views[space.ID])
	c, again := r.project.Contribution(space.Contribution)
	var same bool
	if again {
		last := r.project.CurrentRevision(c)
		same = last.Base == space.Base && r.sent[last.ID].view.equal(view)
	}
	decision, err := r.do(space.Agent, &work.SubmitWorkspace{
		Workspace: space.ID, Summary: fmt.Sprint("submission ", len(r.sent)),
	})
	fits := false
	switch code := fault.CodeOf(err); code {
	case "":
		fits = len(space.Conflicts) == 0 && !space.Status.Final() && !view.equal(base)
		made, _ := r.project.Contribution(decision.Result.Subject)
		r.sent[made.Current()] = sentRevision{base, view}
	case fault.ContributionConflict:
		fits = len(space.Conflicts) > 0 || same && c.Status == work.ConflictStatus
	case fault.ApprovalPending:
		fits = same
	case fault.NothingToSubmit:
		fits = view.equal(base)
	case fault.WorkspaceClosed:
		fits = space.Status.Final()
	}
	if !fits {
		r.t.Fatalf("submitted: %v\nbase %v\nview %v\n%+v", err, base, view, space)
	}
}

// accept takes a contribution over, and checks the outcome.
func (r *contributions) accept(c *work.Contribution) {
	r.t.Helper()
	revision := r.project.CurrentRevision(c)
	sent, theirs := r.sent[revision.ID], r.tree()
	head := r.project.Head().ID
	renames := head != revision.Base &&
		r.anyRenames(&work.Workspace{Base: revision.Base, Files: revision.Files})
	foreseen, refusal := r.project.Acceptance(revision, r.acceptance(c.ID))
	decision, err := r.do(r.project.Owner, &work.AcceptContribution{
		Contribution: c.ID, Revision: revision.ID, Plan: r.acceptance(c.ID),
	})
	after, _ := r.project.Contribution(c.ID)
	r.checkForeseen(foreseen, refusal, after, err)
	result := r.tree()
	if !renames {
		r.checkMerge(sent, theirs, result, fault.CodeOf(err))
	}
	space, _ := r.project.Workspace(c.Workspace)
	switch code := fault.CodeOf(err); code {
	case "":
		r.accepted++
		made, _ := r.project.Changeset(decision.Result.Changeset)
		if after.Status != work.AcceptedStatus || made.Author != c.Author ||
			after.Changeset != made.ID || made.SourceID != c.ID {
			r.t.Fatalf("accepted: %+v %+v", after, made)
		}
		if head == revision.Base && !result.equal(sent.view) {
			r.t.Fatalf("published is %v, want %v", result, sent.view)
		}
		if space.Status == work.WorkspaceDone {
			r.views[space.ID] = result
		} else if r.kept++; space.Status != work.WorkspaceOpen || !space.Contribution.IsZero() {
			r.t.Fatalf("a workspace that goes on is %+v", space)
		}
		if space.Base == made.ID {
			r.rebased++
			r.views[space.ID] = follow(r.views[space.ID], sent.view, result)
		}
	case fault.ContributionConflict:
		r.conflicted++
		if after.Status != work.ConflictStatus || space.Status != work.WorkspaceConflict &&
			c.Status != work.ConflictStatus || len(after.Conflicts) == 0 || !result.equal(theirs) {
			r.t.Fatalf("in conflict: %+v %+v", after, space)
		}
	case fault.NothingToSubmit:
		if !result.equal(theirs) || after.Status != c.Status {
			r.t.Fatalf("nothing to submit: %+v", after)
		}
	default:
		r.t.Fatal(err)
	}
}

// follow is what a workspace shows that was moved onto the changeset of its revision: the changeset
// where nothing was written since.
func follow(view, sent, published side) side {
	next := maps.Clone(published)
	for _, path := range paths {
		if at, exists := view[path]; at != sent[path] {
			if next[path] = at; !exists {
				delete(next, path)
			}
		}
	}
	return next
}

// checkForeseen compares what Acceptance has said with what came of it.
func (r *contributions) checkForeseen(
	foreseen []work.Conflict, refusal error, after *work.Contribution, err error,
) {
	r.t.Helper()
	want := fault.CodeOf(refusal)
	if len(foreseen) > 0 {
		want = fault.ContributionConflict
	}
	if got := fault.CodeOf(err); got != want ||
		len(foreseen) > 0 && !slices.Equal(foreseen, after.Conflicts) {
		r.t.Fatalf("foreseen %v %v, but %v %v", foreseen, refusal, after.Conflicts, err)
	}
}

// checkMerge compares the merge of a revision without renames with that of each path
// alone.
func (r *contributions) checkMerge(sent sentRevision, theirs, result side, code fault.Code) {
	r.t.Helper()
	disputed := false
	for _, path := range paths {
		want, clean := joined(sent.base, sent.view, theirs, path)
		if !clean {
			disputed = true
			continue
		}
		if got, exists := result[path]; code == "" &&
			(exists != (want != nil) || exists && got != *want) {
			r.t.Fatalf("%s: %q, want %v\nbase %v\nours %v\ntheirs %v", path, got, want, sent.base,
				sent.view, theirs)
		}
	}
	if disputed && code != fault.ContributionConflict {
		r.t.Fatalf("it came out as %q\nbase %v\nours %v\ntheirs %v", code, sent.base, sent.view,
			theirs)
	}
}

// settle reviews, rejects or withdraws.
func (r *contributions) settle(c *work.Contribution) {
	r.t.Helper()
	who, command := r.project.Owner, work.Command(&work.RejectContribution{Contribution: c.ID})
	switch r.draw(8) {
	case 0:
	case 1:
		who, command = c.Author, &work.WithdrawContribution{Contribution: c.ID}
	default:
		command = &work.ReviewContribution{
			Contribution: c.ID, Revision: c.Current(), Verdict: work.Verdict(1 + r.draw(3)),
			Body: r.draw.text(),
		}
	}
	if _, err := r.do(who, command); err != nil {
		r.t.Fatal(err)
	}
}

// compare looks at everything that was ever submitted: each revision still does what it did.
func (r *contributions) compare() {
	r.t.Helper()
	pending, changesets := 0, map[id.ID]uint32{}
	r.project.Contributions(id.ID{}, func(c *work.Contribution) bool {
		if !c.Status.Final() {
			pending++
		}
		for i, revision := range r.project.RevisionsOf(c) {
			sent := r.sent[revision.ID]
			if got := r.apply(sent.base, revision); !got.equal(sent.view) || revision.Number != i+1 {
				r.t.Fatalf("revision %d makes %v, want %v", revision.Number, got, sent.view)
			}
		}
		return true
	})
	if got := r.project.PendingContributions(); got != pending {
		r.t.Fatalf("%d contributions are pending, want %d", got, pending)
	}
	for n := range r.project.ChangesetsCount() {
		changesets[r.project.ChangesetNumber(uint32(n+1)).Author]++
	}
	for _, one := range r.project.TopAuthors(9) {
		if one.Changesets != changesets[one.Agent] {
			r.t.Fatalf("the authors are %v, want %v", one, changesets)
		}
	}
}

// apply is what the operations of a revision make of its base.
func (r *contributions) apply(base side, revision *work.Revision) side {
	tree := maps.Clone(base)
	for _, op := range r.project.RevisionOperations(revision) {
		from := op.Path
		if op.Action == work.Rename {
			from = op.From
		}
		if string(r.blobs[op.Before]) != tree[from] {
			r.t.Fatalf("%v replaces %q, and there was %q", op, r.blobs[op.Before], tree[from])
		}
		delete(tree, from)
		if op.Action != work.Delete {
			tree[op.Path] = string(r.blobs[op.Blob])
		}
	}
	return tree
}

// step is one of what agents do about contributions.
func (r *contributions) step(who id.ID) {
	r.t.Helper()
	space := r.openSpace(who)
	for range r.draw(5) {
		space, _ = r.project.Workspace(space.ID)
		r.edit(space)
	}
	if r.draw(2) == 0 {
		r.others()
	}
	if space, _ = r.project.Workspace(space.ID); r.draw(3) == 0 {
		r.refresh(space, func(plan *work.MergePlan) work.Command {
			return &work.RefreshWorkspace{Workspace: space.ID, Plan: plan}
		})
		if space, _ = r.project.Workspace(space.ID); r.draw(3) > 0 {
			r.resolve(space)
		}
	}
	space, _ = r.project.Workspace(space.ID)
	r.submit(space)
	space, _ = r.project.Workspace(space.ID)
	c, ok := r.project.Contribution(space.Contribution)
	if !ok {
		return
	}
	if r.draw(3) == 0 {
		r.edit(space)
	}
	if r.draw(3) == 0 {
		r.others()
	}
	if r.draw(2) == 0 {
		r.settle(c)
	}
	if c, _ = r.project.Contribution(c.ID); !c.Status.Final() {
		r.accept(c)
	}
}

// openSpace is the workspace of an agent that goes on, or a new one.
func (r *contributions) openSpace(who id.ID) (open *work.Workspace) {
	r.project.Workspaces(func(w *work.Workspace) bool {
		if w.Agent == who && !w.Status.Final() {
			open = w
		}
		return open == nil
	})
	if open == nil {
		decision, err := r.do(who, new(work.OpenWorkspace))
		if err != nil {
			r.t.Fatal(err)
		}
		open, _ = r.project.Workspace(decision.Result.Subject)
		r.views[open.ID] = r.tree()
	}
	return open
}

// TestRandomContributions lets agents submit what they have changed while the project goes on: a
// revision stays what it was, what is published is the merge of it, and what contradicts is not.
func TestRandomContributions(t *testing.T) {
	accepted, conflicted, kept, rebased := 0, 0, 0, 0
	for range rounds {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := &contributions{
				workspaces: newWorkspaces(t, seed, work.Standard), sent: map[id.ID]sentRevision{},
			}
			old, oldLog := mustSave(t, r.project), len(r.log)
			for range 12 {
				r.step(agent([]string{"eve", "bob"}[r.draw(2)]))
				r.compare()
				r.check(old, oldLog)
				if r.draw(4) == 0 {
					old, oldLog = mustSave(t, r.project), len(r.log)
				}
			}
			accepted, conflicted = accepted+r.accepted, conflicted+r.conflicted
			kept, rebased = kept+r.kept, rebased+r.rebased
		})
	}
	if accepted == 0 || conflicted == 0 || rebased == 0 {
		t.Errorf("too few cases: %d accepted, %d in conflict, %d with an open workspace, %d moved",
			accepted, conflicted, kept, rebased)
	}
}

// communityWithContribution is a community project that ann made from a bundle with a contribution
// that is not decided. The contribution changes a.txt.
func communityWithContribution(t *testing.T) (*world, *work.Contribution) {
	t.Helper()
	w := newWorld()
	begun, changed := []byte("one\n"), []byte("two\n")
	first, sent := work.Hash(sha256.Sum256(begun)), work.Hash(sha256.Sum256(changed))
	op := func(action work.Action, blob work.Hash) []work.BundledOp {
		return []work.BundledOp{{OpRecord: work.OpRecord{
			Action: action, Path: "a.txt", Blob: blob, Size: 4, Type: "text/plain",
		}}}
	}
	w.must(t, &work.ImportProject{
		ID: agent("project"), Kind: work.Community, Source: agent("source"),
		About: work.About{
			Name: "n", Visibility: work.Public, Reuse: work.AllowReuse, Status: work.Active,
		},
		Imported: work.Imported{Whole: true},
		Contents: map[work.Hash][]byte{first: begun, sent: changed},
		History:  []work.BundledChangeset{{ID: agent("c"), Ops: op(work.Create, first)}},
		Files:    []work.BundledFile{{Path: "a.txt", Blob: first, Type: "text/plain"}},
		Contributions: []work.BundledContribution{{
			Record: work.Contribution{
				ID: agent("ctr"), Status: work.SubmittedStatus, Revisions: []id.ID{agent("rev")},
			},
			Revisions: []work.BundledRevision{{
				Record: work.Revision{ID: agent("rev"), Number: 1, Base: agent("c"), Summary: "s"},
				Ops:    op(work.Modify, sent),
			}},
		}},
	})
	var made *work.Contribution
	w.project.Contributions(id.ID{}, func(c *work.Contribution) bool {
		made = c
		return false
	})
	if made == nil {
		t.Fatal("no contribution was imported")
	}
	return w, made
}

// TestATurnHoldsUpOnlyAcceptance decides a contribution to a community project while another agent
// holds the turn. Only its acceptance would write files.
func TestATurnHoldsUpOnlyAcceptance(t *testing.T) {
	for _, command := range []struct {
		name string
		by   string
		make func(c *work.Contribution) work.Command
		want fault.Code
	}{
		{"review", "eve", func(c *work.Contribution) work.Command {
			return &work.ReviewContribution{
				Contribution: c.ID, Revision: c.Current(), Verdict: work.VerdictComment, Body: "b",
			}
		}, ""},
		{"accept", "ann", func(c *work.Contribution) work.Command {
			return &work.AcceptContribution{Contribution: c.ID, Revision: c.Current()}
		}, fault.TurnHeld},
		{"reject", "ann", func(c *work.Contribution) work.Command {
			return &work.RejectContribution{Contribution: c.ID}
		}, ""},
		{"withdraw", "ann", func(c *work.Contribution) work.Command {
			return &work.WithdrawContribution{Contribution: c.ID}
		}, ""},
	} {
		w, c := communityWithContribution(t)
		if _, err := w.do(agent("bob"), &work.TakeTurn{}); err != nil {
			t.Fatal(err)
		}
		_, err := w.do(agent(command.by), command.make(c))
		if got := fault.CodeOf(err); got != command.want {
			t.Errorf("%s: %q, want %q", command.name, got, command.want)
		}
		if command.want == "" {
			continue
		}
		w.now += work.TurnSeconds * 1000
		if _, err := w.do(agent(command.by), command.make(c)); err != nil {
			t.Errorf("%s after the turn: %v", command.name, err)
		}
	}
}
