package blobs

import (
	"errors"
	"math/rand/v2"
	"testing"

	"pws/internal/disk"
	"pws/internal/disk/disktest"
)

// TestContentServedHasItsHash puts other bytes of the same length into blocks, with checksums that
// hold, as a block of another time would have: they are not served under the old hash, neither of
// a block that is shared nor of one that is not.
func TestContentServedHasItsHash(t *testing.T) {
	for name, size := range map[string]int{"shared block": 100, "block of its own": smallBytes + 1} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(9, uint64(size)))
			one, other := noise(r, size), noise(r, size)
			d := disktest.New()
			s, err := openOn(d)
			if err != nil {
				t.Fatal(err)
			}
			s.Add(1, Sum(one), one)
			mustPack(t, s, 1)
			s.Close()
			pack := "d/" + packName(0)
			data := d.Files()[pack].Data
			block := data[headerBytes : headerBytes+blockHeadBytes+size]
			if string(block[blockHeadBytes:]) != string(one) {
				t.Fatal("the block does not hold the content as it is")
			}
			copy(block[blockHeadBytes:], other)
			le.PutUint32(block, disk.Checksum(block[4:]))

			var c *CorruptError
			if _, err := verify(d, "d", nil); !errors.As(err, &c) || c.File != pack {
				t.Errorf("verify: %v", err)
			}
			if s, err = openOn(d); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if got, err := s.Get(Sum(one)); !errors.As(err, &c) || c.File != pack {
				t.Errorf("%d bytes are served, %v", len(got), err)
			}
			if got, err := s.Get(Sum(other)); !errors.Is(err, ErrNotFound) {
				t.Errorf("%d bytes are served under a hash that no entry has, %v", len(got), err)
			}
		})
	}
}

// TestOpenAfterAKill kills the process before every operation on names, opens the store, and then
// stops the machine at each operation of that Open and behind it: what the first Open has removed
// must not be needed by what the crash leaves.
func TestOpenAfterAKill(t *testing.T) {
	d := disktest.New()
	done, kills := 0, 0
	d.Before = func(op, path string) {
		if op != "SyncDir" && op != "Remove" && op != "Rename" {
			return
		}
		if kills++; kills%strideOf(5) != 0 {
			return
		}
		killed := d.AfterKill()
		for stop := 1; ; stop++ {
			next := killed.AfterKill()
			next.CrashAt = stop
			if s, err := openOn(next); err == nil {
				s.Close()
			}
			for kind := range disktest.CrashKinds {
				s, err := openOn(next.AfterCrash(kind))
				if err == nil {
					err = holds(s, done, done >= storyChapters-1)
					s.Close()
				}
				if err != nil {
					t.Fatalf("kill before %s of %s, stop at %d, crash %d: %v", op, path, stop, kind,
						err)
				}
			}
			if next.Ops < stop {
				return
			}
		}
	}
	s, err := openOn(d)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for ; done < storyChapters; done++ {
		if err := writeChapter(s, done+1); err != nil {
			t.Fatal(err)
		}
	}
	if d.Before = nil; kills < 30 {
		t.Fatalf("only %d kills", kills)
	}
}
