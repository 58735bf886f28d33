package blobs

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"pws/internal/disk"
	"pws/internal/disk/disktest"
)

func none(Hash) bool { return false }

// packed is a store on a disk with some blobs in one pack, of which none is in memory.
func packed(t *testing.T, d disk.Disk) (s *Store, all [][]byte) {
	t.Helper()
	s = mustOpen(t, Options{Dir: "d", CacheBytes: 1, disk: d})
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 20 {
		content := text(r, 100+n)
		all = append(all, content)
		s.Add(1, Sum(content), content)
	}
	mustPack(t, s, 1)
	return s, all
}

// TestPackReadsContentsBack has the disk change a byte of a content that was written: the call
// fails, the contents stay in memory, and the next call has success.
func TestPackReadsContentsBack(t *testing.T) {
	d := disktest.New()
	s, _ := packed(t, d)
	content := noise(rand.New(rand.NewPCG(1, 1)), 300)
	s.Add(2, Sum(content), content)
	changed := false
	d.Before = func(op, path string) {
		if op == "Rename" && strings.Contains(path, packName(1)) {
			d.Files()["d/"+packName(1)+".tmp"].Data[headerBytes+blockHeadBytes+1] ^= 1
			changed = true
		}
	}
	err := s.Pack(2)
	if d.Before = nil; !changed || !errors.Is(err, ErrCorrupt) {
		t.Fatalf("changed: %v, pack: %v", changed, err)
	}
	if s.RecentBytes() != 300 {
		t.Errorf("%d bytes are in memory", s.RecentBytes())
	}
	mustGet(t, s, content)
	mustPack(t, s, 2)
	mustGet(t, s, content)
}

// TestHashesWithACommonPrefix fills several pages of an index with hashes whose first eight
// bytes are the same: each of them is found.
func TestHashesWithACommonPrefix(t *testing.T) {
	block := appendBlock(nil, []byte("content"))
	var entries []byte
	for n := range 3*pageEntries + 1 {
		e := entry{block: headerBytes, size: 7, blockLen: uint32(len(block))}
		copy(e.hash[:], "the same")
		binary.BigEndian.PutUint16(e.hash[8:], uint16(n))
		entries = appendEntry(entries, e)
	}
	d := disktest.New()
	data := packOf(block, entries)
	d.Put("d/"+packName(1), data)
	p, err := openPack(d, "d", 1, int64(len(data)), nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.entries()
	if err != nil || len(all) != 3*pageEntries+1 {
		t.Fatalf("%d entries, %v", len(all), err)
	}
	for n := range all {
		if e, ok, err := p.find(&all[n].hash); !ok || err != nil || e.hash != all[n].hash {
			t.Fatalf("hash %d is found: %v, %v", n, ok, err)
		}
	}
}

// hookedDisk calls a function once AFTER the next read, before the caller sees what was read.
type hookedDisk struct {
	*disktest.Disk
	after func()
}

func (d *hookedDisk) Open(path string) (disk.File, error) {
	f, err := d.Disk.Open(path)
	return &hookedFile{f, d}, err
}

type hookedFile struct {
	disk.File
	d *hookedDisk
}

func (f *hookedFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	if after := f.d.after; after != nil {
		f.d.after = nil
		after()
	}
	return n, err
}

// TestHasRacesWithMerge has a Drop remove everything between the look at an index and the answer:
// the answer is that of the store as it is then.
func TestHasRacesWithMerge(t *testing.T) {
	d := &hookedDisk{Disk: disktest.New()}
	s, all := packed(t, d)
	d.after = func() {
		if err := dropOthers(s, none); err != nil || s.Stats().Packs != 0 {
			t.Errorf("drop: %+v, %v", s.Stats(), err)
		}
	}
	if s.Has(Sum(all[0])) {
		t.Error("it is there, and a Drop has removed it")
	}
}

// TestGetRacesWithMerge has a Drop move a blob and close its pack while it is being read.
func TestGetRacesWithMerge(t *testing.T) {
	d := disktest.New()
	s, all := packed(t, d)
	wanted, merged := Sum(all[0]), false
	d.Before = func(op, path string) {
		if op != "ReadAt" || !strings.Contains(path, packName(0)) {
			return
		}
		d.Before = nil
		err := dropOthers(s, func(h Hash) bool { return h == wanted })
		if st := s.Stats(); err != nil || st.Packs != 1 || st.PackedBlobs != 1 {
			t.Errorf("drop: %+v, %v", st, err)
		}
		merged = true
	}
	if got, err := s.Get(wanted); err != nil || Sum(got) != wanted || !merged {
		t.Errorf("merged: %v, %d bytes, %v", merged, len(got), err)
	}
}
