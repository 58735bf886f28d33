package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	stdjson "encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"pws/api"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// listTexts are parts of paths and messages. Some of them JSON escapes.
var listTexts = []string{"plain", `a "quoted" text`, "tab\there", "ä€😀", "\u2028", "x.go", "y.md"}

// listing is a project with random files and changesets.
type listing struct {
	*testEngine
	t       *testing.T
	dice    *rand.Rand
	ann     *testAgent
	project id.ID
	name    string
	// contents are the live files, messages those of the changesets, the oldest first.
	contents map[string]string
	messages []string
}

func newListing(t *testing.T, seed uint64) *listing {
	t.Helper()
	l := &listing{
		testEngine: newTestEngine(t), t: t, dice: rand.New(rand.NewPCG(seed, 1)),
		contents: map[string]string{}, messages: []string{""},
	}
	l.ann = l.register("ann")
	l.project, _ = l.testEngine.project(l.ann, work.Private)
	l.name = l.project.Format(id.Project)
	return l
}

func (l *listing) text() string { return listTexts[l.dice.IntN(len(listTexts))] }

// write writes a file, or deletes one.
func (l *listing) write(nth int) {
	l.t.Helper()
	message := fmt.Sprint(nth, " ", l.text())
	if l.dice.IntN(10) == 0 {
		message += strings.Repeat(" at length", 350)
	}
	at := strings.ReplaceAll(fmt.Sprintf("f%d/%s", l.dice.IntN(60), l.text()), "\t", "-")
	content := fmt.Sprint("content ", nth)
	hash := sha256.Sum256([]byte(content))
	if _, there := l.contents[at]; there && l.dice.IntN(3) == 0 {
		l.give(l.ann, l.project, &work.DeleteFile{Path: at, Message: message})
		delete(l.contents, at)
	} else {
		l.give(l.ann, l.project, &work.PutFile{
			Path: at, Message: message, ContentType: "text/plain",
			Blob: work.Blob{Hash: hash, Content: []byte(content)},
		})
		l.contents[at] = content
	}
	l.messages = append(l.messages, message)
}

// ask reads a list as a type. It must be written as package json writes the type, within the size
// that it is said to have.
func ask[T any](l *listing, operation string, query map[string]string) (data T) {
	l.t.Helper()
	reply, _, err := l.call(l.ann, request{
		operation: operation, params: []string{l.name}, query: query,
	})
	if err != nil {
		l.t.Fatalf("%s: %v", operation, err)
	}
	text := reply.AppendData(nil)
	if err := json.Unmarshal(text, &data, json.RejectUnknownMembers(true)); err != nil {
		l.t.Fatalf("%s: %v", operation, err)
	}
	want, err := json.Marshal(data, json.Deterministic(true))
	if err != nil || string(text) != string(want) {
		l.t.Fatalf("%s: %v\n%s\n%s", operation, err, text, want)
	}
	if size := reply.Data.(api.Sized).JSONBytes(); size < len(text) || size > 2*len(text)+2048 {
		l.t.Errorf("%s: a size of %d for %d bytes", operation, size, len(text))
	}
	return data
}

// files reads all pages of files and compares them with what was written.
func (l *listing) files(limit int) {
	l.t.Helper()
	seen, last := map[string]bool{}, ""
	query := map[string]string{"limit": fmt.Sprint(limit)}
	for {
		page := ask[api.FilesData](l, "file.list", query)
		for i := range page.Files {
			one := &page.Files[i]
			content, there := l.contents[one.Path]
			hash := sha256.Sum256([]byte(content))
			if !there || seen[one.Path] || one.Path <= last || one.SizeBytes != len(content) ||
				one.BlobHash != hex.EncodeToString(hash[:]) {
				l.t.Errorf("%+v, want %q", one, content)
			}
			seen[one.Path], last = true, one.Path
		}
		if page.NextCursor == nil {
			break
		}
		if len(page.Files) != limit {
			l.t.Errorf("a page of %d files instead of %d", len(page.Files), limit)
		}
		query["cursor"] = *page.NextCursor
	}
	if len(seen) != len(l.contents) {
		l.t.Errorf("%d files instead of %d", len(seen), len(l.contents))
	}
}

// history reads all pages of changesets and compares their messages.
func (l *listing) history(limit int) {
	l.t.Helper()
	query := map[string]string{"limit": fmt.Sprint(limit)}
	next := len(l.messages)
	for {
		page := ask[api.ChangesetsData](l, "changeset.list", query)
		for i := range page.Changesets {
			one := &page.Changesets[i]
			if int(one.Sequence) != next || one.Author.Handle != "ann" ||
				next > 1 && one.Message != l.messages[next-1] || (one.ParentID == nil) != (next == 1) {
				l.t.Errorf("%+v, want the sequence %d", one, next)
			}
			next--
		}
		if page.NextCursor == nil {
			break
		}
		query["cursor"] = *page.NextCursor
	}
	if next != 0 {
		l.t.Errorf("%d changesets are missing", next)
	}
}

// TestListsAreWhatWasWritten compares pages of random files and changesets, byte for byte with what
// package json writes, and with what was written. Pages are read again and again, so that those
// that are remembered are compared, too.
func TestListsAreWhatWasWritten(t *testing.T) {
	l := newListing(t, 1)
	for nth := range 150 {
		l.write(nth)
		if nth%10 == 0 {
			l.files(1 + l.dice.IntN(30))
			l.files(200)
			l.history(1 + l.dice.IntN(30))
		}
	}
	l.files(20)
	l.history(100)
	for at := range l.contents {
		of := ask[api.ChangesetsData](l, "changeset.list", map[string]string{"path": at})
		if len(of.Changesets) == 0 || of.Changesets[0].Message == "" {
			t.Errorf("the history of %q: %+v", at, of)
		}
	}
}

// TestRememberedPagesAreOfTheirCallers reads a page that is remembered. A stranger is refused, and
// other filters and limits have pages of their own.
func TestRememberedPagesAreOfTheirCallers(t *testing.T) {
	l := newListing(t, 2)
	for nth := range 60 {
		l.write(nth)
	}
	whole := ask[api.FilesData](l, "file.list", nil)
	again := ask[api.FilesData](l, "file.list", nil)
	one, _ := stdjson.Marshal(whole)
	other, _ := stdjson.Marshal(again)
	if len(whole.Files) < 15 || string(one) != string(other) {
		t.Errorf("%s\n%s", one, other)
	}
	for _, query := range []map[string]string{
		{"prefix": "f1"}, {"glob": "f2*/**"}, {"limit": "7"},
	} {
		page := ask[api.FilesData](l, "file.list", query)
		if len(page.Files) == 0 || len(page.Files) >= len(whole.Files) {
			t.Errorf("%v: %d files of %d", query, len(page.Files), len(whole.Files))
		}
	}
	for _, who := range []*testAgent{nil, l.register("eve")} {
		_, _, err := l.call(who, request{operation: "file.list", params: []string{l.name}})
		if fault.CodeOf(err) != fault.ProjectNotFound {
			t.Errorf("a stranger: %v", err)
		}
	}
}

// BenchmarkLists reads the first page of files and of changesets.
func BenchmarkLists(b *testing.B) {
	d := old(b, 2000, 1, 1)
	for _, operation := range []string{"file.list", "changeset.list"} {
		b.Run(operation, func(b *testing.B) { measure(b, d, operation, nil) })
	}
}
