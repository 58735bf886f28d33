package wal

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"pws/internal/disk/disktest"
)

// crashDisk is a real folder with a model of what a crash would leave of it. The model is updated
// after each call.
type crashDisk struct {
	*disktest.Watched
	// mu makes an operation and its update of the model one step: the log has segments made and
	// closed in the background.
	mu sync.Mutex
}

func (d *crashDisk) MakeDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Watched.MakeDir(dir)
}

func (d *crashDisk) ReadDir(dir string) ([]os.DirEntry, error) { return osDisk{}.ReadDir(dir) }

func (d *crashDisk) ReadFile(path string, buf []byte) ([]byte, error) {
	return osDisk{}.ReadFile(path, buf)
}

func (d *crashDisk) Truncate(path string, size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.Step("Truncate", path); err != nil {
		return err
	}
	return errors.Join(osDisk{}.Truncate(path, size), d.Reflect())
}

func (d *crashDisk) Sync(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.SyncFile(path)
}

func (d *crashDisk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Watched.SyncDir(dir)
}

func (d *crashDisk) Remove(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := os.Stat(path); err != nil {
		return err
	}
	return d.Watched.Remove(path)
}

func (d *crashDisk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Watched.Rename(from, to)
}

func (d *crashDisk) Free(string) (int64, error) { return math.MaxInt64 / 2, nil }

func (d *crashDisk) Check(dir string) (last uint64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.Step("Check", dir); err != nil {
		return 0, err
	}
	last, err = osDisk{}.Check(dir)
	return last, errors.Join(err, d.Reflect())
}

func (d *crashDisk) CreateSegment(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.Step("CreateSegment", path); err != nil {
		return err
	}
	return errors.Join(unsyncedDisk{}.CreateSegment(path), d.Synced(path))
}

func (d *crashDisk) OpenSegment(path string, size int64) (segmentFile, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.Step("OpenSegment", path); err != nil {
		return nil, err
	}
	file, err := openSegment(path, size)
	if err != nil {
		return nil, err
	}
	return &crashSegment{file: file, d: d, path: path}, d.Reflect()
}

// crashSegment records in the model what is written, and what Sync makes durable.
type crashSegment struct {
	file *osSegment
	d    *crashDisk
	path string
}

func (s *crashSegment) WriteAt(b []byte, offset int64) (int, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if err := s.d.Step("WriteAt", s.path); err != nil {
		return 0, err
	}
	n, err := s.file.WriteAt(b, offset)
	return n, errors.Join(err, s.d.Reflect())
}

func (s *crashSegment) Block() int64 { return s.file.Block() }

func (s *crashSegment) Fill(from, to int64) error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if err := s.d.Step("Fill", s.path); err != nil {
		return err
	}
	return errors.Join(s.file.Appended.Fill(from, to), s.d.Reflect())
}

func (s *crashSegment) Sync() error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return s.d.SyncFile(s.path)
}

func (s *crashSegment) Truncate(size int64) error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if err := s.d.Step("TruncateSegment", s.path); err != nil {
		return err
	}
	return errors.Join(s.file.Truncate(size), s.d.Reflect())
}

func (s *crashSegment) Close() error { return s.file.Close() }

// image is the directory after a crash or kill before an operation.
type image struct {
	*disktest.Disk
	what       string
	acked, cut uint64
}

// imagesOf runs the workload in a folder, and copies what each kind of crash, and a kill, would
// leave before every operation.
func imagesOf(t *testing.T, dir string) (crashes, kills []image) {
	w := &workload{t: t}
	d := &crashDisk{Watched: watch(t, dir)}
	d.Before = func(op, _ string) {
		img := image{acked: w.acked.Load()}
		if img.acked >= 12 {
			img.cut = 7
		}
		for kind := range disktest.CrashKinds {
			img.Disk, img.what = d.AfterCrash(kind), fmt.Sprint("crash ", kind, " before ", op)
			crashes = append(crashes, img)
		}
		img.Disk, img.what = d.AfterKill(), fmt.Sprint("kill before ", op)
		kills = append(kills, img)
	}
	w.run(dir, d)
	if w.err != nil || w.acked.Load() != 20 || len(kills) < 50 {
		t.Fatalf("%d acknowledged, %d images: %v", w.acked.Load(), len(kills), w.err)
	}
	return crashes, kills
}

// check expects all acknowledged entries, and at most the one that was being written.
func (img *image) check(t *testing.T) {
	t.Helper()
	w := &workload{t: t, tried: img.acked + 1, cut: img.cut}
	w.acked.Store(img.acked)
	w.checkSurvivor(folderOf(t, img.Disk), fmt.Sprintf("%s, acknowledged %d", img.what, img.acked))
}

func watch(t *testing.T, dir string) *disktest.Watched {
	t.Helper()
	w, err := disktest.Watch(dir)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func folderOf(t *testing.T, d *disktest.Disk) string {
	t.Helper()
	dir := t.TempDir()
	if err := d.WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestCrashAtEveryStep crashes the machine before every operation, in each way: unsynced names may
// be lost, removed ones may reappear, and unsynced bytes may be missing.
func TestCrashAtEveryStep(t *testing.T) {
	crashes, _ := imagesOf(t, t.TempDir())
	for i := range crashes {
		crashes[i].check(t)
	}
}

// TestOpenReportsWhatIsDurable kills the process before every operation and opens the log. What
// Open reports must be durable, and a torn tail that it removed must not reappear.
func TestOpenReportsWhatIsDurable(t *testing.T) {
	_, kills := imagesOf(t, t.TempDir())
	torn := kills[len(kills)-1]
	tail := lastFile(torn.Disk)
	torn.Files()[tail].Data = append(torn.Files()[tail].Data, "\x90\x01PWSL torn"...)
	durable := append([]byte(nil), torn.Files()[tail].Data...)
	torn.Put(tail, durable)
	torn.what = "a torn tail"
	for _, img := range append(kills, torn) {
		dir := folderOf(t, img.Disk)
		w := watch(t, dir)
		w.Adopt(img.Disk)
		l, rec, err := Open(Options{Dir: dir, SegmentBytes: 600, disk: &crashDisk{Watched: w}})
		if err != nil {
			t.Fatalf("%s: %v", img.what, err)
		}
		for kind := range disktest.CrashKinds {
			after := folderOf(t, w.AfterCrash(kind))
			again, found, err := Open(Options{Dir: after, SegmentBytes: 600, disk: unsyncedDisk{}})
			if err != nil {
				t.Fatalf("%s, then crash %d: %v", img.what, kind, err)
			}
			if found.Last != rec.Last || found.TornBytes != 0 {
				t.Fatalf("%s, then crash %d: %+v, after %+v", img.what, kind, found, rec)
			}
			mustClose(t, again)
		}
		mustClose(t, l)
	}
}

func lastFile(d *disktest.Disk) (last string) {
	for name := range d.Files() {
		if filepath.Base(name) != lockName {
			last = max(last, name)
		}
	}
	return last
}

// TestSyncIsSystemCall checks that a sync of the real disk reaches the kernel, which refuses it for
// a device without storage and a directory of /proc.
func TestSyncIsSystemCall(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("there is no /proc")
	}
	if err := (osDisk{}).Sync(os.DevNull); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Sync of a device: %v", err)
	}
	if err := (osDisk{}).SyncDir("/proc"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("SyncDir of /proc: %v", err)
	}
	if err := (osDisk{}).MakeDir("/proc/self"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("MakeDir in /proc: %v", err)
	}
}
