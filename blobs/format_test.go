package blobs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pws/internal/disk/disktest"

	"pws/internal/disk"
)

var freeze = flag.Bool("freeze", false, "write the sample of the current format version")

// frozenBlobs are empty, small, compressible alone, and not compressible.
func frozenBlobs() [][]byte {
	var hard []byte
	for i := range 200 {
		h := Sum([]byte{byte(i)})
		hard = append(hard, h[:]...)
	}
	return [][]byte{{}, []byte("package main\n"), bytes.Repeat([]byte("a line of text\n"), 400),
		bytes.Repeat([]byte("small "), 20), hard, hard[:100]}
}

// TestFrozenSamples reads what earlier versions have written.
func TestFrozenSamples(t *testing.T) {
	all := frozenBlobs()
	if *freeze {
		dir := filepath.Join("testdata", fmt.Sprintf("v%d", formatVersion))
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, Options{Dir: dir})
		for i, c := range all {
			s.Add(uint64(i), Sum(c), c)
		}
		mustPack(t, s, 3)
		mustPack(t, s, 9)
		s.Close()
	}
	samples, err := filepath.Glob("testdata/v*")
	if err != nil || len(samples) != formatVersion {
		t.Fatalf("%d samples for version %d, %v", len(samples), formatVersion, err)
	}
	for _, sample := range samples {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(sample)); err != nil {
			t.Fatal(err)
		}
		if r, err := Verify(dir, nil); err != nil || r.Packs != 2 || r.Blobs != int64(len(all)) {
			t.Fatalf("%s: %+v, %v", sample, r, err)
		}
		s := mustOpen(t, Options{Dir: dir})
		for _, c := range all {
			mustGet(t, s, c)
		}
	}
}

// packOf wraps arbitrary blocks and entries so that all checksums hold, and the parsers behind them
// see what a hostile file could say.
func packOf(blocks, entries []byte) []byte {
	b := append(appendHeader(nil, 1), blocks...)
	f := footer{index: uint64(len(b)), number: 1}
	var page []entry
	for ; len(entries) >= entryBytes; entries = entries[entryBytes:] {
		e := parseEntry(entries)
		page = append(page, e)
		f.content += uint64(e.size)
		f.blobs++
		if len(page) == pageEntries || len(entries) < 2*entryBytes {
			start := len(b)
			b = appendPage(b, page)
			f.indexCRC = disk.UpdateChecksum(f.indexCRC, b[start:])
			page = page[:0]
		}
	}
	return appendFooter(b, f)
}

// entries reads the whole index, in order of hashes.
func (p *pack) entries() (all []entry, err error) {
	err = p.eachPage(func(_ int64, _ []byte, g page) error {
		for i := range g.n {
			all = append(all, g.entry(i))
		}
		return nil
	})
	return all, err
}

// readAll opens bytes as a pack and reads every blob; only damage may come of it.
func readAll(t *testing.T, b []byte) {
	d := disktest.New()
	d.Put("d/"+packName(1), b)
	p, err := openPack(d, "d", 1, int64(len(b)), nil)
	if err != nil {
		if !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		return
	}
	all, err := p.entries()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if _, ok, err := p.find(&e.hash); !ok || err != nil {
			t.Fatalf("blob %v is in the index and not found: %v", e.hash, err)
		}
		if c, err := p.read(e); err == nil && Sum(c) != e.hash {
			t.Fatal("wrong content is served")
		} else if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
	}
	if err := p.check(func() {}, nil, nil); err != nil && !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}
}

func FuzzPack(f *testing.F) {
	content := bytes.Repeat([]byte("x"), 100)
	blocks := appendBlock(nil, content)
	entries := appendEntry(nil, entry{hash: Sum(content), block: headerBytes, size: 100,
		blockLen: uint32(len(blocks))})
	f.Add(blocks, entries)
	f.Add(appendBlock(nil, nil), appendEntry(entries, entry{hash: Sum(nil), block: headerBytes}))
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, blocks, entries []byte) {
		readAll(t, blocks)
		readAll(t, packOf(blocks, entries))
		if len(blocks) >= blockHeadBytes {
			// A block whose own checksum holds, so that its lengths are believed.
			b := bytes.Clone(blocks)
			le.PutUint32(b, disk.Checksum(b[4:]))
			readAll(t, packOf(b, entries))
		}
	})
}

func FuzzManifest(f *testing.F) {
	m := manifest{next: 3, packs: []disk.FileRef{{Number: 1, Size: 100}, {Number: 2}}}
	good := appendManifest(nil, m)
	f.Add(good[:len(good)-4])
	f.Add([]byte(manifestMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, le.AppendUint32(bytes.Clone(b), disk.Checksum(b))} {
			m, err := parseManifest("manifest", b)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			if !bytes.Equal(appendManifest(nil, m), b) {
				t.Fatalf("%x does not encode to itself", b)
			}
		}
	})
}

// TestWalkInParts goes through a pack with more blobs than a walk has in memory.
func TestWalkInParts(t *testing.T) {
	d := disktest.New()
	if err := d.MakeDir("d"); err != nil {
		t.Fatal(err)
	}
	b, err := newBuilder(d, "d", 1)
	if err != nil {
		t.Fatal(err)
	}
	const blobs = 2*walkBlobs + 1000
	for n := range blobs {
		content := binary.LittleEndian.AppendUint32(nil, uint32(n))
		if n%10_000 == 0 {
			content = append(content, make([]byte, smallBytes)...)
		}
		if err := b.add(Sum(content), content); err != nil {
			t.Fatal(err)
		}
	}
	p, err := b.finish()
	if err != nil {
		t.Fatal(err)
	}
	defer p.f.Close()
	var marked, seen, most, yields int
	next, block := uint64(0), uint64(0)
	all, err := p.entries()
	if err != nil {
		t.Fatal(err)
	}
	mark := func(nth int, e *entry) {
		marked++
		e.dead = nth%2 == 0
		if all[nth].hash != e.hash {
			t.Fatalf("entry %d has another number", nth)
		}
	}
	err = p.walk(mark, func() { yields++ }, func(whole []byte, entries []entry) error {
		if block = entries[0].block; block < next {
			t.Fatalf("block %d comes after %d", block, next)
		}
		next = block + uint64(len(whole))
		most = max(most, len(entries))
		for _, e := range entries {
			nth, _ := slices.BinarySearchFunc(all, e.hash, func(a entry, h Hash) int {
				return bytes.Compare(a.hash[:], h[:])
			})
			if e.dead != (nth%2 == 0) {
				t.Fatalf("entry %d has the mark of another", nth)
			}
			seen++
		}
		return nil
	})
	if err != nil || marked != blobs || seen != blobs || next != p.footer.index {
		t.Errorf("%d marked and %d seen of %d, up to %d of %d: %v", marked, seen, blobs, next,
			p.footer.index, err)
	}
	if pages := 3 * int(p.footer.pages()); yields < pages {
		t.Errorf("%d yields for %d pages", yields, pages)
	}
}
