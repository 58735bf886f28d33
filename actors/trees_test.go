package actors

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pws/actors/offline"
	"pws/api"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/journal"
	"pws/work"
)

// createMany makes a project of n files, 100 in a changeset.
func createMany(t testing.TB, e *Engine, owner id.ID, n int) id.ID {
	t.Helper()
	project := createProject(t, e, owner, work.Public)
	for from := 0; from < n; from += work.OperationsMax {
		command := &work.PublishChangeset{Base: viewOf(t, e, project).Head().ID}
		for i := from; i < min(n, from+work.OperationsMax); i++ {
			content := blobOf(fmt.Sprint("content ", i))
			command.Operations = append(command.Operations, work.Operation{
				Action: work.Create, Content: &content, ContentType: "text/plain",
				Path: fmt.Sprintf("packages/group-%d/part-%d/file-%d.go", i/500, i/50, i),
			})
		}
		mustDo(t, e, project, owner, command)
	}
	return project
}

// forkOrder is the order that forks a project as a handler gives it.
func forkOrder(t testing.TB, e *Engine, source, who id.ID, visibility work.Visibility) api.Order {
	t.Helper()
	p := viewOf(t, e, source)
	return forkOrderAt(e, p, p.Head(), who, visibility)
}

func forkOrderAt(
	e *Engine, p *work.Project, at *work.Changeset, who id.ID, visibility work.Visibility,
) api.Order {
	about := p.About
	about.Visibility = visibility
	project := e.stamp(who).ID(0)
	return api.Order{Project: project, Agent: who, Command: &work.ForkProject{
		ID: project, Source: p.ID, Changeset: at.ID, About: about, Tree: e.Tree(p, at),
		Authors: p.AuthorsAt(at), Credits: p.CreditsAt(at), BundledAuthors: p.BundledAuthorsAt(at),
		Imports: p.ImportsAt(at), License: p.License, Origins: p.OriginsAt(at),
	}}
}

func fork(t testing.TB, e *Engine, source, who id.ID, visibility work.Visibility) id.ID {
	t.Helper()
	order := forkOrder(t, e, source, who, visibility)
	if _, err := e.Do(order); err != nil {
		t.Fatal(err)
	}
	return order.Project
}

// checkCounts expects of the index what a walk over all projects counts for each reader.
func checkCounts(t testing.TB, what string, e *Engine, readers []id.ID) {
	t.Helper()
	type counted struct {
		link   index.Link
		reader id.ID
	}
	want := map[counted]int{}
	e.handles.Range(func(project id.ID, _ *handle) bool {
		p := viewOf(t, e, project)
		for _, link := range index.LinksOf(p).Links {
			for _, reader := range readers {
				if link.Kind.Counts() && p.Readable(reader) {
					want[counted{link.Link, reader}] += link.Times
				} else {
					want[counted{link.Link, reader}] += 0
				}
			}
		}
		return true
	})
	for of, times := range want {
		if got := e.Indexes(index.ForLinks).Links.Count(of.link, of.reader); got != times {
			t.Errorf("%s: %v counts %d for %v, want %d", what, of.link, got, of.reader, times)
		}
	}
}

// TestForksSurviveARestart forks, changes sources and forks, who may read them, and starts the
// engine again with nothing saved, with all saved, and with some in the log behind.
func TestForksSurviveARestart(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	ann, bob, carl := register(t, e, "ann"), register(t, e, "bob"), register(t, e, "carl")
	readers := []id.ID{{}, ann, bob, carl}
	source := createMany(t, e, ann, 250)
	open, hidden := fork(t, e, source, bob, work.Public), fork(t, e, source, bob, work.Private)
	again := func(what string) {
		t.Helper()
		checkCounts(t, what, e, readers)
		want := fullState(t, e)
		stop(t, e)
		e = start(t, config)
		checkCounts(t, what+", after a start", e, readers)
		checkLinks(t, what+", after a start", e)
		sameState(t, what, want, fullState(t, e))
	}
	count := func(reader id.ID) int {
		link := index.Link{Kind: index.LinkFork, Target: source}
		return e.Indexes(index.ForLinks).Links.Count(link, reader)
	}
	save := func() {
		t.Helper()
		saveAll(t, e)
	}
	if count(id.ID{}) != 1 || count(ann) != 1 || count(bob) != 2 {
		t.Errorf("%d, %d, %d forks", count(id.ID{}), count(ann), count(bob))
	}
	again("in the log")
	save()
	again("saved")
	mustDo(t, e, hidden, bob, &work.AddMember{Agent: carl, Role: work.Reader})
	again("a member in the log behind")
	if count(carl) != 2 {
		t.Errorf("carl sees %d forks", count(carl))
	}
	mustDo(t, e, open, bob, &work.UpdateProject{Visibility: work.Private})
	if count(id.ID{}) != 0 || count(bob) != 2 || count(carl) != 1 {
		t.Errorf("%d, %d, %d forks", count(id.ID{}), count(bob), count(carl))
	}
	again("hidden in the log behind")
	save()
	again("saved again")
	deep := fork(t, e, open, bob, work.Unlisted)
	mustPut(t, e, deep, bob, "new.txt", "new")
	mustDo(t, e, hidden, bob, &work.UpdateProject{Visibility: work.Public, Reuse: work.AllowReuse})
	mustDo(t, e, source, ann, &work.UpdateProject{Visibility: work.Private})
	for i := range 250 {
		path := fmt.Sprintf("packages/group-%d/part-%d/file-%d.go", i/500, i/50, i)
		if i%2 == 0 {
			mustDo(t, e, source, ann, &work.DeleteFile{Path: path})
		}
	}
	again("a fork of a fork")
	save()
	e.sweep(e.Now() + 1000)
	again("at rest")
	if p := viewOf(t, e, open); p.FilesCount() != 250 {
		t.Errorf("the fork has %d files", p.FilesCount())
	}
	if _, _, err := contentOf(e, viewOf(t, e, deep), "new.txt"); err != nil {
		t.Error(err)
	}
	stop(t, e)
	if _, err := Verify(config.Dir); err != nil {
		t.Error(err)
	}
}

// TestForksShareOneTree looks whether loaded forks of one tree have one copy of it, also after a
// start, and whether it goes when nobody needs it.
func TestForksShareOneTree(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	ann := register(t, e, "ann")
	source := createMany(t, e, ann, 300)
	var forks []id.ID
	for range 5 {
		forks = append(forks, fork(t, e, source, ann, work.Public))
	}
	forks = append(forks, fork(t, e, forks[0], ann, work.Public))
	for _, restarted := range []bool{false, true} {
		if restarted {
			saveAll(t, e)
			stop(t, e)
			e = start(t, config)
		}
		first, _ := viewOf(t, e, forks[0]).ForkedFrom()
		for _, one := range forks {
			if from, ok := viewOf(t, e, one).ForkedFrom(); !ok || from.Tree() != first.Tree() {
				t.Errorf("a fork has a tree of its own (restarted: %t)", restarted)
			}
		}
	}
	e.sweep(e.Now() + 1000)
	runtime.GC()
	e.trees.mu.Lock()
	defer e.trees.mu.Unlock()
	for root, one := range e.trees.mu.byRoot {
		if one.Value() != nil {
			t.Errorf("tree %x is kept for nobody", root)
		}
	}
}

// TestUnusedTreesAreReleased fills the table of trees.
func TestUnusedTreesAreReleased(t *testing.T) {
	all := newTrees(nil)
	ann := sha256.Sum256([]byte("ann"))
	for n := range 3 * treesSweepMin {
		p := work.NewProject()
		created := &work.CreateProject{
			ID: id.ID(ann[:16]), Kind: work.Standard, About: work.About{
				Visibility: work.Public, Reuse: work.AllowReuse,
			},
			Files: []work.Operation{{
				Action: work.Create, Path: fmt.Sprint(n), Content: new(work.Blob),
			}},
		}
		decision, err := created.Decide(nil, work.Stamp{Now: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range decision.Events {
			p.Apply(event, work.Moment{Now: 1})
		}
		all.of(p, p.Head())
		if n%512 == 0 {
			runtime.GC()
		}
	}
	if count := len(all.mu.byRoot); count > 2*treesSweepMin {
		t.Errorf("%d trees are remembered", count)
	}
}

// TestForksAtTheSameTime makes forks of a tree that nobody has built yet, and writes to them.
func TestForksAtTheSameTime(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	ann := register(t, e, "ann")
	source := createMany(t, e, ann, 400)
	var all sync.WaitGroup
	var forks [6]id.ID
	for n := range forks {
		all.Go(func() {
			order := forkOrder(t, e, source, ann, work.Public)
			forks[n] = order.Project
			if _, err := e.Do(order); err != nil {
				t.Error(err)
				return
			}
			for i := range 60 {
				path := fmt.Sprintf("packages/group-0/part-%d/file-%d.go", i/50, i)
				if _, err := put(e, order.Project, ann, path, fmt.Sprint(n, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	want := fullState(t, e)
	for n, project := range forks {
		p := viewOf(t, e, project)
		for i := range 60 {
			path := fmt.Sprintf("packages/group-0/part-%d/file-%d.go", i/50, i)
			if f, _ := p.File(path); f.Blob != blobOf(fmt.Sprint(n, i)).Hash {
				t.Errorf("fork %d has another %s", n, path)
			}
		}
	}
	stop(t, e)
	e = start(t, config)
	sameState(t, "after a start", want, fullState(t, e))
}

// TestVerifyFollowsTrees takes parts of a manifest away, and changes the size that it says.
func TestVerifyFollowsTrees(t *testing.T) {
	for name, damage := range map[string]struct {
		do   func(t *testing.T, p *work.Project, stored *[]datadir.Blob)
		says string
	}{
		"as it is": {func(*testing.T, *work.Project, *[]datadir.Blob) {}, ""},
		"a part of the manifest is gone": {func(_ *testing.T, _ *work.Project, all *[]datadir.Blob) {
			for i, one := range *all {
				if work.IsManifest(one.Content) {
					*all = append((*all)[:i:i], (*all)[i+1:]...)
					return
				}
			}
		}, "the tree that it began with"},
		"a content of the tree is gone": {func(_ *testing.T, _ *work.Project, all *[]datadir.Blob) {
			for i, one := range *all {
				if string(one.Content) == "content 7" {
					*all = append((*all)[:i:i], (*all)[i+1:]...)
					return
				}
			}
		}, "is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, packed := range []bool{false, true} {
				checkVerify(t, packed, damage.do, damage.says)
			}
		})
	}
}

// checkVerify makes a directory with a fork, with other contents than those that were stored, and
// expects a fault of it.
func checkVerify(
	t *testing.T, packed bool, damage func(*testing.T, *work.Project, *[]datadir.Blob), says string,
) {
	t.Helper()
	config := quiet(t.TempDir())
	e := start(t, config)
	ann := register(t, e, "ann")
	source := createMany(t, e, ann, 20)
	order := forkOrder(t, e, source, ann, work.Public)
	// The source goes without a content, as if its packs had lost it.
	command := order.Command.(*work.ForkProject)
	var all []datadir.Blob
	for _, part := range command.Tree.Manifest() {
		all = append(all, datadir.Blob{Hash: part.Hash, Content: part.Content})
	}
	command.Tree.Contents(func(_ string, hash work.Hash, _ int) {
		content, err := e.Blob(hash)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, datadir.Blob{Hash: hash, Content: content})
	})
	damage(t, viewOf(t, e, source), &all)
	fresh := quiet(filepath.Join(t.TempDir(), "fresh"))
	other := start(t, fresh)
	ann = register(t, other, "ann")
	command.Authors = []work.InheritedAuthor{{Agent: ann, Changesets: 2}}
	bare := datadir.Entry{
		Target: datadir.TargetProject, ID: source, Now: e.Now(), Agent: ann, Blobs: all,
	}
	begin(t, other, bare, &work.ProjectCreated{
		ID: source, Kind: work.Standard, Owner: ann, About: viewOf(t, e, source).About,
	}, &work.ChangesetPublished{ID: e.stamp(ann).ID(0), Source: work.SourceProject})
	decision, err := command.Decide(nil, e.stamp(ann).In(order.Project))
	if err != nil {
		t.Fatal(err)
	}
	forked := datadir.Entry{
		Target: datadir.TargetProject, ID: order.Project, Now: e.Now(), Agent: ann,
	}
	begin(t, other, forked, decision.Events...)
	stop(t, other)
	if packed {
		other, _, err = Open(fresh)
		if err == nil {
			err = errors.Join(other.Save(), other.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = Verify(fresh.Dir)
	var found *offline.Damage
	errors.As(err, &found)
	switch {
	case says == "" && err != nil:
		t.Errorf("packed %t: %v", packed, err)
	case says != "" && (found == nil || !strings.Contains(err.Error(), says)):
		t.Errorf("packed %t: found %v, want %q", packed, err, says)
	}
}

// begin writes an entry that begins a project into the log of an engine, unchanged.
func begin(t *testing.T, e *Engine, in datadir.Entry, events ...work.Event) {
	t.Helper()
	for _, event := range events {
		data, err := work.EncodeEvent(nil, event)
		if err != nil {
			t.Fatal(err)
		}
		in.Events = append(in.Events, datadir.Event{Kind: uint16(work.KindOf(event)), Data: data})
	}
	done := make(chan error, 1)
	entry := journal.Entry{Payload: in.Encode()}
	if err := e.journal.Append(e.leading(), entry, outcome(done)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// outcome is a journal.Committed that passes on the error.
type outcome chan error

func (o outcome) Committed(_ uint64, err error) { o <- err }

// TestVerifyFindsDamagedManifests changes a byte of the pack with the manifest, which nothing else
// is in.
func TestVerifyFindsDamagedManifests(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	ann := register(t, e, "ann")
	source := createMany(t, e, ann, 30)
	saveAll(t, e)
	project := fork(t, e, source, ann, work.Public)
	saveAll(t, e)
	stop(t, e)
	packs, err := filepath.Glob(filepath.Join(config.Dir, datadir.BlobsName, "pack-*"))
	if err != nil || len(packs) != 2 {
		t.Fatalf("%d packs, %v", len(packs), err)
	}
	content, err := os.ReadFile(packs[1])
	if err != nil {
		t.Fatal(err)
	}
	content[100] ^= 1
	if err := os.WriteFile(packs[1], content, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Verify(config.Dir)
	if err == nil || !strings.Contains(err.Error(), packs[1]) ||
		!strings.Contains(err.Error(), project.Format(id.Project)) {
		t.Errorf("found %v", err)
	}
}
