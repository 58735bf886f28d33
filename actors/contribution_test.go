package actors

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pws/api"
	"pws/blobs"
	"pws/internal/datadir"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// contributors are a project with its maintainers, and an agent that contributes.
type contributors struct {
	t       *testing.T
	e       *Engine
	project id.ID

	owner, mia, eve id.ID
	// workspace, offer and revision are those of the contribution at hand.
	workspace, offer, revision id.ID
}

func newContributors(t *testing.T) *contributors {
	e, project, owner := oneProject(t, nil)
	c := &contributors{
		t: t, e: e, project: project, owner: owner,
		mia: register(t, e, "mia"), eve: register(t, e, "eve"),
	}
	c.must(owner, &work.AddMember{Agent: c.mia, Role: work.Maintainer})
	return c
}

func (c *contributors) do(
	who id.ID, command work.Command, key *api.IdempotencyKey,
) (api.Done, error) {
	return c.e.Do(api.Order{Project: c.project, Agent: who, Command: command, Idempotency: key})
}

func (c *contributors) must(who id.ID, command work.Command) work.Result {
	c.t.Helper()
	done, err := c.do(who, command, nil)
	if err != nil {
		c.t.Fatalf("%T: %v", command, err)
	}
	return done.Result
}

func (c *contributors) write(path, content string) *work.WriteWorkspaceFile {
	return &work.WriteWorkspaceFile{
		Workspace: c.workspace, Path: path, Blob: blobOf(content), ContentType: "text/plain",
	}
}

func (c *contributors) contribution() *work.Contribution {
	found, _ := viewOf(c.t, c.e, c.project).Contribution(c.offer)
	return found
}

// submit opens a workspace, writes a content to some paths and submits that.
func (c *contributors) submit(content string, paths ...string) {
	c.t.Helper()
	c.workspace = c.must(c.eve, new(work.OpenWorkspace)).Subject
	for _, path := range paths {
		c.must(c.eve, c.write(path, content+path))
	}
	c.offer = c.must(c.eve, &work.SubmitWorkspace{Workspace: c.workspace, Summary: "s"}).Subject
	c.revision = c.contribution().Current()
}

// accept is what a handler does: it plans on the published view, and again where that has moved.
func (c *contributors) accept(who id.ID, key *api.IdempotencyKey) error {
	for {
		view := viewOf(c.t, c.e, c.project)
		from, _ := view.Contribution(c.offer)
		revision, _ := view.RevisionOf(from, c.revision)
		plan, err := view.PlanAcceptance(revision, c.e.Blob, nil)
		if err != nil {
			return err
		}
		_, err = c.do(who, &work.AcceptContribution{
			Contribution: c.offer, Revision: c.revision, Plan: plan,
		}, key)
		if !work.Stale(err) {
			return err
		}
	}
}

// TestAcceptanceRaces lets two maintainers accept a revision while its author submits another one
// and the project goes on: it is published once or not at all, and a late caller gets the reason.
func TestAcceptanceRaces(t *testing.T) {
	c := newContributors(t)
	taken, late := 0, 0
	for round := range 60 {
		c.submit("first ", fmt.Sprint("new/", round))
		before := viewOf(t, c.e, c.project).ChangesetsCount()
		var all sync.WaitGroup
		errs := make([]error, 2)
		for i, who := range []id.ID{c.owner, c.mia} {
			all.Go(func() { errs[i] = c.accept(who, keyFor(fmt.Sprint(round, who), "accept")) })
		}
		all.Go(func() {
			command := c.write(fmt.Sprint("new/", round), "second")
			if _, err := c.do(c.eve, command, nil); err != nil &&
				fault.CodeOf(err) != fault.WorkspaceClosed {
				t.Error(err)
			}
			_, err := c.do(c.eve, &work.SubmitWorkspace{Workspace: c.workspace, Summary: "t"}, nil)
			if code := fault.CodeOf(err); err != nil && code != fault.WorkspaceClosed {
				t.Error(err)
			}
		})
		all.Go(func() {
			if _, err := put(c.e, c.project, c.owner, "other", fmt.Sprint(round)); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
		won := 0
		for _, err := range errs {
			switch fault.CodeOf(err) {
			case "":
				won++
			case fault.ContributionClosed:
			case fault.RevisionSuperseded:
				late++
			default:
				t.Fatal(err)
			}
		}
		taken += won
		c.checkRound(round, before, won)
	}
	if taken == 0 {
		t.Error("nothing was ever accepted")
	}
	t.Logf("%d accepted, %d too late", taken, late)
	checkOwned(t, "after the races", c.e, viewOf(t, c.e, c.project))
	want := fullState(t, c.e)
	again := start(t, quiet(crashCopy(t, c.e.config.Dir)))
	sameState(t, "after a kill", want, fullState(t, again))
}

func (c *contributors) checkRound(round, before, won int) {
	c.t.Helper()
	view := viewOf(c.t, c.e, c.project)
	if came := view.ChangesetsCount() - before; won > 1 || came != won+1 {
		c.t.Fatalf("round %d: %d accepted, %d changesets", round, won, came)
	}
	path := fmt.Sprint("new/", round)
	content, exists, err := contentOf(c.e, view, path)
	if err != nil || exists != (won == 1) || exists && content != "first "+path {
		c.t.Fatalf("round %d: %d accepted, and the file is %q: %v", round, won, content, err)
	}
	if status := c.contribution().Status; (status == work.AcceptedStatus) != (won == 1) {
		c.t.Fatalf("round %d: %d accepted, and it is %s", round, won, status)
	}
	if won == 0 {
		c.must(c.owner, &work.RejectContribution{Contribution: c.offer, Reason: "late"})
	}
	// What was written too late goes on; it is not needed here.
	if w, _ := view.Workspace(c.workspace); won == 1 && w.Status != work.WorkspaceDone {
		if w.Contribution.IsZero() {
			c.must(c.eve, &work.SubmitWorkspace{Workspace: w.ID, Summary: "more"})
			w, _ = viewOf(c.t, c.e, c.project).Workspace(w.ID)
		}
		c.must(c.owner, &work.RejectContribution{Contribution: w.Contribution, Reason: "late"})
	}
}

// TestRefusalStoresEventsAndFreesTheKey accepts what contradicts the project: the caller is
// refused, what the refusal notes is durable, and the key is free for another try.
func TestRefusalStoresEventsAndFreesTheKey(t *testing.T) {
	c := newContributors(t)
	mustPut(t, c.e, c.project, c.owner, "a", "1\n")
	c.submit("ours ", "a")
	mustPut(t, c.e, c.project, c.owner, "a", "theirs\n")
	key := keyFor("key", "accept")
	for range 2 {
		if err := c.accept(c.mia, key); fault.CodeOf(err) != fault.ContributionConflict {
			t.Fatalf("accepted in conflict: %v", err)
		}
	}
	if version := c.contribution().Version; version != 2 {
		t.Errorf("the same conflict was noted anew: version %d", version)
	}
	want := fullState(t, c.e)
	dir := crashCopy(t, c.e.config.Dir)
	mustVerify(t, dir)
	stop(t, c.e)
	c.e = start(t, quiet(dir))
	sameState(t, "after a kill", want, fullState(t, c.e))
	noted := c.contribution()
	if noted.Status != work.ConflictStatus || len(noted.Conflicts) != 1 {
		t.Fatalf("after a kill it is %+v", noted)
	}
	marked, err := c.e.Blob(noted.Conflicts[0].Marked)
	if err != nil || len(marked) != noted.Conflicts[0].MarkedSize {
		t.Fatalf("the text with markers is %q: %v", marked, err)
	}
	mustPut(t, c.e, c.project, c.owner, "a", "1\n")
	if err := c.accept(c.mia, key); err != nil {
		t.Fatal(err)
	}
	done, err := c.do(c.mia, &work.AcceptContribution{
		Contribution: c.offer, Revision: c.revision,
	}, key)
	if err != nil || !done.Replayed || done.Result.Changeset != c.contribution().Changeset {
		t.Fatalf("a repeat of the try that went well: %+v %v", done.Result, err)
	}
	saveAll(t, c.e)
	saved := crashCopy(t, dir)
	if report := mustVerify(t, saved); report.Projects != 1 {
		t.Errorf("verified %+v", report)
	}
	want = fullState(t, c.e)
	sameState(t, "from a snapshot", want, fullState(t, start(t, quiet(saved))))
}

// What a revision alone names is looked up, and so are the texts of conflicts and all agents.
func TestVerifyFindsMissingPartsOfContributions(t *testing.T) {
	c := newContributors(t)
	mustPut(t, c.e, c.project, c.owner, "a", "base")
	c.submit("ours ", "a", "b", "c", "d")
	for _, path := range []string{"a", "b", "c", "d"} {
		c.must(c.eve, c.write(path, "later"))
	}
	mustPut(t, c.e, c.project, c.owner, "a", "theirs")
	if err := c.accept(c.mia, nil); fault.CodeOf(err) != fault.ContributionConflict {
		t.Fatalf("accepted in conflict: %v", err)
	}
	saveAll(t, c.e)
	dir := crashCopy(t, c.e.config.Dir)
	mustVerify(t, dir)
	dropped := crashCopy(t, dir)
	dropBlobs(t, dropped, func(h blobs.Hash) bool {
		return slices.Contains([]blobs.Hash{
			blobs.Hash(blobOf("base").Hash), blobs.Hash(blobOf("theirs").Hash),
			blobs.Hash(blobOf("later").Hash),
		}, h)
	})
	wantFaults(t, dropped, "5 faults", "is missing", c.offer.Format(id.Contribution), `of "d"`,
		fmt.Sprintf("%x", blobOf("ours d").Hash),
		fmt.Sprintf("%x", c.contribution().Conflicts[0].Marked))
	stranger := id.New(c.e.Now(), [10]byte{7})
	reviewed := datadir.Entry{
		Target: datadir.TargetProject, ID: c.project, Now: 1 << 47, Agent: stranger,
		Events: eventOf(t, &work.ContributionReviewed{
			Contribution: c.offer, ID: stranger, Revision: c.revision, Verdict: work.VerdictApprove,
		}),
	}
	tail := crashCopy(t, dir)
	logged(t, tail, reviewed.Encode())
	wantFaults(t, tail, "reviewer "+stranger.Format(id.Agent)+" does not exist")
	reviewed.Agent = c.mia
	tail = crashCopy(t, dir)
	logged(t, tail, reviewed.Encode())
	mustVerify(t, tail)
}
