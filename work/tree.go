package work

import (
	"slices"
	"unique"

	"pws/internal/id"
	"pws/internal/sorted"
	"pws/work/path"
)

// Tree is an immutable tree of files. Any number of forks begin with it and share all of it: its
// files have one version, of the first changeset, and its operations are the operations of that
// changeset. It is safe for concurrent readers.
type Tree struct {
	root      Hash
	files     sorted.Map[*File]
	ops       []Op
	bytes     int64
	languages []LanguageCount
	// cuts are the ends of the chunks of its manifest, as indices of files.
	cuts []int
	// manifest is kept for a tree that was built, because it will be stored; nil if it was read.
	manifest []Blob
}

// Root is the hash of the tree's manifest. Trees with the same root are equal.
func (t *Tree) Root() Hash { return t.root }

// FilesCount is the number of files, FilesBytes their size.
func (t *Tree) FilesCount() int { return len(t.ops) }

// FilesBytes is the size of all files.
func (t *Tree) FilesBytes() int64 { return t.bytes }

// Contents yields the files in the order of their paths' bytes.
func (t *Tree) Contents(yield func(path string, blob Hash, size int)) {
	for i := range t.ops {
		yield(*t.ops[i].Path, t.ops[i].Blob, int(t.ops[i].Size))
	}
}

// newTree makes a tree of CREATE operations in the order of their paths' bytes.
func newTree(ops []Op, language func(nth int) string) *Tree {
	t := &Tree{ops: ops, files: sorted.NewMap[*File]()}
	// All are allocated together, because they are freed together.
	files, versions := make([]File, len(ops)), make([]version, len(ops))
	counts := map[string]int{}
	for i := range ops {
		op, file := &ops[i], &files[i]
		op.at = uint32(i)
		versions[i] = newVersion(1, op, false)
		// The slice has no spare capacity, so appending another version copies it.
		*file = File{
			path: uint32(i), versions: versions[i : i+1 : i+1], language: language(i),
		}
		t.files.Load(*op.Path, file)
		t.bytes += int64(op.Size)
		if file.language == "" {
			continue
		}
		nth, known := counts[file.language]
		if !known {
			nth = len(t.languages)
			counts[file.language] = nth
			t.languages = append(t.languages, LanguageCount{Language: file.language})
		}
		t.languages[nth].Files++
	}
	return t
}

// plant makes the tree the state after the first changeset of a project, without copying.
func (t *Tree) plant(p *Project, first *Changeset) {
	p.live = t.files.CopyFrozen()
	p.saved.Bytes, p.saved.Languages = t.bytes, t.languages
	p.history.ownNames().tree = t
	first.Ops, first.OpCount, first.ofTree = t.ops, len(t.ops), true
	first.AddedBytes = t.bytes
	p.history.begin(first)
}

// TreeAt returns the tree after a changeset. An unchanged fork returns the tree that it began with.
// If a similar tree is given, common parts are shared with it.
func (p *Project) TreeAt(at *Changeset, like *Tree) *Tree {
	if p.saved.Fork != nil && at.Sequence == 1 {
		return p.saved.Fork.tree
	}
	var ops []Op
	var paths, languages []string
	var op Op
	take := func(f *File, v version) {
		p.history.operation(v, &op)
		ops = append(ops, Op{Action: Create, Blob: op.Blob, Size: op.Size, Type: op.Type})
		paths = append(paths, *p.history.names.path(f.path))
		languages = append(languages, f.language)
	}
	if at.Sequence == p.Head().Sequence {
		files := p.live.Len()
		ops, paths, languages = make([]Op, 0, files), make([]string, 0, files),
			make([]string, 0, files)
		p.live.Scan(func(_ string, f *File) bool { take(f, f.last()); return true })
	} else {
		p.versionsAt(at, "", "", func(f *File, v version) bool { take(f, v); return true })
	}
	for nth := range ops {
		// The names of the project would stay in memory with the tree.
		ops[nth].Path = &paths[nth]
	}
	t := newTree(ops, func(nth int) string { return languages[nth] })
	t.cut()
	t.manifest = t.encode(like)
	t.root = t.manifest[len(t.manifest)-1].Hash
	return t
}

// ReadTree reads a tree by the hash of its manifest; get gives stored contents.
func ReadTree(root Hash, get func(Hash) ([]byte, error)) (*Tree, error) {
	r := manifestReader{get: get, types: map[string]unique.Handle[string]{}}
	ops, cuts, err := r.read(root)
	if err != nil {
		return nil, err
	}
	t := newTree(ops, func(nth int) string { return path.LanguageOf(*ops[nth].Path) })
	t.root, t.cuts = root, cuts
	return t, nil
}

// InheritedAuthor is the number of changesets that an agent published in the history before a fork.
type InheritedAuthor struct {
	Agent      id.ID  `cbor:"1,keyasint"`
	Changesets uint32 `cbor:"2,keyasint"`
}

// InheritedAuthorsMax is the number of authors that a fork keeps.
const InheritedAuthorsMax = 100

// AuthorsAt returns the authors that a fork at a changeset inherits: those with the most changesets
// up to it, in this project and in the projects from which it was forked, the highest count first.
// Changesets with the work of others count for nobody: the first one of a fork, and those of a
// bundle. TopAuthors counts them too.
func (p *Project) AuthorsAt(at *Changeset) []InheritedAuthor {
	counts := map[id.ID]uint32{}
	if at.Sequence == p.Head().Sequence {
		p.authors.scan(func(one AuthorCount) bool {
			counts[one.Agent] = one.Changesets
			return true
		})
	} else {
		for sequence := range at.Sequence {
			counts[p.history.author(sequence+1)]++
		}
	}
	if p.bundled != nil {
		// Imported changesets are the work of other agents.
		counts[p.Creator()] -= min(at.Sequence, uint32(len(p.bundled.Changesets)))
	}
	if p.saved.Fork != nil {
		counts[p.Creator()]--
		for _, one := range p.saved.Fork.Authors {
			counts[one.Agent] += one.Changesets
		}
	}
	all := make([]AuthorCount, 0, len(counts))
	for agent, changesets := range counts {
		if changesets > 0 {
			all = append(all, AuthorCount{Agent: agent, Changesets: changesets})
		}
	}
	slices.SortFunc(all, byWork)
	authors := make([]InheritedAuthor, min(len(all), InheritedAuthorsMax))
	for nth := range authors {
		authors[nth] = InheritedAuthor{Agent: all[nth].Agent, Changesets: all[nth].Changesets}
	}
	return authors
}
