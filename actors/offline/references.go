package offline

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"pws/blobs"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/journal"
	"pws/snapshot"
	"pws/work"
)

// contentKey is a stored content in 20 bytes: half of a SHA-256 identifies a content just as well.
type contentKey struct {
	prefix [16]byte
	size   uint32
}

// contentSet is a sorted list instead of a map, because a directory may hold very many contents.
type contentSet struct {
	keys   []contentKey
	sorted bool
}

func (s *contentSet) add(hash blobs.Hash, size int64) {
	s.keys = append(s.keys, contentKey{prefix: [16]byte(hash[:16]), size: uint32(size)})
	s.sorted = false
}

func (s *contentSet) find(hash work.Hash) (size uint32, ok bool) {
	if !s.sorted {
		slices.SortFunc(s.keys, func(a, b contentKey) int {
			return bytes.Compare(a.prefix[:], b.prefix[:])
		})
		s.sorted = true
	}
	at, ok := slices.BinarySearchFunc(s.keys, hash, func(k contentKey, h work.Hash) int {
		return bytes.Compare(k.prefix[:], h[:16])
	})
	if !ok {
		return 0, false
	}
	return s.keys[at].size, true
}

// references looks up what the states of a data directory name, one project after the other.
type references struct {
	*verifier
	states Rebuilder
	saved  *snapshot.Store
	inbox  *index.Inbox
	// cards says that all saved projects have complete cards; cardsOf compares them.
	cards   bool
	cardsOf *index.Projections
	// behind has the projects with entries behind the snapshot that were not checked yet.
	behind map[id.ID]bool
	// agents is false where identity cannot be rebuilt.
	agents bool

	checkedTrees checkedTrees
	// items are the inbox items of all agents, by project; full are the agents who may have lost
	// some of them, and ofDay is how many items there are for each count.
	items map[id.ID][]itemCheck
	full  map[id.ID]bool
	ofDay map[dayCheck]int
}

// checkStates rebuilds identity and every project and looks up all that they name.
func (v *verifier) checkStates() error {
	view, err := openLinked(filepath.Join(v.dir, datadir.SnapshotName))
	if errors.Is(err, snapshot.ErrCorrupt) {
		// The place is known from the check of the snapshot; the path here is of a link.
		v.damage.addf("references were not checked, because the snapshot cannot be read")
		return nil
	}
	if err != nil {
		return err
	}
	r := &references{
		verifier: v, saved: view.Store, cardsOf: index.NewProjections(), behind: map[id.ID]bool{},
	}
	r.checkedTrees.init(filepath.Join(v.dir, datadir.BlobsName))
	r.states = v.rebuilder(view.Store, r.checkedTrees.content)
	err = r.run()
	return errors.Join(err, view.close(), r.checkedTrees.close())
}

func (r *references) run() error {
	r.restoreAgents()
	var err error
	if r.cards, err = r.states.CardsSaved(); err != nil && !errors.Is(err, snapshot.ErrCorrupt) {
		r.damage.add(err)
	}
	inboxes := datadir.Guarded(func() (err error) {
		r.inbox, err = r.states.RestoreInboxes()
		return err
	})
	if inboxes != nil && !errors.Is(inboxes, snapshot.ErrCorrupt) {
		r.damage.add(inboxes)
	}
	accounts := datadir.Guarded(r.states.RestoreAccounts)
	if accounts != nil && !errors.Is(accounts, snapshot.ErrCorrupt) {
		r.damage.add(accounts)
	}
	if err := r.readTail(); err != nil {
		return err
	}
	if inboxes == nil {
		r.collectInbox()
	}
	r.saved.Keys(datadir.ProjectPrefix, func(key string, position uint64) bool {
		if !datadir.IsChunk(key) {
			r.checkProject(datadir.IDOf(key), position)
		}
		return true
	})
	r.checkCards()
	made := slices.SortedFunc(maps.Keys(r.behind), id.ID.Compare)
	for _, project := range made {
		r.checkProject(project, 0)
	}
	r.checkSources(made)
	r.checkOrphans()
	if r.agents {
		r.report.Agents = r.states.Identity().Counts().Agents
	}
	return nil
}

// restoreAgents reads the saved state of identity. Sections that do not check are known already.
func (r *references) restoreAgents() {
	var position uint64
	err := datadir.Guarded(func() (err error) {
		position, err = r.states.RestoreIdentity()
		return err
	})
	r.agents = err == nil
	if err != nil && !errors.Is(err, snapshot.ErrCorrupt) {
		r.damage.addf("identity: %w", err)
	}
	if r.agents {
		r.checkSection("identity", position)
	}
}

// readTail goes through the entries behind the snapshot: identity is changed at once, the entries
// of projects are kept without contents for when their project's turn comes.
func (r *references) readTail() error {
	dir := filepath.Join(r.dir, datadir.LogName)
	return journal.Read(dir, r.report.Snapshot.Position+1, func(position uint64, data []byte) error {
		r.report.Tail++
		decoded, err := datadir.DecodeEntry(data)
		if err != nil {
			r.damage.addf("%s: entry %d: %w", dir, position, err)
			return nil
		}
		for _, blob := range decoded.Blobs {
			if sha256.Sum256(blob.Content) != blob.Hash {
				r.damage.addf("%s: entry %d: a content does not match its hash %x",
					dir, position, blob.Hash)
				continue
			}
			r.contents.add(blob.Hash, int64(len(blob.Content)))
			r.checkedTrees.keep(blob)
		}
		if decoded.Target == datadir.TargetContents {
			return nil
		}
		decoded.Blobs = nil
		kept, err := datadir.DecodeEntry(decoded.Encode())
		if err != nil {
			return err
		}
		if err := r.states.Keep(position, &kept); err != nil {
			r.damage.addf("%s: entry %d: %w", dir, position, err)
		}
		if kept.Target == datadir.TargetProject {
			r.behind[kept.ID] = true
			return nil
		}
		if r.agents {
			err := datadir.Guarded(func() error { return r.states.ApplyIdentity(position, &kept) })
			if err != nil {
				r.damage.addf("%s: entry %d: %w", dir, position, err)
				r.agents = false
			}
		}
		return nil
	})
}

// checkSection finds a section that contains an entry which the log has lost.
func (r *references) checkSection(of string, position uint64) {
	if position > r.report.Log.Last {
		r.damage.addf("%s: saved with entry %d, and the log ends with %d",
			of, position, r.report.Log.Last)
	}
}

// checkProject rebuilds one project, checks it, and forgets it. saved is the position of its
// section, 0 where it has none.
func (r *references) checkProject(project id.ID, saved uint64) {
	behind := r.behind[project]
	delete(r.behind, project)
	name := "project " + project.Format(id.Project)
	state, err := r.rebuild(name, project, saved, behind)
	if err != nil {
		if !errors.Is(err, snapshot.ErrCorrupt) {
			r.damage.addf("%s: %w", name, err)
		}
		return
	}
	r.report.Projects++
	if state.Removed() {
		// What it names may have left the disk, and nobody can read it.
		delete(r.items, project)
		return
	}
	state.Tasks(id.ID{}, work.AsStored, func(task *work.Task) bool {
		r.report.Tasks++
		if !task.Status.Final() {
			r.report.Unfinished++
		}
		return true
	})
	missing := map[id.ID]bool{}
	r.checkAgent(name, "owner", state.Owner, missing)
	members := state.Members()
	if end := state.End(); end != nil {
		members = end.Members
	}
	for _, member := range members {
		r.checkAgent(name, "member", member.Agent, missing)
		r.checkAgent(name, "member added by", member.AddedBy, missing)
	}
	dangling := map[work.Hash]bool{}
	r.checkRecords(name, state, missing, dangling)
	r.checkTalk(name, state, missing)
	known := r.checkFork(name, state, missing)
	for changeset := range state.AllChangesets(true) {
		r.report.Changesets++
		r.checkAgent(name, "author", changeset.Author, missing)
		if changeset.Sequence == 1 && known {
			r.report.Operations += uint64(changeset.OpCount)
			continue
		}
		for i := range changeset.Ops {
			r.report.Operations++
			r.checkContent(name, changeset, &changeset.Ops[i], dangling)
		}
	}
	r.checkWorkspaces(name, state, missing, dangling)
	r.checkContributions(name, state, missing, dangling)
	r.checkInbox(name, state, missing)
}

// rebuild does for one project what a start does.
func (r *references) rebuild(
	name string, project id.ID, saved uint64, behind bool,
) (state *work.Project, err error) {
	if saved > 0 {
		r.checkSection(name, saved)
	}
	err = datadir.Guarded(func() (err error) {
		state, err = r.states.Project(project, saved > 0)
		return err
	})
	if err == nil && saved > 0 && !behind && state != nil && (!state.Removed() || state.Erased()) {
		r.checkSavedCard(name, state)
	}
	switch {
	case err != nil:
		return nil, err
	case state == nil:
		return nil, errors.New("its section was saved with entry 0, which does not exist")
	case state.ID != project:
		return nil, errors.New("it has no beginning: there is no section, and the log behind the " +
			"snapshot does not create it")
	}
	return state, nil
}

func (r *references) checkAgent(name, role string, agent id.ID, missing map[id.ID]bool) {
	if !r.agents || missing[agent] {
		return
	}
	if _, known := r.states.Identity().Agent(agent); !known {
		missing[agent] = true
		r.damage.addf("%s: %s %s does not exist", name, role, agent.Format(id.Agent))
	}
}

func (r *references) checkContent(
	name string, c *work.Changeset, op *work.Op, dangling map[work.Hash]bool,
) {
	if op.Action == work.Delete {
		return
	}
	of := func() string { return name + ": changeset " + c.ID.Format(id.Changeset) }
	r.checkBlob(of, *op.Path, op.Blob, int(op.Size), dangling)
}

// checkWorkspaces looks up what the workspaces of a project name.
func (r *references) checkWorkspaces(
	name string, state *work.Project, missing map[id.ID]bool, dangling map[work.Hash]bool,
) {
	state.Workspaces(func(w *work.Workspace) bool {
		of := func() string { return name + ": workspace " + w.ID.Format(id.Workspace) }
		r.checkAgent(name, "author of a workspace", w.Agent, missing)
		w.Contents(func(path string, blob work.Hash, size int) {
			r.checkBlob(of, path, blob, size, dangling)
		})
		return true
	})
}

// checkContributions looks up what the contributions of a project name.
func (r *references) checkContributions(
	name string, state *work.Project, missing map[id.ID]bool, dangling map[work.Hash]bool,
) {
	state.Contributions(id.ID{}, func(c *work.Contribution) bool {
		of := func() string { return name + ": contribution " + c.ID.Format(id.Contribution) }
		check := func(path string, blob work.Hash, size int) {
			r.checkBlob(of, path, blob, size, dangling)
		}
		c.Contents(check)
		for _, revision := range state.RevisionsOf(c) {
			revision.Contents(check)
		}
		r.checkAgent(name, "author of a contribution", c.Author, missing)
		r.checkDeletion(name, c.Deleted, missing)
		for _, review := range c.Reviews {
			r.checkAgent(name, "reviewer", review.Author, missing)
			r.checkDeletion(name, review.Deleted, missing)
		}
		if c.Status.Final() {
			r.checkAgent(name, "decider on a contribution", c.DecidedBy, missing)
		}
		return true
	})
}

// checkBlob looks up a content that something names; of says what that is.
func (r *references) checkBlob(
	of func() string, path string, blob work.Hash, size int, dangling map[work.Hash]bool,
) {
	r.report.Contents++
	found, ok := r.contents.find(blob)
	if (ok && int(found) == size) || dangling[blob] ||
		!ok && r.agents && r.states.Identity().Purged(blob) {
		return
	}
	dangling[blob] = true
	what := "is missing"
	if ok {
		what = fmt.Sprintf("has %d bytes instead of %d", found, size)
	}
	r.damage.addf("%s: the content %x of %q %s", of(), blob, path, what)
}
