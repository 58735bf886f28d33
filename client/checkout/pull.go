package checkout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pws/work/merge"
)

// plan is a pull that is being prepared.
type plan struct {
	tree   *Tree
	head   string
	local  map[string]file
	remote map[string]remoteFile
	done   Pulled
	next   base
	// effects are the changes to the directory.
	effects []effect
	// fetch are the files whose contents of the head are needed, by path.
	fetch []remoteFile
	// both are those of them that were changed here too.
	both map[string]bool
	// base are the files of the base, none if the server does not know its changeset.
	base map[string]Entry
	// ours are hashes of contents that the files here were made of, beside those of the base: what
	// lost pushes may have published.
	ours map[string][]string
	// sources are where contents of the base are read that its changeset does not have.
	sources map[string]source
	// moves are the renames of the server that changed files follow: the path before by that of now.
	// vacated are the paths before.
	moves   map[string]string
	vacated map[string]bool
	// decided are the workspaces whose submissions no later pull needs.
	decided []string
}

// Pull merges what the server has into the directory. It is called inside of Locked. What an
// interrupted pull has done that Locked has completed is a part of the result, and all of it if
// there is an error.
//
// Nothing is written if a file stands in the way of another. An earlier push whose outcome is still
// unknown is no error, because a pull does without: it is left to the next one. Where the server
// does not know the base, both sides are compared without it, and nothing is deleted.
//
// Errors: *BlockedError, those of the client and the file system.
func (t *Tree) Pull(ctx context.Context) (Pulled, error) {
	if t.unfinished != nil {
		t.notice("A push that was interrupted is not completed: " +
			strings.TrimSuffix(t.unfinished.Error(), ".") + ".")
	}
	var earlier Pulled
	if t.earlier != nil {
		earlier = *t.earlier
	}
	decisions, err := t.decisions(ctx)
	if err != nil {
		return earlier, err
	}
	head, _, err := t.remote.head(ctx)
	if err != nil {
		return earlier, err
	}
	p := &plan{
		tree: t, head: head, both: map[string]bool{}, sources: map[string]source{},
	}
	p.done = Pulled{
		Changeset: head, Written: []string{}, Deleted: []string{}, Merged: []string{},
		Conflicts: []Conflict{}, LeftOut: []LeftOut{}, Published: append([]string{}, t.completed...),
	}
	if head == t.base.Changeset {
		p.done.include(earlier)
		return p.done, nil
	}
	if err := p.prepare(ctx, decisions); err != nil {
		return earlier, err
	}
	p.done.include(earlier)
	err = t.writeOrder(journalFile, journal{
		Effects: p.effects, Next: p.next, Decided: p.decided, Done: p.done,
	})
	if err != nil {
		return earlier, err
	}
	done, err := t.complete()
	if err != nil {
		return earlier, err
	}
	return *done, nil
}

// prepare decides what becomes of each file, and stages the contents.
func (p *plan) prepare(ctx context.Context, decisions map[string]decision) (err error) {
	t := p.tree
	if err := t.resolved("Nothing was pulled", "the conflict markers, then pull"); err != nil {
		return err
	}
	if p.remote, err = t.remote.tree(ctx, p.head, t.prefix); err != nil {
		return err
	}
	if p.local, _, err = t.scan(p.remote); err != nil {
		return err
	}
	if err := p.findBase(ctx); err != nil {
		return err
	}
	if p.base != nil {
		if err := p.takeAccepted(ctx, decisions); err != nil {
			return err
		}
	}
	p.decide()
	if err := p.check(); err != nil {
		return err
	}
	return p.stage(ctx)
}

// findBase finds what both sides are compared with. A server that was restored from a backup may
// not know the base: then what it lacks was not deleted there, and another content may be an older
// one. What is here was made of the contents of the base all the same.
func (p *plan) findBase(ctx context.Context) (err error) {
	t := p.tree
	if t.base.Changeset == "" {
		return nil
	}
	known, err := t.remote.knows(ctx, t.base.Changeset)
	if err != nil {
		return err
	}
	if known {
		p.base = t.base.Files
		p.ours, err = t.lostFiles()
		return err
	}
	t.notice("The server does not have changeset " + t.base.Changeset + ", on which this directory " +
		"is; it may have been restored from a backup. Nothing here is deleted or replaced; what the " +
		"server has in another version is a conflict.")
	p.ours = make(map[string][]string, len(t.base.Files))
	for name, entry := range t.base.Files {
		if entry.Absent == "" {
			p.ours[name] = []string{entry.Hash}
		}
	}
	return nil
}

// decide compares both sides with the base, and makes the next base.
func (p *plan) decide() {
	t := p.tree
	p.next = base{
		Version: baseVersion, Server: t.base.Server, Project: t.base.Project, Changeset: p.head,
		Files: make(map[string]Entry, len(p.remote)),
	}
	names := slices.Collect(maps.Keys(p.remote))
	for name := range p.base {
		if _, exists := p.remote[name]; !exists {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	p.followRenames()
	for _, name := range names {
		there, exists := p.remote[name]
		if exists {
			p.next.Files[name] = Entry{Hash: there.Hash, Absent: reserved(name)}
		}
		if reason := reserved(name); reason != "" {
			if exists {
				p.done.LeftOut = append(p.done.LeftOut, LeftOut{name, reason})
			}
			continue
		}
		if !p.moved(name) {
			p.decideOne(name, there, p.local[name])
		}
	}
}

// decideOne decides what becomes of one file.
func (p *plan) decideOne(name string, there remoteFile, here file) {
	before, known := p.base[name]
	if slices.Contains(p.ours[name], there.Hash) {
		before, known = Entry{Hash: there.Hash}, there.Hash != ""
	}
	unchanged := known && (here.hash == before.Hash || before.Absent != "" && !here.exists()) ||
		!known && !here.exists()
	switch {
	case there.Hash == here.hash:
	case known && there.Hash == before.Hash && (before.Absent == "" || here.exists()):
		p.next.Files[name] = before
	case unchanged && there.Hash == "":
		p.effects = append(p.effects, effect{Path: name, Before: here.hash})
		p.done.Deleted = append(p.done.Deleted, name)
	case unchanged:
		p.fetch = append(p.fetch, there)
		p.done.Written = append(p.done.Written, name)
	case there.Hash == "":
		p.done.conflict(name, ConflictDeletedThere)
	case !here.exists():
		p.done.conflict(name, ConflictDeletedHere)
		p.fetch = append(p.fetch, there)
	default:
		p.both[name] = true
		p.fetch = append(p.fetch, there)
		p.done.Merged = append(p.done.Merged, name)
	}
}

// stage writes the new contents into the folder of staged files, and completes the list of
// effects. The files are durable BEFORE the journal names them.
func (p *plan) stage(ctx context.Context) error {
	t := p.tree
	if err := t.remove(stagedName); err != nil {
		return err
	}
	if err := t.root.MkdirAll(stagedName, privateFolder); err != nil {
		return err
	}
	var total, done int64
	for _, one := range p.fetch {
		total += one.Size
	}
	t.progress(done, total)
	removed, err := t.remote.contents(ctx, p.head, p.fetch,
		func(one remoteFile, content []byte) error {
			done += one.Size
			t.progress(done, total)
			return p.stageOne(ctx, one.Path, content)
		})
	for _, name := range removed {
		// There is nothing to merge with: what is here stays.
		p.next.Files[name] = Entry{Hash: p.remote[name].Hash, Absent: reasonRemoved}
		p.done.leave(name, reasonRemoved)
	}
	if err != nil {
		return err
	}
	if err := p.stageMoves(); err != nil {
		return err
	}
	slices.SortFunc(p.effects, effect.compare)
	return t.syncStaged(p.staged()...)
}

// staged are the names of the staged files.
func (p *plan) staged() (names []string) {
	for _, one := range p.effects {
		if one.Staged == "" {
			continue
		}
		names = append(names, one.Staged)
		if one.Before != "" {
			names = append(names, one.kept())
		}
	}
	return names
}

// stageOne stages the content that a file gets, merged with what was changed here.
func (p *plan) stageOne(ctx context.Context, name string, content []byte) error {
	t := p.tree
	e := effect{Path: name, Before: p.local[name].hash, Staged: strconv.Itoa(len(p.effects))}
	if e.Before != "" {
		here, found, err := t.read(name)
		if err != nil {
			return err
		}
		if found.hash != e.Before {
			return fmt.Errorf("%s was changed while it was pulled: pull again", name)
		}
		if p.both[name] {
			if content, err = p.merged(ctx, name, here, content); err != nil {
				return err
			}
		}
		if hashOf(content) == e.Before {
			return nil
		}
		if err := t.writeStaged(e.kept(), here); err != nil {
			return err
		}
	}
	e.After = hashOf(content)
	p.effects = append(p.effects, e)
	return t.writeStaged(e.Staged, content)
}

// merged merges what was changed here and on the server since the base.
func (p *plan) merged(ctx context.Context, name string, here, there []byte) ([]byte, error) {
	var before []byte
	if entry, known := p.base[name]; known && entry.Absent == "" {
		var err error
		from, elsewhere := p.sources[name]
		if !elsewhere || from.hash != entry.Hash {
			from = source{p.tree.base.Changeset, entry.Hash}
		}
		before, err = p.tree.remote.content(ctx, from.changeset, name, from.hash)
		if err != nil {
			return nil, err
		}
	}
	result := merge.Merge(before, here, there)
	if result.Conflicts > 0 {
		p.done.conflict(name, ConflictText)
		p.next.Conflicts = append(p.next.Conflicts, name)
	}
	return result.Text, nil
}
