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

	"pws/actors/offline"
	"pws/api"
	"pws/blobs"
	"pws/identity"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/journal"
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
		_, exists := view.File(path)
		switch {
		case exists && s.steps%5 == 0:
			s.do(1, project, &work.DeleteFile{Path: path})
		case exists && s.steps%5 == 1:
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
	saveAll(s.t, s.Engine)
}

// crashCopy is what a kill leaves: the files of a running engine, without its locks.
func crashCopy(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path := filepath.Join(to, strings.TrimPrefix(name, dir))
		if entry.IsDir() {
			return os.Mkdir(path, 0o700)
		}
		content, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			// The service goes on meanwhile, and has just renamed or removed it.
			return nil
		}
		if err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		return err
	})
	if err != nil {
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

func mustVerify(t testing.TB, dir string) *offline.Report {
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

func TestVerifyCountsAndIsReadOnly(t *testing.T) {
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
	if err := report.Print(&text); err != nil || !strings.Contains(text.String(), "all valid") {
		t.Errorf("%v: %q", err, text.String())
	}
}

func TestVerifyFailsWhileAServerRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	e := openAt(t, dir)
	if _, err := Verify(dir); !errors.Is(err, datadir.ErrInUse) {
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

// extent is the length of a segment of the log without reserved space.
func extent(t *testing.T, segment string) int {
	t.Helper()
	size, err := journal.Extent(segment)
	if err != nil {
		t.Fatal(err)
	}
	return int(size)
}

func TestVerifyNamesTheDamagedFile(t *testing.T) {
	sound, _ := lived(t)
	for _, c := range []struct {
		file   string
		marker error
	}{
		{"log/0*", journal.ErrCorrupt},
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
			flip(t, name, func(size int) int {
				if c.marker == journal.ErrCorrupt {
					size = extent(t, name)
				}
				return size / 2
			})
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

// wantFaults expects damage whose text has all parts.
func wantFaults(t *testing.T, dir string, parts ...string) {
	t.Helper()
	_, err := Verify(dir)
	var damage *offline.Damage
	if !errors.As(err, &damage) {
		t.Fatalf("no damage: %v", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyNamesMissingContents(t *testing.T) {
	sound, _ := lived(t)
	for _, c := range []struct{ file, want string }{
		{"log", "/log"},
		{"snapshot", "/snapshot"},
		{"blobs", "/blobs"},
		{"secret", "/secret"},
		{"snapshot/manifest-*", "newer than the newest manifest"},
		{"snapshot/sections-*", "missing"},
		{"blobs/pack-*", "missing"},
		{"blobs/manifest", "manifest is missing"},
		{"log/0*", "the end of the log is lost"},
	} {
		t.Run(c.file, func(t *testing.T) {
			dir := crashCopy(t, sound)
			if c.file == "snapshot/manifest-*" {
				remove(t, newest(t, dir, c.file))
			}
			remove(t, newest(t, dir, c.file))
			wantFaults(t, dir, dir, c.want)
		})
	}
}

// withoutLogBegin is a data directory without a snapshot, whose log has lost its first segment.
func withoutLogBegin(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	s := newService(t, dir)
	s.create(work.Public)
	for n := range uint64(100) {
		s.do(0, s.projects[0], &work.PutFile{Path: "noise", Blob: noise(n, 100<<10),
			ContentType: "text/plain"})
	}
	copied := crashCopy(t, dir)
	names, err := filepath.Glob(filepath.Join(copied, "log", "0*"))
	if err != nil || len(names) < 2 {
		t.Fatalf("too little log: %v, %v", names, err)
	}
	remove(t, names[0])
	return copied
}

func TestVerifyNamesACutLog(t *testing.T) {
	copied := withoutLogBegin(t)
	wantFaults(t, copied, filepath.Join(copied, "log"), "the log begins with entry")
}

// A write that a crash has torn is no damage, and is reported.
func TestVerifyReportsATornTail(t *testing.T) {
	dir, _ := lived(t)
	name := newest(t, dir, "log/0*")
	if err := os.Truncate(name, int64(extent(t, name))-5); err != nil {
		t.Fatal(err)
	}
	report := mustVerify(t, dir)
	var text strings.Builder
	if err := report.Print(&text); err != nil || !strings.Contains(text.String(), name) {
		t.Errorf("the torn tail of %s is not reported: %s", name, text.String())
	}
}

// dropBlobs takes the contents that live does not answer true for out of the packs of a directory
// that no server uses.
func dropBlobs(t *testing.T, dir string, live func(blobs.Hash) bool) {
	t.Helper()
	store, err := blobs.Open(blobs.Options{Dir: filepath.Join(dir, "blobs")})
	if err != nil {
		t.Fatal(err)
	}
	var gone []blobs.Hash
	err = store.Drop(func() ([]blobs.Hash, error) {
		err := store.Packed(func(some []blobs.Hash) error {
			for _, h := range some {
				if !live(h) {
					gone = append(gone, h)
				}
			}
			return nil
		})
		return gone, err
	})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	if len(gone) == 0 {
		t.Fatal("nothing was dropped")
	}
}

func TestVerifyFindsADroppedContent(t *testing.T) {
	dir, s := lived(t)
	view, err := s.Project(s.projects[0])
	if err != nil {
		t.Fatal(err)
	}
	kept := blobs.Hash(view.ChangesetNumber(2).Ops[0].Blob)
	dropBlobs(t, dir, func(h blobs.Hash) bool { return h == kept })
	wantFaults(t, dir, "is missing", s.projects[0].Format(id.Project))
}

// A content that a workspace alone names is looked up too: what it holds, and the text in which a
// refresh has marked a conflict.
func TestVerifyFindsMissingPartsOfWorkspaces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := newService(t, dir)
	project := s.create(work.Public)
	s.do(0, project, putOf("a", "base"))
	s.do(2, project, new(work.OpenWorkspace))
	var workspace id.ID
	viewOf(t, s.Engine, project).Workspaces(func(w *work.Workspace) bool {
		workspace = w.ID
		return true
	})
	for _, path := range []string{"a", "b", "c", "d"} {
		s.do(2, project, &work.WriteWorkspaceFile{
			Workspace: workspace, Path: path, Blob: blobOf("ours " + path),
			ContentType: "text/plain",
		})
	}
	s.do(0, project, putOf("a", "theirs"))
	view := viewOf(t, s.Engine, project)
	open, _ := view.Workspace(workspace)
	plan, err := view.PlanMerge(open, s.Blob, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.do(2, project, &work.RefreshWorkspace{Workspace: workspace, Plan: plan})
	open, _ = viewOf(t, s.Engine, project).Workspace(workspace)
	if len(open.Conflicts) != 1 {
		t.Fatalf("the conflicts are %+v", open.Conflicts)
	}
	s.save()
	sound := crashCopy(t, dir)
	mustVerify(t, sound)
	name := workspace.Format(id.Workspace)
	dropped := crashCopy(t, sound)
	dropBlobs(t, dropped, func(h blobs.Hash) bool {
		return h == blobs.Hash(blobOf("base").Hash) || h == blobs.Hash(blobOf("theirs").Hash)
	})
	wantFaults(t, dropped, "5 faults", "is missing", project.Format(id.Project), name, `of "d"`,
		fmt.Sprintf("%x", blobOf("ours b").Hash), fmt.Sprintf("%x", open.Conflicts[0].Marked))
	lost := blobOf("never stored")
	changed := datadir.Entry{
		Target: datadir.TargetProject, ID: project, Now: 1 << 47, Agent: s.agents[2],
		Events: eventOf(t, &work.WorkspaceChanged{Workspace: workspace, Set: []work.Overlaid{
			{Path: "e", Blob: lost.Hash, Size: len(lost.Content), Type: "text/plain"},
		}}),
	}
	tail := crashCopy(t, sound)
	logged(t, tail, changed.Encode())
	wantFaults(t, tail, "is missing", name, fmt.Sprintf("%x", lost.Hash), `"e"`)
	changed.Blobs = []datadir.Blob{{Hash: lost.Hash, Content: lost.Content}}
	tail = crashCopy(t, sound)
	logged(t, tail, changed.Encode())
	mustVerify(t, tail)
}

// logged appends entries to the log of a directory that no server uses.
func logged(t *testing.T, dir string, entries ...[]byte) {
	t.Helper()
	log, _, err := wal.Open(wal.Options{Dir: filepath.Join(dir, "log"), ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range entries {
		if _, err := log.Append(data, nil); err != nil {
			t.Error(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func eventOf(t *testing.T, event work.Event) []datadir.Event {
	t.Helper()
	data, err := work.EncodeEvent(nil, event)
	if err != nil {
		t.Fatal(err)
	}
	return []datadir.Event{{Kind: uint16(work.KindOf(event)), Data: data}}
}

func TestVerifyChecksWhatEntriesName(t *testing.T) {
	sound, s := lived(t)
	stranger := id.New(1, [10]byte{7})
	nowhere := id.New(2, [10]byte{7})
	content := blobOf("never stored")
	publish := &work.ChangesetPublished{ID: id.New(1<<47, [10]byte{}), Source: work.SourceFilePut,
		Ops: []work.OpRecord{{Action: work.Create, Path: "lost", Blob: content.Hash, Size: 12}}}
	of := func(project, agent id.ID, event work.Event) datadir.Entry {
		return datadir.Entry{Target: datadir.TargetProject, ID: project, Now: 1 << 47, Agent: agent,
			Events: eventOf(t, event)}
	}
	name := s.projects[0].Format(id.Project)
	hash := fmt.Sprintf("%x", content.Hash)
	wrongSize := of(s.projects[0], s.agents[0], publish)
	short := blobOf("short")
	wrongSize.Blobs = []datadir.Blob{{Hash: short.Hash, Content: short.Content}}
	wrongSize.Events = eventOf(t, &work.ChangesetPublished{ID: publish.ID, Ops: []work.OpRecord{
		{Action: work.Create, Path: "size", Blob: short.Hash, Size: 6}}})
	wrongHash := of(s.projects[0], s.agents[0], publish)
	wrongHash.Blobs = []datadir.Blob{{Hash: content.Hash, Content: []byte("never sbored")}}
	unknown := of(s.projects[0], s.agents[0], publish)
	unknown.Events[0].Kind = 9999
	for _, c := range []struct {
		name  string
		entry datadir.Entry
		want  []string
	}{
		{"lost content", of(s.projects[0], s.agents[0], publish), []string{name, hash, "lost"}},
		{"wrong size", wrongSize, []string{name, "5 bytes instead of 6"}},
		{"wrong hash", wrongHash, []string{"/log", "does not match its hash", name}},
		{"unknown author", of(s.projects[0], stranger, publish),
			[]string{name, "author", stranger.Format(id.Agent)}},
		{"unknown member", of(s.projects[0], s.agents[0], &work.MemberAdded{
			Member: work.Member{Agent: stranger, Role: work.Reader, AddedBy: s.agents[0]}}),
			[]string{name, "member", stranger.Format(id.Agent)}},
		{"no beginning", of(nowhere, s.agents[0], publish),
			[]string{nowhere.Format(id.Project), "no beginning"}},
		{"unknown event", unknown, []string{name, "9999"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := crashCopy(t, sound)
			logged(t, dir, c.entry.Encode())
			wantFaults(t, dir, c.want...)
		})
	}
	t.Run("no entry", func(t *testing.T) {
		dir := crashCopy(t, sound)
		logged(t, dir, []byte{1, 9})
		wantFaults(t, dir, filepath.Join(dir, "log"), "truncated")
	})
	t.Run("many faults", func(t *testing.T) {
		dir := crashCopy(t, sound)
		many := make([][]byte, 120)
		for i := range many {
			many[i] = []byte{1, 9}
		}
		logged(t, dir, many...)
		wantFaults(t, dir, fmt.Sprintf("%d faults", len(many)), "and 20 more")
	})
}
