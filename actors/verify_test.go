package actors

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pws/api"
	"pws/blobs"
	"pws/identity"
	"pws/internal/id"
	"pws/snapshot"
	"pws/wal"
	"pws/work"
)

// service is an engine with agents that work on its projects.
type service struct {
	*Engine
	t      testing.TB
	agents []id.ID
	// projects are in the order of their making.
	projects []id.ID
	random   *rand.Rand
	steps    int
}

func openAt(t testing.TB, dir string) *Engine {
	t.Helper()
	e, _, err := Open(Config{Dir: dir, ReserveBytes: -1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func newService(t testing.TB, dir string) *service {
	s := &service{Engine: openAt(t, dir), t: t, random: rand.New(rand.NewPCG(1, 2))}
	for n := range 3 {
		s.agents = append(s.agents, s.register(fmt.Sprintf("agent-%d", n)))
	}
	return s
}

func (s *service) register(handle string) id.ID {
	s.t.Helper()
	sum := sha256.Sum256([]byte(handle))
	key := ed25519.NewKeyFromSeed(sum[:])
	text := base64.RawURLEncoding.EncodeToString
	done, err := s.DoIdentity(identityOrderOf(&identity.StartRegistration{
		PublicKey: text(key.Public().(ed25519.PublicKey)), Algorithm: identity.Algorithm,
	}))
	if err != nil {
		s.t.Fatal(err)
	}
	challenge := done.Result.(*identity.ChallengeGranted).Challenge
	done, err = s.DoIdentity(identityOrderOf(&identity.CompleteRegistration{
		Proof: identity.Proof{
			ChallengeID: challenge.ID.Format(id.Challenge), Challenge: challenge.Text(),
			Signature: text(ed25519.Sign(key, []byte(challenge.SigningPayload()))),
		},
		Handle: handle, ClientName: "test", ClientVersion: "1", Secret: s.Secret(),
	}))
	if err != nil {
		s.t.Fatal(err)
	}
	return done.Result.(*identity.Registration).Agent.ID
}

func blobOf(content string) work.Blob {
	return work.Blob{Hash: sha256.Sum256([]byte(content)), Content: []byte(content)}
}

func (s *service) do(agent int, project id.ID, command work.Command) {
	s.t.Helper()
	_, err := s.Do(api.Order{Project: project, Command: command, Agent: s.agents[agent]})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *service) create(visibility work.Visibility) id.ID {
	s.t.Helper()
	s.steps++
	project := s.stamp(s.agents[0]).ID(uint16(s.steps))
	s.do(0, project, &work.CreateProject{ID: project, Kind: work.Standard, About: work.About{
		Name: "project", Visibility: visibility, Reuse: work.AllowReuse, License: "MIT",
	}})
	s.do(0, project, &work.AddMember{Agent: s.agents[1], Role: work.Maintainer})
	s.projects = append(s.projects, project)
	return project
}

// write gives n commands to projects that are there, of the kinds that change files.
func (s *service) write(n int) {
	s.t.Helper()
	for range n {
		s.steps++
		project := s.projects[s.random.IntN(len(s.projects))]
		path := fmt.Sprintf("folder/file-%d", s.random.IntN(8))
		view, err := s.Project(project)
		if err != nil {
			s.t.Fatal(err)
		}
		_, stands := view.File(path)
		switch {
		case stands && s.steps%5 == 0:
			s.do(1, project, &work.DeleteFile{Path: path})
		case stands && s.steps%5 == 1:
			s.do(0, project, &work.PublishChangeset{Base: view.Head().ID,
				Operations: []work.Operation{{Action: work.Rename, Path: path,
					NewPath: fmt.Sprintf("moved/%d", s.steps)}}})
		default:
			content := fmt.Sprintf("content %d ", s.steps/2)
			if s.steps%7 == 0 {
				content = strings.Repeat(content, 1000)
			}
			s.do(s.steps%2, project, &work.PutFile{Path: path, Blob: blobOf(content),
				ContentType: "text/plain"})
		}
	}
}

func (s *service) save() {
	s.t.Helper()
	if err := s.Save(); err != nil {
		s.t.Fatal(err)
	}
}

// crashCopy is what a kill leaves: the files of a running engine, without its locks.
func crashCopy(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// lived is the directory of a service with a history: two snapshots and a tail behind them.
func lived(t testing.TB) (dir string, s *service) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	s = newService(t, dir)
	s.create(work.Public)
	s.create(work.Private)
	s.write(120)
	s.save()
	s.create(work.Unlisted)
	s.do(0, s.projects[0], &work.UpdateProject{Visibility: work.Private})
	s.write(120)
	s.save()
	s.agents = append(s.agents, s.register("late"))
	s.create(work.Public)
	s.do(0, s.projects[1], &work.AddMember{Agent: s.agents[3], Role: work.Reader})
	s.write(60)
	return crashCopy(t, dir), s
}

func mustVerify(t testing.TB, dir string) *Report {
	t.Helper()
	report, err := Verify(dir)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func tree(t testing.TB, dir string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			fmt.Fprintln(&text, name)
			return err
		}
		content, err := os.ReadFile(name)
		fmt.Fprintf(&text, "%s %x\n", name, sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestVerifyCountsAndChangesNothing(t *testing.T) {
	dir, s := lived(t)
	before := tree(t, dir)
	report := mustVerify(t, dir)
	if after := tree(t, dir); after != before {
		t.Errorf("the directory has changed:\n%s\nbecame\n%s", before, after)
	}
	var changesets uint64
	for _, project := range s.projects {
		view, err := s.Project(project)
		if err != nil {
			t.Fatal(err)
		}
		changesets += uint64(view.ChangesetsCount())
	}
	if report.Agents != 4 || report.Projects != 4 || report.Changesets != changesets ||
		report.Tail == 0 || report.Contents == 0 || report.Blobs.Blobs == 0 {
		t.Errorf("%d changesets, but counted: %+v", changesets, report)
	}
	var text strings.Builder
	if err := report.Print(&text); err != nil || !strings.Contains(text.String(), "dangling") {
		t.Errorf("%v: %q", err, text.String())
	}
}

func TestVerifyRefusesARunningServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	e := openAt(t, dir)
	if _, err := Verify(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("not refused: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	mustVerify(t, dir)
	if _, err := Verify(t.TempDir()); err == nil {
		t.Error("an empty folder passes")
	}
}

// flip changes one byte in the middle of a file.
func flip(t *testing.T, name string, at func(size int) int) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content[at(len(content))] ^= 0x40
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// newest is the last file of a pattern below a directory.
func newest(t *testing.T, dir, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no file %s: %v", pattern, err)
	}
	return names[len(names)-1]
}

func TestVerifyNamesTheDamagedFile(t *testing.T) {
	sound, _ := lived(t)
	middle := func(size int) int { return size / 2 }
	for _, c := range []struct {
		file   string
		marker error
	}{
		{"log/0*", wal.ErrCorrupt},
		{"snapshot/manifest-*", snapshot.ErrCorrupt},
		{"snapshot/sections-*", snapshot.ErrCorrupt},
		{"blobs/manifest", blobs.ErrCorrupt},
		{"blobs/pack-*", blobs.ErrCorrupt},
		{"secret", nil},
		{"FORMAT", nil},
	} {
		t.Run(c.file, func(t *testing.T) {
			dir := crashCopy(t, sound)
			name := newest(t, dir, c.file)
			flip(t, name, middle)
			_, err := Verify(dir)
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Fatalf("damage of %s: %v", name, err)
			}
			if c.marker != nil && !errors.Is(err, c.marker) {
				t.Errorf("not marked as damage: %v", err)
			}
		})
	}
}
