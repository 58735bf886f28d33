package actors

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"pws/actors/offline"
	"pws/api"
	"pws/internal/datadir"
	"pws/internal/disk"
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

// TestRestoreRefusesAnotherBackup damages every file of a backup in every way.
func TestRestoreRefusesAnotherBackup(t *testing.T) {
	_, s := lived(t)
	made := filepath.Join(t.TempDir(), "backup")
	if _, err := Backup(s.config.Dir, made); err != nil {
		t.Fatal(err)
	}
	mustVerify(t, made)
	damages := map[string]func(name string, content []byte) error{
		"flipped": func(name string, content []byte) error {
			content[len(content)/2] ^= 1
			return os.WriteFile(name, content, 0o600)
		},
		"shortened": func(name string, content []byte) error {
			return os.WriteFile(name, content[:len(content)-1], 0o600)
		},
		"lengthened": func(name string, content []byte) error {
			return os.WriteFile(name, append(content, 0), 0o600)
		},
		"removed": func(name string, _ []byte) error { return os.Remove(name) },
	}
	err := fs.WalkDir(os.DirFS(made), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		for what, damage := range damages {
			if path == datadir.BackupName && what == "removed" {
				continue
			}
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(made)); err != nil {
				return err
			}
			content, err := os.ReadFile(filepath.Join(copied, path))
			if err == nil {
				err = damage(filepath.Join(copied, path), content)
			}
			if err != nil {
				return err
			}
			to := filepath.Join(t.TempDir(), "restored")
			if _, err := Restore(copied, to); err == nil {
				t.Errorf("restored with %s %s", path, what)
			}
			if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s %s: %v", path, what, err)
			}
			if _, err := Verify(copied); err == nil {
				t.Errorf("sound with %s %s", path, what)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// noise is content that no codec makes smaller, so that the log grows as fast as it is written.
func noise(seed uint64, size int) work.Blob {
	content := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), 1})
	_, _ = source.Read(content)
	return blobOf(string(content))
}

// busy writes to projects of a service and saves it, over and over, until stop is called.
type busy struct {
	*service
	// acked are the revisions that were acknowledged, by project.
	acked []atomic.Uint64
	// steps has room for the news that a revision was acknowledged.
	steps chan struct{}
	// resting keeps the writers from going on.
	resting sync.RWMutex
	over    atomic.Bool
	running sync.WaitGroup
}

func keepBusy(s *service) *busy {
	b := &busy{
		service: s, acked: make([]atomic.Uint64, len(s.projects)), steps: make(chan struct{}, 1),
	}
	for i, project := range s.projects {
		b.running.Go(func() {
			defer b.notify()
			for n := uint64(0); n < 2000 && !b.over.Load(); n++ {
				b.resting.RLock()
				done, err := s.Do(api.Order{Project: project, Agent: s.agents[0],
					Command: &work.PutFile{Path: "noise", ContentType: "text/plain",
						Blob: noise(n<<8|uint64(i), 100<<10)}})
				b.resting.RUnlock()
				if err != nil {
					s.t.Error(err)
					return
				}
				b.acked[i].Store(done.Project.Revision)
				b.notify()
			}
		})
	}
	b.running.Go(func() {
		for n := 0; n < 2000 && !b.over.Load(); n++ {
			b.resting.RLock()
			err := s.Save()
			b.resting.RUnlock()
			if err != nil {
				s.t.Error(err)
				return
			}
		}
	})
	return b
}

// notify wakes the goroutines that wait for a revision.
func (b *busy) notify() {
	select {
	case b.steps <- struct{}{}:
	default:
	}
}

func (b *busy) stop() {
	b.over.Store(true)
	b.running.Wait()
}

// reached waits until every project has got so many revisions.
func (b *busy) reached(revision uint64) {
	for i := range b.acked {
		for b.acked[i].Load() < revision && !b.t.Failed() {
			<-b.steps
		}
	}
}

// checkCopy expects of a backup all that was acknowledged before it, while the writers rest.
func (b *busy) checkCopy(backup string, least []uint64) {
	b.t.Helper()
	b.resting.Lock()
	defer b.resting.Unlock()
	mustVerify(b.t, backup)
	restored := filepath.Join(b.t.TempDir(), "restored")
	if _, err := Restore(backup, restored); err != nil {
		b.t.Fatal(err)
	}
	e := openAt(b.t, restored)
	for i, project := range b.projects {
		view, err := e.Project(project)
		if err != nil || view == nil {
			b.t.Fatalf("no project: %v", err)
		}
		if view.Revision < least[i] {
			b.t.Errorf("revision %d of %d acknowledged ones", view.Revision, least[i])
		}
		file, _ := view.File("noise")
		if _, err := e.Blob(file.Blob); err != nil {
			b.t.Error(err)
		}
	}
}

func TestBackupOfABusyServer(t *testing.T) {
	s := newService(t, filepath.Join(t.TempDir(), "data"))
	for range 3 {
		s.create(work.Public)
	}
	b := keepBusy(s)
	defer b.stop()
	for round := range uint64(2) {
		b.reached(15 + 25*round)
		least := make([]uint64, len(b.acked))
		for i := range least {
			least[i] = b.acked[i].Load()
		}
		backup := filepath.Join(t.TempDir(), "backup")
		if _, err := Backup(s.config.Dir, backup); err != nil {
			t.Fatal(err)
		}
		// The copy has to be complete while the server goes on and removes files.
		b.reached(30 + 25*round)
		b.checkCopy(backup, least)
		// The second copy is one of a log that has been cut. A slow save may take many writes.
		for more := uint64(31); s.journal.Stats().First < 10; more++ {
			if more == 1500 {
				t.Fatal("the log was never cut")
			}
			b.reached(more)
		}
	}
}

// A restored directory is one that a server goes on with.
func TestRestoredServiceGoesOn(t *testing.T) {
	crashed, s := lived(t)
	restored := filepath.Join(t.TempDir(), "restored")
	if err := os.Mkdir(restored, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(crashed, restored); err != nil {
		t.Fatal(err)
	}
	again := &service{Engine: openAt(t, restored), t: t, agents: s.agents, projects: s.projects,
		random: s.random, steps: s.steps}
	sameProjects(t, s, again.Engine)
	if string(again.Secret()) != string(s.Secret()) {
		t.Error("another secret")
	}
	again.write(60)
	again.save()
	again.write(20)
	copied := crashCopy(t, restored)
	mustVerify(t, copied)
	sameProjects(t, again, openAt(t, copied))
	info, err := os.Stat(filepath.Join(restored, datadir.SecretName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the secret: %v, %v", info.Mode(), err)
	}
}

func TestBackupOfDamagedDataLeavesNoFiles(t *testing.T) {
	crashed, _ := lived(t)
	flip(t, newest(t, crashed, "blobs/pack-*"), func(size int) int { return size / 2 })
	folder := t.TempDir()
	if _, err := Backup(crashed, filepath.Join(folder, "backup")); err == nil {
		t.Error("damage was copied")
	}
	if names, err := os.ReadDir(folder); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

// afterTaking calls a function before the first file of a copy is made: all were taken by then.
type afterTaking struct {
	disk.Disk
	do func()
}

func (d *afterTaking) Create(path string) (disk.File, error) {
	if do := d.do; do != nil {
		d.do = nil
		do()
	}
	return d.Disk.Create(path)
}

// The server removes log, packs and manifests after they were taken and before they are copied.
func TestBackupKeepsFilesRemovedDuringIt(t *testing.T) {
	s := newService(t, filepath.Join(t.TempDir(), "data"))
	project := s.create(work.Public)
	put := func(n uint64) {
		s.do(0, project, &work.PutFile{Path: "noise", Blob: noise(n, 512<<10),
			ContentType: "text/plain"})
	}
	for n := range uint64(12) {
		put(n)
		if n%2 == 1 {
			s.save()
		}
	}
	// When packs are merged depends on their sizes, and those on how far the log was at each save.
	gone := map[string]bool{}
	d := &afterTaking{Disk: disk.OS{}, do: func() {
		taken := []string{newest(t, s.config.Dir, "snapshot/manifest-*")}
		for _, pattern := range []string{"log/0*", "blobs/pack-*"} {
			names, err := filepath.Glob(filepath.Join(s.config.Dir, pattern))
			if err != nil {
				t.Error(err)
			}
			taken = append(taken, names...)
		}
		for n := uint64(0); n < 200 && len(gone) < 3; n++ {
			put(100 + n)
			s.save()
			for _, name := range taken {
				if _, err := os.Stat(name); err != nil {
					gone[filepath.Dir(name)] = true
				}
			}
		}
	}}
	report, err := offline.Copy(d, s.config.Dir, filepath.Join(t.TempDir(), "copy"),
		offline.CopyOptions{Link: true, List: true}, Verify)
	if err != nil {
		t.Fatal(err)
	}
	if len(gone) != 3 {
		t.Errorf("files have vanished only from %v", gone)
	}
	if report.Changesets != 1+12 {
		t.Errorf("%d changesets", report.Changesets)
	}
}

func TestCopiesAreIndependent(t *testing.T) {
	dir, _ := lived(t)
	to := filepath.Join(t.TempDir(), "backup")
	if err := os.MkdirAll(filepath.Join(to+".partial", datadir.LogName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Backup(dir, to); err == nil {
		t.Error("two copies into one folder")
	}
	if _, err := os.Stat(filepath.Join(to+".partial", datadir.LogName)); err != nil {
		t.Errorf("the other copy was touched: %v", err)
	}
}

// TestChecksWriteNothingElsewhere checks and copies a data directory whose log has the end of a
// removal behind the newest snapshot: a start would note it, a check must not.
func TestChecksWriteNothingElsewhere(t *testing.T) {
	e := start(t, quiet(filepath.Join(t.TempDir(), "data")))
	project := createProject(t, e, register(t, e, "owner"), work.Public)
	if err := e.RemoveProject(project, "spam"); err != nil {
		t.Fatal(err)
	}
	stop(t, e)
	backup := filepath.Join(t.TempDir(), "backup")
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	mustVerify(t, e.config.Dir)
	if _, err := Backup(e.config.Dir, backup); err != nil {
		t.Error(err)
	}
	written, err := os.ReadDir(elsewhere)
	if err != nil || len(written) > 0 {
		t.Errorf("files where the check ran: %v, %v", written, err)
	}
}
