package actors

import (
	"path/filepath"
	"testing"

	"pws/work"
)

// sameProjects compares what two engines publish.
func sameProjects(t *testing.T, s *service, other *Engine) {
	t.Helper()
	for _, project := range s.projects {
		want, err := s.Project(project)
		if err != nil {
			t.Fatal(err)
		}
		got, err := other.Project(project)
		if err != nil || got == nil {
			t.Fatalf("project is not there: %v", err)
		}
		if got.Revision != want.Revision || got.Head().ID != want.Head().ID {
			t.Errorf("revision %d instead of %d", got.Revision, want.Revision)
		}
		want.Files("", func(file work.FileInfo) bool {
			content, err := other.Blob(file.Blob)
			if err != nil || blobOf(string(content)).Hash != file.Blob {
				t.Errorf("%s: %v", file.Path, err)
			}
			return true
		})
	}
}

func TestBackupAndRestore(t *testing.T) {
	_, s := lived(t)
	backup := filepath.Join(t.TempDir(), "backup")
	if _, err := Backup(s.config.Dir, backup); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	if _, err := Restore(backup, restored); err != nil {
		t.Fatal(err)
	}
	sameProjects(t, s, openAt(t, restored))
	for _, to := range []string{backup, restored} {
		if _, err := Restore(backup, to); err == nil {
			t.Errorf("%s was overwritten", to)
		}
	}
}
