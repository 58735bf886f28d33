package api_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"pws/api"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// fill writes files to a project, the content of each behind its path.
func (o *testEngine) fill(who *testAgent, project id.ID, files ...string) {
	o.t.Helper()
	for i := 0; i < len(files); i += 2 {
		body := fmt.Sprintf(`{"content":%q}`, files[i+1])
		path := (&url.URL{Path: files[i]}).EscapedPath()
		if _, _, err := o.call(who, request{
			operation: "file.write", params: []string{project.Format(id.Project), path}, body: body,
		}); err != nil {
			o.t.Fatal(err)
		}
	}
}

// copied starts a copy of a project, and returns what writes it.
func (o *testEngine) copied(
	who *testAgent, project id.ID, name string, query map[string]string,
) api.Stream {
	o.t.Helper()
	operation := operation(name)
	reply, err := operation.Run(&api.Call{
		Service: o.service, Operation: operation, Agent: who.id(), Session: who.session, Now: o.Now(),
		Params: []string{project.Format(id.Project)}, Query: query,
	}, operation.NewRequest())
	if err != nil {
		o.t.Fatal(err)
	}
	if download, ok := reply.Data.(api.Download); ok {
		return download.Write
	}
	return reply.Data.(api.Stream)
}

// download returns the bytes of an archive.
func (o *testEngine) download(who *testAgent, project id.ID, query map[string]string) []byte {
	o.t.Helper()
	var out bytes.Buffer
	if err := o.copied(who, project, "project.archive", query)(&out); err != nil {
		o.t.Fatal(err)
	}
	return out.Bytes()
}

func (o *testEngine) untar(data []byte) (all []string, modified time.Time) {
	o.t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		o.t.Fatal(err)
	}
	for in := tar.NewReader(unpacked); ; {
		header, err := in.Next()
		if err == io.EOF {
			return all, modified
		}
		if err != nil {
			o.t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			o.t.Fatal(err)
		}
		modified = header.ModTime
		all = append(all, fmt.Sprintf("%s %o %s", header.Name, header.Mode, content))
	}
}

func (o *testEngine) unzip(data []byte) (all []string, modified time.Time) {
	o.t.Helper()
	in, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		o.t.Fatal(err)
	}
	for _, file := range in.File {
		from, err := file.Open()
		if err != nil {
			o.t.Fatal(err)
		}
		content, err := io.ReadAll(from)
		if err != nil {
			o.t.Fatal(err)
		}
		modified = file.Modified
		all = append(all, fmt.Sprintf("%s %o %s", file.Name, file.Mode().Perm(), content))
	}
	return all, modified
}

// TestArchiveHasTheFilesOfAChangeset: an archive has the files of a changeset with its time, the
// same bytes every time.
func TestArchiveHasTheFilesOfAChangeset(t *testing.T) {
	o := newTestEngine(t)
	ada := o.register("ada")
	project, _ := o.project(ada, work.Private)
	long := strings.Repeat("d/", 30) + strings.Repeat("é", 120)
	o.fill(ada, project, "a.txt", "old", "b/c.txt", strings.Repeat("text\n", 50_000), long, "long")
	before, _ := o.Engine.Project(project)
	head := before.Head()
	o.fill(ada, project, "a.txt", "new", "b/d.txt", "more")
	want := "a.txt 644 old|b/c.txt 644 " + strings.Repeat("text\n", 50_000) + "|" + long + " 644 long"
	for format, unpack := range map[string]func([]byte) ([]string, time.Time){
		"tar.gz": o.untar, "zip": o.unzip,
	} {
		query := map[string]string{"format": format, "changeset": head.ID.Format(id.Changeset)}
		data := o.download(ada, project, query)
		files, modified := unpack(data)
		if got := strings.Join(files, "|"); got != want {
			t.Errorf("%s: %.200q", format, got)
		}
		if modified.Unix() != head.CreatedAt/1000 {
			t.Errorf("%s: modified at %v", format, modified)
		}
		if again := o.download(ada, project, query); !bytes.Equal(data, again) {
			t.Errorf("%s: other bytes", format)
		}
		files, _ = unpack(o.download(ada, project, map[string]string{
			"format": format, "prefix": "b/d",
		}))
		if got := strings.Join(files, "|"); got != "b/d.txt 644 more" {
			t.Errorf("%s: %q", format, got)
		}
	}
	if files, _ := o.untar(o.download(ada, project, nil)); len(files) != 4 {
		t.Errorf("the head has %q", files)
	}
}

// interrupted is a writer that does something AFTER the first bytes.
type interrupted struct {
	bytes.Buffer
	do func()
}

func (i *interrupted) Write(data []byte) (int, error) {
	if i.do != nil {
		i.do()
		i.do = nil
	}
	return i.Buffer.Write(data)
}

// TestCopiesEndWithTheRight: an archive or a bundle that is being sent is cut where its reader
// loses the right to it.
func TestCopiesEndWithTheRight(t *testing.T) {
	var random strings.Builder
	for nth := range 6000 {
		fmt.Fprintf(&random, "%x\n", sha256.Sum256(fmt.Append(nil, nth)))
	}
	for _, copy := range []struct {
		operation string
		query     map[string]string
	}{
		{"project.archive", nil}, {"project.archive", map[string]string{"format": "zip"}},
		{"project.export", nil},
	} {
		for _, one := range []struct {
			what       string
			visibility work.Visibility
			member     bool
			do         func(o *testEngine, ada, eve *testAgent, project id.ID)
			want       fault.Code
		}{
			{"nothing", work.Public, false, func(*testEngine, *testAgent, *testAgent, id.ID) {}, ""},
			{"hidden", work.Public, false, func(o *testEngine, ada, _ *testAgent, project id.ID) {
				o.give(ada, project, &work.UpdateProject{Visibility: work.Private})
			}, fault.ProjectNotFound},
			{"reserved", work.Public, false, func(o *testEngine, ada, _ *testAgent, project id.ID) {
				o.give(ada, project, &work.UpdateProject{Reuse: work.ReferenceOnly})
			}, fault.ReuseNotPermitted},
			{"removed", work.Private, true, func(o *testEngine, ada, eve *testAgent, project id.ID) {
				o.give(ada, project, &work.RemoveMember{Agent: eve.id()})
			}, fault.ProjectNotFound},
			{"suspended", work.Public, true, func(o *testEngine, _, _ *testAgent, _ id.ID) {
				o.identify(&identity.SuspendAgent{Agent: "eve", Reason: "spam"})
			}, fault.SessionInvalid},
			{"signed out", work.Private, true, func(o *testEngine, _, eve *testAgent, _ id.ID) {
				o.identify(&identity.EndSession{
					Caller: identity.Caller{Agent: eve.id(), Session: eve.session.ID},
				})
			}, fault.SessionInvalid},
		} {
			t.Run(copy.operation+"/"+one.what, func(t *testing.T) {
				o := newTestEngine(t)
				ada, eve := o.register("ada"), o.register("eve")
				project, _ := o.project(ada, one.visibility)
				if one.member {
					o.give(ada, project, &work.AddMember{Agent: eve.id(), Role: work.Reader})
				}
				o.fill(ada, project, "a", random.String(), "b", random.String(), "c", "last")
				write, before := o.copied(eve, project, copy.operation, copy.query), o.reads.Load()
				err := write(&interrupted{do: func() { one.do(o, ada, eve, project) }})
				if one.want == "" {
					if err != nil || o.reads.Load()-before != 3 {
						t.Errorf("%v after %d files", err, o.reads.Load()-before)
					}
					return
				}
				if fault.CodeOf(err) != one.want || o.reads.Load()-before > 1 {
					t.Errorf("%v after %d files, not %s", err, o.reads.Load()-before, one.want)
				}
			})
		}
	}
}

// TestForeignDocuments: documents of agents are not open to web pages of all origins.
func TestForeignDocuments(t *testing.T) {
	for name, want := range map[string]bool{
		"file.raw": false, "project.archive": false, "document.home": true, "meta.openapi": true,
		"meta.health": true, "file.read": false,
	} {
		if got := operation(name).DescribesService(); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// spending is a meter by which a call has used more time at each look.
type spending struct{ looks, step int }

// RateLevels implements api.Meter.
func (*spending) RateLevels() []api.RateLevel { return nil }

// HoldMemory implements api.Meter.
func (*spending) HoldMemory(int) error { return nil }

// Spent implements api.Meter.
func (s *spending) Spent() time.Duration {
	s.looks++
	return time.Duration(s.looks*s.step) * time.Millisecond
}

// Render implements api.Meter.
func (*spending) Render(bool, func()) bool { return false }

// Network implements api.Meter.
func (*spending) Network() id.ID { return id.ID{} }

// Charge implements api.Meter.
func (*spending) Charge(time.Duration) {}

// Yield implements api.Meter.
func (*spending) Yield() {}

// TestGrepPages: a page ends when its time is over, and the next one continues there.
func TestGrepPages(t *testing.T) {
	o := newTestEngine(t)
	ada := o.register("ada")
	project, _ := o.project(ada, work.Private)
	line := strings.Repeat("word ", 19) + "end.\n"
	for nth := range 3 {
		o.fill(ada, project, fmt.Sprintf("f%d", nth), strings.Repeat(line, 5000)+"7 last\n")
	}
	for pattern, want := range map[string]int{"last": 3, `\d [a-z]+$`: 3, "absent": 0, `\d\d`: 0} {
		found, files, pages, cursor := 0, 0, 0, ""
		for {
			operation := operation("project.grep")
			query := map[string]string{"pattern": pattern, "regex": "true"}
			if cursor != "" {
				query["cursor"] = cursor
			}
			reply, err := operation.Run(&api.Call{
				Service: o.service, Operation: operation, Agent: ada.id(), Session: ada.session,
				Now: o.Now(), Params: []string{project.Format(id.Project)}, Query: query,
				Meter: &spending{step: 100},
			}, operation.NewRequest())
			if err != nil {
				t.Fatal(err)
			}
			data := reply.Data.(*api.GrepData)
			for _, match := range data.Matches {
				if match.Line != 5001 || match.Path != fmt.Sprintf("f%d", found) {
					t.Errorf("%s: %+v", pattern, match)
				}
				found++
			}
			files += data.FilesSearched
			if pages++; data.NextCursor == nil {
				break
			}
			cursor = *data.NextCursor
		}
		if found != want || files != 3 {
			t.Errorf("%s: %d lines, %d files", pattern, found, files)
		}
		// Expressions without a needle are looked at line by line.
		if slow := strings.HasPrefix(pattern, `\d`); (pages > 10) != slow {
			t.Errorf("%s: %d pages", pattern, pages)
		}
	}
}

// TestGrepHolds: a search holds memory BEFORE it reads anything.
func TestGrepHolds(t *testing.T) {
	o := newTestEngine(t)
	ada := o.register("ada")
	project, _ := o.project(ada, work.Private)
	o.fill(ada, project, "a", "b")
	o.reads.Store(0)
	operation := operation("project.grep")
	_, err := operation.Run(&api.Call{
		Service: o.service, Operation: operation, Agent: ada.id(), Now: o.Now(), Meter: refusing{},
		Params: []string{project.Format(id.Project)}, Query: map[string]string{"pattern": "b"},
	}, operation.NewRequest())
	if err != errFull || o.reads.Load() > 0 {
		t.Errorf("%v after %d reads", err, o.reads.Load())
	}
}

// refusing is a meter without memory.
type refusing struct{}

var errFull = fault.New(fault.RateLimited, "full")

// HoldMemory implements api.Meter.
func (refusing) HoldMemory(int) error { return errFull }

// RateLevels implements api.Meter.
func (refusing) RateLevels() []api.RateLevel { return nil }

// Spent implements api.Meter.
func (refusing) Spent() time.Duration { return 0 }

// Render implements api.Meter.
func (refusing) Render(bool, func()) bool { return false }

// Network implements api.Meter.
func (refusing) Network() id.ID { return id.ID{} }

// Charge implements api.Meter.
func (refusing) Charge(time.Duration) {}

// Yield implements api.Meter.
func (refusing) Yield() {}
