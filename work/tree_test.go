package work_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/id"
	"pws/work"
)

// forkOf returns the command that forks a project at a changeset.
func forkOf(p *work.Project, at *work.Changeset, into id.ID) *work.ForkProject {
	about := p.About
	about.Name = "fork of " + about.Name
	return &work.ForkProject{
		ID: into, About: about, Source: p.ID, Changeset: at.ID, Tree: p.TreeAt(at, nil),
		Authors: p.AuthorsAt(at), Credits: p.CreditsAt(at),
		BundledAuthors: p.BundledAuthorsAt(at), Imports: p.ImportsAt(at),
		License: p.License, Origins: p.OriginsAt(at),
	}
}

// fork makes a world whose project is a fork; the agent owns it.
func (w *world) fork(t testing.TB, at *work.Changeset, who id.ID) *world {
	t.Helper()
	forked := newWorld()
	forked.now, forked.steps = w.now, w.steps+1_000_000
	into := id.New(testNow, [10]byte{byte(w.steps), byte(w.steps >> 8), 77})
	if _, err := forked.do(who, forkOf(w.project, at, into)); err != nil {
		t.Fatal(err)
	}
	return forked
}

// listing returns a tree as text.
func listing(p *work.Project, at *work.Changeset) string {
	var list []string
	p.FilesAt(at, "", func(f work.FileInfo) bool {
		list = append(list, fmt.Sprintf("%s %x %d %s %s", f.Path, f.Blob[:4], f.Size, f.ContentType,
			f.Language))
		return true
	})
	return strings.Join(list, "\n")
}

// many makes a project of n files.
func many(t testing.TB, n int) *world {
	t.Helper()
	w := newWorld()
	w.create(t)
	for from := 0; from < n; from += 100 {
		var operations []work.Operation
		for i := from; i < min(n, from+100); i++ {
			path := fmt.Sprintf("folder-%d/part-%d/file-%d.go", i/500, i/50, i)
			operations = append(operations, createOp(path, fmt.Sprint("content ", i)))
		}
		w.publish(t, operations...)
	}
	return w
}

// TestTreesRoundTrip writes and reads trees of sizes near the ends of chunks.
func TestTreesRoundTrip(t *testing.T) {
	w := many(t, 1500)
	w.put(t, "folder-1/part-11/file-560.go", "other")
	count := w.project.ChangesetsCount()
	var like *work.Tree
	for sequence := 1; sequence <= count; sequence++ {
		at := w.project.ChangesetNumber(uint32(sequence))
		tree := w.project.TreeAt(at, nil)
		taking := w.project.TreeAt(at, like)
		if !reflect.DeepEqual(taking.Manifest(), tree.Manifest()) {
			t.Fatalf("%d: the manifest differs if chunks of the previous tree are reused", sequence)
		}
		like = taking
		stored := map[work.Hash][]byte{}
		for _, part := range tree.Manifest() {
			if !work.IsManifest(part.Content) || sha256.Sum256(part.Content) != part.Hash {
				t.Fatal("a part of a manifest is not one for IsManifest")
			}
			stored[part.Hash] = part.Content
		}
		read, err := work.ReadTree(tree.Root(), func(hash work.Hash) ([]byte, error) {
			return stored[hash], nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if read.Root() != tree.Root() || read.FilesCount() != tree.FilesCount() ||
			read.FilesBytes() != tree.FilesBytes() {
			t.Fatalf("%d: the tree that was read differs", sequence)
		}
		again := read.Manifest()
		if again[len(again)-1].Hash != tree.Root() || len(again) != len(stored) {
			t.Fatalf("%d: the tree that was read has another manifest", sequence)
		}
	}
}

// TestTreesShareTheirChunks changes one file of many.
func TestTreesShareTheirChunks(t *testing.T) {
	w := many(t, 3000)
	before := map[work.Hash]bool{}
	for _, part := range w.project.TreeAt(w.project.Head(), nil).Manifest() {
		before[part.Hash] = true
	}
	w.put(t, "folder-3/part-31/file-1560.go", "other")
	w.put(t, "folder-3/part-31/new.go", "new")
	fresh := 0
	for _, part := range w.project.TreeAt(w.project.Head(), nil).Manifest() {
		if !before[part.Hash] {
			fresh += len(part.Content)
		}
	}
	if len(before) < 10 || fresh > 25_000 {
		t.Errorf("%d chunks before, %d bytes are new", len(before), fresh)
	}
}

// TestForksOfForks runs random commands on forks, forks of forks, and their sources, and compares
// the live, replayed and restored states of each.
func TestForksOfForks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := source(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "n") })
		first := newWorld()
		first.create(t)
		worlds := []*world{first}
		type kept struct {
			of    int
			saved saved
			log   int
		}
		var olds []kept
		for range rapid.IntRange(5, 60).Draw(rt, "steps") {
			nth := draw(len(worlds))
			w := worlds[nth]
			w.now += int64(draw(1000))
			if draw(8) == 0 && len(worlds) < 6 {
				at := w.project.ChangesetNumber(uint32(1 + draw(w.project.ChangesetsCount())))
				forked := w.fork(t, at, draw.agent())
				if got, want := listing(forked.project, forked.project.Head()),
					listing(w.project, at); got != want {
					rt.Fatalf("forked as\n%s\nof\n%s", got, want)
				}
				worlds = append(worlds, forked)
				continue
			}
			_, _ = w.do(w.project.Owner, draw.command(w))
			if draw(4) == 0 {
				olds = append(olds, kept{nth, mustSave(t, w.project), len(w.log)})
			}
		}
		for _, old := range olds {
			if err := checkEqual(worlds[old.of], old.saved, old.log); err != nil {
				rt.Fatal(err)
			}
		}
		for nth, w := range worlds {
			m := newModel()
			if err := m.observe(w.project); err != nil {
				rt.Fatalf("world %d: %v", nth, err)
			}
			count := uint32(w.project.ChangesetsCount())
			if err := m.compare(w.project, []uint32{1, (count + 1) / 2, count}); err != nil {
				rt.Fatalf("world %d: %v", nth, err)
			}
		}
	})
}

// TestForksOfOneTreeNeedNoLock changes two forks of one tree at the same time. Neither changes the
// other, nor the tree.
func TestForksOfOneTreeNeedNoLock(t *testing.T) {
	w := many(t, 600)
	tree := w.project.TreeAt(w.project.Head(), nil)
	want := tree.Manifest()
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			forked := newWorld()
			command := forkOf(w.project, w.project.Head(), id.New(testNow, [10]byte{byte(n)}))
			command.Tree = tree
			if _, err := forked.do(agent("bob"), command); err != nil {
				t.Error(err)
				return
			}
			for i := range 200 {
				path := fmt.Sprintf("folder-0/part-%d/file-%d.go", i/50, i)
				if i%3 == n%3 {
					forked.asBob(t, &work.DeleteFile{Path: path})
				} else {
					forked.asBob(t, &work.PutFile{Path: path, Blob: blob(fmt.Sprint(n, i))})
				}
			}
			for i := range 200 {
				path := fmt.Sprintf("folder-0/part-%d/file-%d.go", i/50, i)
				f, ok := forked.project.File(path)
				if ok == (i%3 == n%3) || ok && f.Blob != blob(fmt.Sprint(n, i)).Hash {
					t.Errorf("fork %d: %s is %v", n, path, f)
				}
				old, ok := forked.project.FileAt(path, forked.project.ChangesetNumber(1))
				if !ok || old.Blob != blob(fmt.Sprint("content ", i)).Hash {
					t.Errorf("fork %d: %s was %v", n, path, old)
				}
			}
		})
	}
	all.Wait()
	if !slices.EqualFunc(tree.Manifest(), want, func(a, b work.Blob) bool {
		return a.Hash == b.Hash
	}) {
		t.Error("the tree has changed")
	}
}

// asBob runs a command that must succeed. It may be called from any goroutine.
func (w *world) asBob(t testing.TB, command work.Command) {
	if _, err := w.do(agent("bob"), command); err != nil {
		t.Errorf("%T: %v", command, err)
	}
}

// TestAuthorsAreInherited counts the changesets of authors over two forks.
func TestAuthorsAreInherited(t *testing.T) {
	w := newWorld()
	w.create(t)
	w.must(t, &work.AddMember{Agent: agent("bob"), Role: work.Maintainer})
	w.put(t, "a", "1")
	middle := w.project.Head()
	if _, err := w.do(agent("bob"), &work.PutFile{Path: "b", Blob: blob("2")}); err != nil {
		t.Fatal(err)
	}
	show := func(p *work.Project) (text string) {
		for _, one := range p.TopAuthors(10) {
			text += fmt.Sprintf("%s %d+%d ", name(one.Agent), one.Changesets, one.Inherited)
		}
		return strings.TrimSpace(text)
	}
	if got := show(w.project); got != "ann 2+0 bob 1+0" {
		t.Errorf("the source has %s", got)
	}
	fork := w.fork(t, w.project.Head(), agent("carl"))
	if got := show(fork.project); got != "ann 0+2 bob 0+1 carl 1+0" {
		t.Errorf("the fork has %s", got)
	}
	if _, err := fork.do(agent("carl"), &work.PutFile{Path: "c", Blob: blob("3")}); err != nil {
		t.Fatal(err)
	}
	again := fork.fork(t, fork.project.Head(), agent("ann"))
	if got := show(again.project); got != "ann 1+2 bob 0+1 carl 0+1" {
		t.Errorf("the fork of the fork has %s", got)
	}
	old := w.fork(t, middle, agent("bob"))
	if got := show(old.project); got != "ann 0+2 bob 1+0" {
		t.Errorf("the fork of the middle has %s", got)
	}
	restored, err := mustSave(t, again.project).restore()
	if err != nil || show(restored) != show(again.project) {
		t.Errorf("restored with %s, %v", show(restored), err)
	}
}

// FuzzReadTree reads hostile manifests with valid hashes. A tree that it accepts can be forked,
// changed and saved.
func FuzzReadTree(f *testing.F) {
	w := newWorld()
	w.create(f)
	w.publish(f, createOp("a/b.go", "1"), createOp("a/c.py", "2"), createOp("d", "3"))
	manifest := w.project.TreeAt(w.project.Head(), nil).Manifest()
	f.Add(manifest[0].Content, uint64(3), uint64(3))
	f.Add([]byte{0, 1, 'c', 0}, uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, chunk []byte, files, size uint64) {
		hash := sha256.Sum256(chunk)
		root := treeRoot(hash, files, size)
		bounded(t, len(chunk), func() {
			tree, err := work.ReadTree(sha256.Sum256(root), func(h work.Hash) ([]byte, error) {
				if h == hash {
					return chunk, nil
				}
				return root, nil
			})
			if err != nil {
				return
			}
			forked := newWorld()
			if _, err := forked.do(agent("ann"), &work.ForkProject{
				ID: agent("project"), About: w.project.About, Tree: tree,
			}); err != nil {
				t.Fatal(err)
			}
			forked.put(t, "d", "more")
			readAll(forked.project)
			mustSave(t, forked.project)
		})
	})
}

// treeRoot returns a root of one chunk.
func treeRoot(chunk work.Hash, files, size uint64) []byte {
	root := append([]byte{0, 1, 'r'}, uvarint(files)...)
	root = append(append(root, uvarint(size)...), chunk[:]...)
	return append(root, uvarint(files)...)
}

func uvarint(n uint64) (out []byte) {
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

// TestManifestsThatAreDamaged changes every byte of a manifest, truncates it, and removes parts.
func TestManifestsThatAreDamaged(t *testing.T) {
	w := many(t, 300)
	tree := w.project.TreeAt(w.project.Head(), nil)
	manifest := tree.Manifest()
	read := func(damaged work.Hash, content []byte, err error) error {
		_, err = work.ReadTree(tree.Root(), func(hash work.Hash) ([]byte, error) {
			if hash == damaged {
				return content, err
			}
			at := slices.IndexFunc(manifest, func(b work.Blob) bool { return b.Hash == hash })
			return manifest[at].Content, nil
		})
		return err
	}
	if err := read(work.Hash{}, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, part := range manifest {
		if read(part.Hash, nil, errors.New("gone")) == nil || read(part.Hash, nil, nil) == nil {
			t.Error("a part that is gone is read")
		}
		for i := range part.Content {
			damaged := bytes.Clone(part.Content)
			damaged[i] ^= 1
			if read(part.Hash, damaged, nil) == nil || read(part.Hash, damaged[:i], nil) == nil {
				t.Fatalf("byte %d was changed, and the manifest was read", i)
			}
		}
	}
}

// TestFrozenFork reads a saved fork and the manifest of its tree.
func TestFrozenFork(t *testing.T) {
	const folder = "testdata/snapshot/v4-fork"
	w := newWorld()
	w.create(t)
	w.publish(t, createOp("a/b.go", "1"), createOp("a/c.py", "22"), createOp("d", ""))
	fresh := func() *world {
		forked := w.fork(t, w.project.Head(), agent("bob"))
		forked.asBob(t, &work.PutFile{Path: "d", Blob: blob("more"), ContentType: "text/x"})
		return forked
	}
	tree := w.project.TreeAt(w.project.Head(), nil)
	for i, part := range tree.Manifest() {
		file := filepath.Join(folder, fmt.Sprintf("manifest-%d", i))
		content := frozen(t, file, func() []byte { return part.Content })
		manifests.Store(work.Hash(sha256.Sum256(content)), content)
	}
	head := frozen(t, filepath.Join(folder, "head.cbor"),
		func() []byte { return mustSave(t, fresh().project).head })
	name := work.Chunk{Kind: work.RelationChunk}
	relations := frozen(t, filepath.Join(folder, "relations.cbor"),
		func() []byte { return mustSave(t, fresh().project).chunks[name] })
	p, err := saved{head: head, chunks: map[work.Chunk][]byte{name: relations}}.restore()
	if err != nil {
		t.Fatal(err)
	}
	want := fresh().project
	if got := listing(p, p.ChangesetNumber(1)); got != listing(want, want.ChangesetNumber(1)) {
		t.Errorf("it began with\n%s", got)
	}
	if got := listing(p, p.Head()); got != listing(want, want.Head()) {
		t.Errorf("it has\n%s", got)
	}
	from, ok := p.ForkedFrom()
	if !ok || from.Project != w.project.ID || from.Changeset.IsZero() ||
		len(from.Authors) != 1 || from.Authors[0].Changesets != 2 {
		t.Errorf("it is from %+v", from)
	}
}

// TestManifestCountsDoNotOverflow: the count of a chunk and those before it exceed the files of the
// tree, although their sum as a number of 64 bits does not.
func TestManifestCountsDoNotOverflow(t *testing.T) {
	w := newWorld()
	w.create(t)
	w.publish(t, createOp("a", "1"))
	chunk := w.project.TreeAt(w.project.Head(), nil).Manifest()[0]
	root := []byte{0, 1, 'r', 1, 1}
	root = append(append(root, chunk.Hash[:]...), 1)
	root = binary.AppendUvarint(append(root, chunk.Hash[:]...), math.MaxUint64)
	_, err := work.ReadTree(sha256.Sum256(root), func(h work.Hash) ([]byte, error) {
		if h == chunk.Hash {
			return chunk.Content, nil
		}
		return root, nil
	})
	if err == nil {
		t.Error("the manifest was read")
	}
}
