package wal

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pws/internal/disk/disktest"
)

// crashDisk is a real folder with a model of what a crash would leave of it. tidwall writes into
// the folder; the model is updated after each of its calls.
type crashDisk struct{ *disktest.Watched }

func (d crashDisk) ReadDir(dir string) ([]os.DirEntry, error) { return osDisk{}.ReadDir(dir) }

func (d crashDisk) ReadFile(path string, buf []byte) ([]byte, error) {
	return osDisk{}.ReadFile(path, buf)
}

func (d crashDisk) Truncate(path string, size int64) error {
	if err := d.Step("Truncate", path); err != nil {
		return err
	}
	return errors.Join(osDisk{}.Truncate(path, size), d.Reflect())
}

func (d crashDisk) Sync(path string) error { return d.SyncFile(path) }

func (d crashDisk) Free(string) (int64, error) { return math.MaxInt64 / 2, nil }

func (d crashDisk) OpenStore(dir string, segmentBytes int) (store, error) {
	if err := d.Step("OpenStore", dir); err != nil {
		return nil, err
	}
	st, err := osDisk{}.OpenStore(dir, segmentBytes)
	if err != nil {
		return nil, err
	}
	return &crashStore{store: st, d: d, dir: dir}, d.Reflect()
}

// crashStore is a tidwall log that records in the model what it makes durable: Sync and Close the
// current segment, Write a full segment. It never syncs a directory.
type crashStore struct {
	store
	d   crashDisk
	dir string
}

func (s *crashStore) tail() string {
	segs, err := listSegments(osDisk{}, s.dir)
	if err != nil || len(segs) == 0 {
		panic(fmt.Sprint(s.dir, " has no segments: ", err))
	}
	return segs[len(segs)-1].path
}

func (s *crashStore) Write(index uint64, frame []byte) error {
	before := s.tail()
	if err := s.d.Step("Write", before); err != nil {
		return err
	}
	if err := s.store.Write(index, frame); err != nil || s.tail() == before {
		return errors.Join(err, s.d.Reflect())
	}
	return s.d.Synced(before)
}

func (s *crashStore) Sync() error { return s.d.SyncFile(s.tail()) }

func (s *crashStore) Close() error { return errors.Join(s.d.SyncFile(s.tail()), s.store.Close()) }

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
	d := crashDisk{watch(t, dir)}
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
	for at := range crashes {
		crashes[at].check(t)
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
		l, rec, err := Open(Options{Dir: dir, SegmentBytes: 220, disk: crashDisk{w}})
		if err != nil {
			t.Fatalf("%s: %v", img.what, err)
		}
		for kind := range disktest.CrashKinds {
			after := folderOf(t, w.AfterCrash(kind))
			again, found, err := Open(Options{Dir: after, SegmentBytes: 220, disk: unsyncedDisk{}})
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
