package work

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unique"
)

// The manifest of a tree is a few contents like any other: they are in log entries, then in packs,
// and are stored once. Texts of callers never begin with these bytes.
//
//	root     mark, version, 'r'
//	         uvarint files, uvarint bytes
//	         until the end, the chunks: 32 bytes SHA-256, uvarint files
//	chunk    mark, version, 'c'
//	         uvarint count of media types, each: uvarint length, text
//	         until the end, the files in the order of their paths' bytes, each: uvarint bytes that
//	         its path has in common with the one before in this chunk, uvarint length of the rest,
//	         the rest, 32 bytes SHA-256, uvarint size, uvarint number of its media type
//
// A chunk ends after a path whose hash is an end mark. Trees that differ in a few files therefore
// differ in a few chunks, and equal chunks are stored once.
const (
	// treeMark is the first byte. No text of a caller contains it.
	treeMark    = 0
	treeVersion = 1
	rootKind    = 'r'
	chunkKind   = 'c'

	// chunkMask makes one path in 128 end a chunk. A chunk has at most chunkFilesMax files.
	chunkMask     = 127
	chunkFilesMax = 1024
	// treeFilesMax bounds the files that are read. It is far above FilesMax, which may grow.
	treeFilesMax = 1 << 20
	// fileBytesLeast is the minimum size of a file in a chunk.
	fileBytesLeast = 4 + len(Hash{})
)

// IsManifest reports whether a content is part of the manifest of a tree, and not a text of a
// caller.
func IsManifest(content []byte) bool { return len(content) > 0 && content[0] == treeMark }

// endsChunk uses the FNV-1a hash of a path.
func endsChunk(path string) bool {
	h := uint32(2166136261)
	for i := range len(path) {
		h = (h ^ uint32(path[i])) * 16777619
	}
	return h&chunkMask == 0
}

// cut finds the ends of the chunks.
func (t *Tree) cut() {
	first := 0
	for i := range t.ops {
		if i+1 == len(t.ops) || i+1-first == chunkFilesMax || endsChunk(*t.ops[i].Path) {
			t.cuts = append(t.cuts, i+1)
			first = i + 1
		}
	}
}

// Manifest returns the contents to store: the chunks, then the root.
func (t *Tree) Manifest() []Blob {
	if t.manifest != nil {
		return t.manifest
	}
	return t.encode(nil)
}

// encode makes the manifest. It reuses equal chunks of a similar tree.
func (t *Tree) encode(like *Tree) []Blob {
	known := map[string]int{}
	if like != nil && like.manifest != nil {
		for nth := range like.cuts {
			known[*like.chunk(nth)[0].Path] = nth
		}
	}
	blobs := make([]Blob, 0, len(t.cuts)+1)
	root := binary.AppendUvarint([]byte{treeMark, treeVersion, rootKind}, uint64(len(t.ops)))
	root = binary.AppendUvarint(root, uint64(t.bytes))
	for nth := range t.cuts {
		ops := t.chunk(nth)
		var chunk Blob
		if at, ok := known[*ops[0].Path]; ok && sameFiles(ops, like.chunk(at)) {
			chunk = like.manifest[at]
		} else {
			chunk.Content = encodeTreeChunk(ops)
			chunk.Hash = sha256.Sum256(chunk.Content)
		}
		blobs = append(blobs, chunk)
		root = binary.AppendUvarint(append(root, chunk.Hash[:]...), uint64(len(ops)))
	}
	return append(blobs, Blob{Hash: sha256.Sum256(root), Content: root})
}

// chunk returns the files of the nth chunk, of which there is at least one.
func (t *Tree) chunk(nth int) []Op {
	first := 0
	if nth > 0 {
		first = t.cuts[nth-1]
	}
	return t.ops[first:t.cuts[nth]]
}

func sameFiles(a, b []Op) bool {
	return slices.EqualFunc(a, b, func(a, b Op) bool {
		return a.Blob == b.Blob && a.Size == b.Size && a.Type == b.Type && *a.Path == *b.Path
	})
}

func encodeTreeChunk(ops []Op) []byte {
	types, numbers := []string{}, map[unique.Handle[string]]int{}
	for i := range ops {
		if _, known := numbers[ops[i].Type]; !known {
			numbers[ops[i].Type] = len(types)
			types = append(types, ops[i].Type.Value())
		}
	}
	out := make([]byte, 0, 64+80*len(ops))
	out = append(out, treeMark, treeVersion, chunkKind)
	out = binary.AppendUvarint(out, uint64(len(types)))
	for _, text := range types {
		out = append(binary.AppendUvarint(out, uint64(len(text))), text...)
	}
	before := ""
	for i := range ops {
		op := &ops[i]
		path := *op.Path
		shared := commonPrefix(before, path)
		out = binary.AppendUvarint(out, uint64(shared))
		out = binary.AppendUvarint(out, uint64(len(path)-shared))
		out = append(append(out, path[shared:]...), op.Blob[:]...)
		out = binary.AppendUvarint(out, uint64(op.Size))
		out = binary.AppendUvarint(out, uint64(numbers[op.Type]))
		before = path
	}
	return out
}

func commonPrefix(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// manifestReader reads manifests, which may be damaged.
type manifestReader struct {
	get   func(Hash) ([]byte, error)
	types map[string]unique.Handle[string]
	ops   []Op
	// last is the path of the previous file.
	last string
}

var errManifest = errors.New("it is truncated or not a manifest")

func (r *manifestReader) open(hash Hash, kind byte) (*treeBytes, error) {
	content, err := r.get(hash)
	if err != nil {
		return nil, fmt.Errorf("manifest %x: %w", hash, err)
	}
	if sha256.Sum256(content) != hash {
		return nil, fmt.Errorf("manifest %x: it does not match its hash", hash)
	}
	b := &treeBytes{rest: content}
	if head := b.take(3); b.short || head[0] != treeMark || head[1] != treeVersion ||
		head[2] != kind {
		return nil, fmt.Errorf("manifest %x: %w", hash, errManifest)
	}
	return b, nil
}

// ReadTreeParts returns the hashes of the chunks of a manifest; get gives stored contents.
func ReadTreeParts(root Hash, get func(Hash) ([]byte, error)) (chunks []Hash, err error) {
	r := manifestReader{get: get}
	b, err := r.open(root, rootKind)
	if err != nil {
		return nil, err
	}
	b.uvarint()
	b.uvarint()
	for len(b.rest) > 0 && !b.short {
		chunks = append(chunks, Hash(b.take(len(Hash{}))))
		b.uvarint()
	}
	if b.short {
		return nil, fmt.Errorf("manifest %x: %w", root, errManifest)
	}
	return chunks, nil
}

// read returns the operations of a tree and the ends of its chunks.
func (r *manifestReader) read(root Hash) (ops []Op, cuts []int, err error) {
	b, err := r.open(root, rootKind)
	if err != nil {
		return nil, nil, err
	}
	files, bytes := b.uvarint(), b.uvarint()
	if files > treeFilesMax || bytes > math.MaxInt64 {
		return nil, nil, fmt.Errorf("manifest %x: it has %d files", root, files)
	}
	for len(b.rest) > 0 && !b.short {
		hash, count := Hash(b.take(len(Hash{}))), b.uvarint()
		if b.short || count > files-uint64(len(r.ops)) {
			return nil, nil, fmt.Errorf("manifest %x: %w", root, errManifest)
		}
		if err := r.chunk(hash, int(count)); err != nil {
			return nil, nil, err
		}
		cuts = append(cuts, len(r.ops))
	}
	total := uint64(0)
	for i := range r.ops {
		total += uint64(r.ops[i].Size)
	}
	if b.short || uint64(len(r.ops)) != files || total != bytes {
		return nil, nil, fmt.Errorf("manifest %x: %d files of %d bytes; its chunks have %d of %d",
			root, files, bytes, len(r.ops), total)
	}
	return r.ops, cuts, nil
}

func (r *manifestReader) chunk(hash Hash, files int) error {
	b, err := r.open(hash, chunkKind)
	if err != nil {
		return err
	}
	var types []unique.Handle[string]
	for range b.count(1) {
		types = append(types, r.mediaType(b.take(int(b.count(1)))))
	}
	if files == 0 || files > len(b.rest)/fileBytesLeast {
		return fmt.Errorf("manifest %x: %w", hash, errManifest)
	}
	// The paths of a chunk are parts of one string.
	texts, ends := make([]byte, 0, 48*files), make([]int, 0, files)
	first, begin := len(r.ops), 0
	for range files {
		shared, rest := b.uvarint(), b.take(int(b.count(1)))
		blob, size, kind := Hash(b.take(len(Hash{}))), b.uvarint(), b.uvarint()
		if b.short || shared > uint64(len(texts)-begin) || size > math.MaxUint32 ||
			kind >= uint64(len(types)) {
			return fmt.Errorf("manifest %x: %w", hash, errManifest)
		}
		end := len(texts)
		texts = append(append(texts, texts[begin:begin+int(shared)]...), rest...)
		begin = end
		ends = append(ends, len(texts))
		r.ops = append(r.ops, Op{
			Action: Create, Blob: blob, Size: uint32(size), Type: types[kind],
		})
	}
	if b.short || len(b.rest) > 0 {
		return fmt.Errorf("manifest %x: %w", hash, errManifest)
	}
	return r.name(hash, r.ops[first:], string(texts), ends)
}

// name sets the paths of files. They must be in order over all chunks.
func (r *manifestReader) name(chunk Hash, ops []Op, texts string, ends []int) error {
	paths, begin := make([]string, len(ops)), 0
	for i, end := range ends {
		paths[i] = texts[begin:end]
		if paths[i] <= r.last {
			return fmt.Errorf("manifest %x: %q comes after %q", chunk, paths[i], r.last)
		}
		ops[i].Path, r.last, begin = &paths[i], paths[i], end
	}
	return nil
}

func (r *manifestReader) mediaType(text []byte) unique.Handle[string] {
	known, ok := r.types[string(text)]
	if !ok {
		known = unique.Make(string(text))
		r.types[string(text)] = known
	}
	return known
}

// treeBytes reads parts from the front. At the end it returns zeros and sets short.
type treeBytes struct {
	rest  []byte
	short bool
}

func (b *treeBytes) take(n int) []byte {
	if n > len(b.rest) {
		b.short, b.rest = true, nil
		return make([]byte, min(n, len(Hash{})))
	}
	part := b.rest[:n]
	b.rest = b.rest[n:]
	return part
}

func (b *treeBytes) uvarint() uint64 {
	value, n := binary.Uvarint(b.rest)
	if n <= 0 {
		b.short, b.rest = true, nil
		return 0
	}
	b.rest = b.rest[n:]
	return value
}

// count reads a number of parts, each of which takes at least so many bytes.
func (b *treeBytes) count(least int) uint64 {
	n := b.uvarint()
	if n > uint64(len(b.rest)/least) {
		b.short, b.rest = true, nil
		return 0
	}
	return n
}
