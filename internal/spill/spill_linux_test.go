package spill

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

const testExtent = 8 << 10

func open(t *testing.T, change func(*Config)) *File {
	t.Helper()
	c := Config{
		Path: filepath.Join(t.TempDir(), "spill"), ExtentBytes: testExtent, ReadBytesMax: 1 << 20,
	}
	if change != nil {
		change(&c)
	}
	f, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// pattern is a content of a number.
func pattern(n, size int) []byte {
	data := make([]byte, size)
	draw := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)})
	draw.Read(data)
	return data
}

func TestPutAndRead(t *testing.T) {
	f := open(t, nil)
	if names, err := os.ReadDir(filepath.Dir(f.config.Path)); err != nil || len(names) != 0 {
		t.Fatalf("the file has a name: %v, %v", names, err)
	}
	var all []func(int) []byte
	// They are more than one map, and more than may stay in memory.
	const count = mapBytes/testExtent + 100
	for n := range count {
		size := 1 + n*37%testExtent
		data := pattern(n, size)
		read := f.Put([][]byte{data[:size/3], data[size/3:]})
		if read == nil {
			t.Fatal("nothing was stored")
		}
		all = append(all, read)
	}
	for _, n := range rand.Perm(count) {
		size := 1 + n*37%testExtent
		whole := pattern(n, size)
		for part, want := range [][]byte{whole[:size/3], whole[size/3:]} {
			if got := all[n](part); !bytes.Equal(got, want) {
				t.Fatalf("part %d of extent %d has other bytes", part, n)
			}
		}
	}
	if used := f.Stats().UsedBytes; used != count*testExtent {
		t.Errorf("%d bytes are used", used)
	}
	if f.round.Load() < 3 {
		t.Errorf("pages left memory %d times", f.round.Load()-1)
	}
	runtime.KeepAlive(all)
}

func TestPutRefuses(t *testing.T) {
	roomy := true
	f := open(t, func(c *Config) {
		c.Roomy = func(bytes int64) bool { return roomy && bytes == testExtent }
	})
	for _, parts := range [][][]byte{nil, {{}}, {make([]byte, testExtent), {1}}} {
		if f.Put(parts) != nil {
			t.Errorf("%d parts were stored", len(parts))
		}
	}
	whole := f.Put([][]byte{make([]byte, testExtent)})
	if whole == nil || len(whole(0)) != testExtent {
		t.Error("a whole extent was not stored")
	}
	if roomy = false; f.Put([][]byte{{1}}) != nil {
		t.Error("it was stored on a full disk")
	}
	if roomy = true; f.Close() != nil || f.Put([][]byte{{1}}) != nil {
		t.Error("it was stored in a closed file")
	}
	if got := whole(0); len(got) != testExtent {
		t.Error("what was stored cannot be read after the file was closed")
	}
	runtime.KeepAlive(whole)
}

func TestFailedWrite(t *testing.T) {
	f := open(t, nil)
	first := f.Put([][]byte{{1}})
	// A descriptor that is only open for reading fails every write.
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	good := f.file
	f.file = file
	if f.Put([][]byte{{2}}) != nil {
		t.Error("a failed write was taken for one that succeeded")
	}
	f.file = good
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	again := f.Put([][]byte{{3}})
	if used := f.Stats(); used.FileBytes != 2*testExtent {
		t.Errorf("the extent of the failed write is lost: %+v", used)
	}
	if !bytes.Equal(first(0), []byte{1}) || !bytes.Equal(again(0), []byte{3}) {
		t.Error("other bytes were read")
	}
}

func TestUnreachableExtentsAreFreed(t *testing.T) {
	f := open(t, nil)
	kept := f.Put([][]byte{pattern(1, 100)})
	for n := range 50 {
		f.Put([][]byte{pattern(n, testExtent)})
	}
	for f.Stats().UsedBytes > testExtent {
		runtime.GC()
	}
	size := f.Stats().FileBytes
	var more []func(int) []byte
	for n := range 50 {
		more = append(more, f.Put([][]byte{pattern(n, 10)}))
	}
	if f.Stats().FileBytes != size {
		t.Error("free extents are not used again")
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.file.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if st.Blocks*512 > 60*testExtent {
		t.Errorf("%d bytes of the disk are used", st.Blocks*512)
	}
	if !bytes.Equal(kept(0), pattern(1, 100)) {
		t.Error("an extent in use has other bytes")
	}
	runtime.KeepAlive(more)
}

func TestMapsEndAfterTheLastReader(t *testing.T) {
	f := open(t, nil)
	read := f.Put([][]byte{{7}})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := read(0); !bytes.Equal(got, []byte{7}) {
		t.Fatal("other bytes")
	}
	maps := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.mu.maps)
	}
	if maps() == 0 {
		t.Fatal("a map ended that is in use")
	}
	read = nil
	for maps() > 0 {
		runtime.GC()
	}
}

func TestDamageIsReported(t *testing.T) {
	var reported error
	f := open(t, func(c *Config) { c.OnDamage = func(err error) { reported = err } })
	read := f.Put([][]byte{pattern(1, 1_000)})
	read(0)
	if _, err := f.file.WriteAt([]byte("damage"), 500); err != nil {
		t.Fatal(err)
	}
	f.forget(f.round.Load())
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, ErrDamaged) || reported != err {
			t.Errorf("panic %v, reported %v", err, reported)
		}
	}()
	read(0)
	t.Error("damaged bytes were read")
}

func TestReplacesWhatIsLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "left")
	if err := os.WriteFile(path, pattern(9, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	f := open(t, func(c *Config) { c.Path = path })
	if f.Put([][]byte{{1}}) == nil {
		t.Error("nothing was stored")
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the name is still there: %v", err)
	}
	if _, err := Open(Config{Path: filepath.Join(path, "none"), ExtentBytes: testExtent}); err == nil {
		t.Error("a file was made in a folder that is missing")
	}
}

// TestSpillSurvivesConcurrentUse has many put, read and forget at one time.
func TestSpillSurvivesConcurrentUse(t *testing.T) {
	f := open(t, func(c *Config) { c.ReadBytesMax = 20 * aroundBytes })
	var all sync.WaitGroup
	failures := make(chan error, 8)
	for worker := range 8 {
		all.Go(func() {
			draw := rand.New(rand.NewPCG(uint64(worker), 0))
			kept := map[int]func(int) []byte{}
			for step := range 600 {
				n := worker*1_000 + step
				kept[n] = f.Put([][]byte{pattern(n, 1+n%testExtent)})
				for n, read := range kept {
					if !bytes.Equal(read(0), pattern(n, 1+n%testExtent)) {
						failures <- fmt.Errorf("extent %d has other bytes", n)
						return
					}
					if draw.IntN(20) == 0 {
						delete(kept, n)
					}
					if draw.IntN(3) == 0 {
						break
					}
				}
				if step%100 == 0 {
					runtime.GC()
				}
			}
		})
	}
	all.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
}
