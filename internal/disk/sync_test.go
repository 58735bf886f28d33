package disk

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestSyncIsSystemCall checks that Sync and SyncDir reach the kernel: it refuses to sync a device
// without storage and a directory of /proc, while all other calls on them succeed.
func TestSyncIsSystemCall(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("there is no /proc")
	}
	f, err := OS{}.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Sync of a device: %v", err)
	}
	if err := (OS{}).SyncDir("/proc"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("SyncDir of /proc: %v", err)
	}
	if err := (OS{}).MakeDir("/proc/self"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("MakeDir in /proc: %v", err)
	}
}

// TestMakeDirSyncsEachParent creates directories below missing ones: the name of each must become
// durable, from the top down.
func TestMakeDirSyncsEachParent(t *testing.T) {
	top := t.TempDir()
	for _, c := range []struct {
		dir  string
		want []string
	}{
		{"a/b/c", []string{top, top + "/a", top + "/a/b"}},
		{"a/b/c", []string{top + "/a/b"}},
		{"a/d/", []string{top + "/a"}},
	} {
		var synced []string
		err := makeDir(top+"/"+c.dir, func(dir string) error {
			synced = append(synced, filepath.Clean(dir))
			return nil
		})
		if err != nil || !slices.Equal(synced, c.want) {
			t.Errorf("%s: %q were synced, want %q: %v", c.dir, synced, c.want, err)
		}
	}
}
