package actors

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"pws/actors/offline"
	"pws/internal/disk/disktest"
	"pws/work"
)

// TestBackupIsDurable stops the machine before every operation of a copy and behind it. The copy is
// there under its name only when all of it is durable, and it is when Copy has returned.
func TestBackupIsDurable(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	mustPut(t, e, project, owner, "a", "a")
	saveAll(t, e)
	mustDo(t, e, project, owner, &work.UpdateProject{Visibility: work.Private})
	top := t.TempDir()
	w, err := disktest.Watch(top)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string) (sound bool) {
		for kind := range disktest.CrashKinds {
			after := t.TempDir()
			if err := w.AfterCrash(kind).WriteTo(after); err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(after, "copy")
			if _, err := os.Stat(to); errors.Is(err, fs.ErrNotExist) {
				return false
			}
			if _, err := Verify(to); err != nil {
				t.Errorf("%s, crash %d: %v", what, kind, err)
			}
		}
		return true
	}
	steps := 0
	w.Before = func(op, path string) {
		steps++
		check(fmt.Sprintf("before %s of %s", op, path))
	}
	_, err = offline.Copy(w, e.config.Dir, filepath.Join(top, "copy"),
		offline.CopyOptions{List: true}, Verify)
	if err != nil {
		t.Fatal(err)
	}
	if w.Before = nil; !check("when it is done") {
		t.Error("a crash takes the copy away when it is done")
	}
	if steps < 20 {
		t.Errorf("only %d steps", steps)
	}
}
