package snapshot

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"pws/internal/disk"
	"pws/internal/disk/disktest"
)

// story is a fixed series of runs that makes files, deletions and compaction.
type story struct {
	o      Options
	states []map[string]string // after each commit; states[0] is empty
}

const storyRuns = 9

func newStory() *story {
	st := &story{o: Options{Dir: "d", FilesMax: 3, CompactionBytes: 400},
		states: []map[string]string{{}}}
	for run := 1; run <= storyRuns; run++ {
		next := maps.Clone(st.states[run-1])
		put, gone := st.changes(run)
		maps.Copy(next, put)
		for _, k := range gone {
			delete(next, k)
		}
		st.states = append(st.states, next)
	}
	return st
}

func (*story) changes(run int) (map[string]string, []string) {
	put := map[string]string{}
	for i := range 4 {
		key := fmt.Sprintf("key-%d", (run*3+i)%11)
		put[key] = fmt.Sprintf("%s of run %d, %0*d", key, run, 30*i, run)
	}
	return put, []string{fmt.Sprintf("key-%d", (run*3+5)%11)}
}

func (st *story) commit(s *Store, run int) error {
	w, err := s.Begin()
	if err != nil {
		return err
	}
	defer w.Abort()
	put, gone := st.changes(run)
	for i := range 11 {
		key := fmt.Sprintf("key-%d", i)
		if v, ok := put[key]; ok {
			if err := w.Put(key, uint64(run), []byte(v)); err != nil {
				return err
			}
		}
	}
	for _, key := range gone {
		if err := w.Delete(key); err != nil {
			return err
		}
	}
	return w.Commit(uint64(run))
}

// at says which run of the story a store shows. A read may meet the one injected fault; the next
// read then has to be right.
func (st *story) at(s *Store) (int, error) {
	run, err := st.look(s)
	if errors.Is(err, disktest.ErrInjected) {
		return st.look(s)
	}
	return run, err
}

func (st *story) look(s *Store) (int, error) {
	run := int(s.Position())
	n := 0
	var err error
	s.Keys("", func(key string, _ uint64) bool {
		n++
		data, _, ok, rerr := s.Read(key)
		if want := st.states[run][key]; rerr != nil {
			err = fmt.Errorf("run %d, %s: %w", run, key, rerr)
		} else if !ok || string(data) != want {
			err = fmt.Errorf("run %d, %s is %q, want %q", run, key, data, want)
		}
		return err == nil
	})
	if err == nil && n != len(st.states[run]) {
		err = fmt.Errorf("run %d has %d sections instead of %d", run, n, len(st.states[run]))
	}
	return run, err
}

func (st *story) open(d *disktest.Disk) (*Store, error) {
	o := st.o
	o.disk = d
	return Open(o)
}

// TestCrashAtEveryStep stops the machine at every operation of the story, in three ways, and
// expects the next start to show the last committed run or the one that was being committed.
func TestCrashAtEveryStep(t *testing.T) {
	st := newStory()
	for i := 1; ; i += stride {
		d := disktest.New()
		d.CrashAt = i
		done := 0
		if s, err := st.open(d); err == nil {
			for run := 1; run <= storyRuns; run++ {
				if st.commit(s, run) != nil {
					break
				}
				done = run
			}
			s.Close()
		}
		for kind := range disktest.CrashKinds {
			after := d.AfterCrash(kind)
			if _, err := verify(after, "d"); err != nil {
				t.Fatalf("crash at %d, kind %d: verify: %v", i, kind, err)
			}
			s, err := st.open(after)
			if err != nil {
				t.Fatalf("crash at %d, kind %d: open: %v", i, kind, err)
			}
			run, err := st.at(s)
			if err != nil || run < done || run > done+1 {
				t.Fatalf("crash at %d, kind %d: at run %d after %d: %v", i, kind, run, done, err)
			}
			for run++; run <= storyRuns; run++ {
				if err := st.commit(s, run); err != nil {
					t.Fatalf("crash at %d, kind %d: run %d: %v", i, kind, run, err)
				}
			}
			if run, err := st.at(s); err != nil || run != storyRuns {
				t.Fatalf("crash at %d, kind %d: ends at run %d: %v", i, kind, run, err)
			}
			if n := s.Stats().Files; n > st.o.FilesMax {
				t.Fatalf("%d files", n)
			}
			s.Close()
		}
		if d.Ops < i {
			if done != storyRuns || i < 100 {
				t.Fatalf("the story ended at run %d after %d operations", done, d.Ops)
			}
			return
		}
	}
}

// TestEveryOperationFailsOnce lets each operation fail once; the caller tries again, and reopens it
// where the store asks for it. Nothing may be lost, nothing half done may be seen.
func TestEveryOperationFailsOnce(t *testing.T) {
	st := newStory()
	for i := 1; ; i += stride {
		d := disktest.New()
		d.FailAt = i
		s, err := st.open(d)
		if err != nil {
			if s, err = st.open(d); err != nil {
				t.Fatalf("fault at %d: second open: %v", i, err)
			}
		}
		for run := 1; run <= storyRuns; run++ {
			before := d.Ops
			err := st.commit(s, run)
			if err == nil {
				continue
			}
			if before >= i {
				t.Fatalf("fault at %d: a later commit fails: %v", i, err)
			}
			if got, rerr := st.at(s); rerr != nil || got != run-1 {
				t.Fatalf("fault at %d: failed commit shows run %d: %v", i, got, rerr)
			}
			if errors.Is(err, ErrUncertain) {
				if _, berr := s.Begin(); !errors.Is(berr, ErrUncertain) {
					t.Fatalf("fault at %d: begin after an unknown outcome: %v", i, berr)
				}
				s.Close()
				if s, err = st.open(d); err != nil {
					t.Fatalf("fault at %d: open after an unknown outcome: %v", i, err)
				}
				if run = int(s.Position()); run == storyRuns {
					break
				}
				continue
			}
			run--
		}
		if got, err := st.at(s); err != nil || got != storyRuns {
			t.Fatalf("fault at %d: ends at run %d: %v", i, got, err)
		}
		s.Close()
		over := d.Ops < i
		d.FailAt = 0
		if _, err := verify(d, "d"); err != nil {
			t.Fatalf("fault at %d: verify: %v", i, err)
		}
		s, err = st.open(d.AfterCrash(disktest.CrashKeepsNothing))
		if err != nil {
			t.Fatalf("fault at %d: last open: %v", i, err)
		}
		if got, err := st.at(s); err != nil || got != storyRuns {
			t.Fatalf("fault at %d: durable is run %d: %v", i, got, err)
		}
		s.Close()
		if over {
			return
		}
	}
}

// finished is the disk at the end of the story.
func (st *story) finished(t *testing.T) *disktest.Disk {
	d := disktest.New()
	s, err := st.open(d)
	if err != nil {
		t.Fatal(err)
	}
	for run := 1; run <= storyRuns; run++ {
		if err := st.commit(s, run); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	return d
}

// damaged opens a damaged copy and checks that the damage of file name is reported there, and that
// nothing wrong is served.
func (st *story) damaged(t *testing.T, d *disktest.Disk, name, what string) {
	t.Helper()
	var c *CorruptError
	if _, err := verify(d, "d"); !errors.As(err, &c) || c.File != name {
		t.Fatalf("%s of %s: verify says %v", what, name, err)
	}
	s, err := st.open(d)
	if err != nil {
		if !errors.As(err, &c) || c.File != name || !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%s of %s: open says %v", what, name, err)
		}
		return
	}
	defer s.Close()
	for key, want := range st.states[storyRuns] {
		data, _, ok, err := s.Read(key)
		if err != nil {
			if !errors.As(err, &c) || c.File != name {
				t.Fatalf("%s of %s: read says %v", what, name, err)
			}
		} else if !ok || string(data) != want {
			t.Fatalf("%s of %s: %s is served as %q", what, name, key, data)
		}
	}
}

func TestEveryByteIsGuarded(t *testing.T) {
	st := newStory()
	end := st.finished(t)
	for name, n := range end.Files() {
		for i := 0; i < len(n.Data); i += stride {
			d := end.AfterCrash(disktest.CrashKeepsAll)
			d.Files()[name].Data[i] ^= 1 << (i % 8)
			st.damaged(t, d, name, fmt.Sprintf("bit flip at %d", i))
			d = end.AfterCrash(disktest.CrashKeepsAll)
			d.Files()[name].Data = d.Files()[name].Data[:i]
			st.damaged(t, d, name, fmt.Sprintf("cut at %d", i))
		}
	}
}

func TestLostNewestManifestIsNoticed(t *testing.T) {
	st := newStory()
	d := st.finished(t)
	// Without its two newest manifests a directory would look like an older one.
	for run := storyRuns - 1; run <= storyRuns; run++ {
		d.Lose("d/" + manifestName(uint32(run)))
	}
	if _, err := st.open(d); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("open: %v", err)
	}
	if _, err := verify(d, "d"); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("verify: %v", err)
	}
}

// TestDamageDoesNotStopRuns has a section damaged while the store is open: runs that would move it
// leave it where it is, and go on.
func TestDamageDoesNotStopRuns(t *testing.T) {
	d := disktest.New()
	o := Options{Dir: "d", FilesMax: 4, disk: d}
	s := mustOpen(t, o)
	mustRun(t, s, 1, map[string]string{"bad": "to be damaged", "good": "kept"})
	e, _ := s.state.Load().find("bad")
	d.Files()["d/"+sectionsName(1)].Data[e.offset+sectionHeadBytes+3] ^= 1
	var c *CorruptError
	if _, _, _, err := s.Read("bad"); !errors.As(err, &c) || c.Offset != int64(e.offset) {
		t.Fatalf("read: %v", err)
	}
	for i := range 20 {
		mustRun(t, s, uint64(2+i), map[string]string{"other": fmt.Sprint(i)})
	}
	if st := s.Stats(); !errors.Is(st.Damage, ErrCorrupt) || st.Files > o.FilesMax+1 {
		t.Fatalf("stats %+v", st)
	}
	if data, _, _, err := s.Read("good"); err != nil || string(data) != "kept" {
		t.Fatalf("good is %q, %v", data, err)
	}
	mustRun(t, s, 30, map[string]string{"bad": "written anew"})
	mustRun(t, s, 31, nil)
	wantContents(t, s, map[string]string{"bad": "written anew", "good": "kept", "other": "19"})
}

// TestFullDisk commits on a disk that is too small, by a little more each time: the fault says that
// the disk is full, the generation before stays, and with space the same run succeeds.
func TestFullDisk(t *testing.T) {
	const step = 31
	for more, done := 0, false; !done; more += step {
		st, d := newStory(), disktest.New()
		st.o.disk = d
		s, err := Open(st.o)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.commit(s, 1); err != nil {
			t.Fatal(err)
		}
		d.Capacity = d.Used() + 1 + more
		if err = st.commit(s, 2); err == nil {
			done = true
		} else if !disk.IsFull(err) || errors.Is(err, ErrUncertain) {
			t.Fatalf("%d bytes: %v", more, err)
		}
		if err != nil && s.Position() != 1 {
			t.Fatalf("%d bytes: the position is %d", more, s.Position())
		}
		d.Capacity = 0
		if err := st.commit(s, 2); err != nil {
			t.Fatalf("%d bytes, then space: %v", more, err)
		}
		if s.Position() != 2 {
			t.Fatalf("%d bytes, then space: the position is %d", more, s.Position())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if more == 0 && done {
			t.Fatal("the disk was never full")
		}
	}
}

// TestNoCompactionWithoutSpace goes on saving while nothing may be moved out of old files, and
// compacts as soon as it may.
func TestNoCompactionWithoutSpace(t *testing.T) {
	st, d := newStory(), disktest.New()
	st.o.disk = d
	permitted := false
	st.o.MayCompact = func(int64) bool { return permitted }
	s, err := Open(st.o)
	if err != nil {
		t.Fatal(err)
	}
	for run := 1; run <= storyRuns; run++ {
		if run == storyRuns {
			if files := len(s.state.Load().files); files <= st.o.FilesMax {
				t.Fatalf("%d files, as if they had been compacted", files)
			}
			permitted = true
		}
		if err := st.commit(s, run); err != nil {
			t.Fatal(err)
		}
	}
	if files := len(s.state.Load().files); files > st.o.FilesMax {
		t.Fatalf("%d files, though they may be compacted", files)
	}
	for key, want := range st.states[storyRuns] {
		got, _, ok, err := s.Read(key)
		if err != nil || !ok || string(got) != want {
			t.Fatalf("%s is %q, not %q: %v", key, got, want, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
