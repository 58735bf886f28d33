package api

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unique"

	"pws/api/jsonschema"
	"pws/internal/id"
	"pws/work"
)

// TestTextsAreNotUnderestimated compares the estimate with what is written.
func TestTextsAreNotUnderestimated(t *testing.T) {
	for _, one := range []string{
		"", "a", "\x00", "\x1f", "\n", "\t\r", "\"", "\\", "ä",
		"a \"word\" \b\f\n", "\u2028", "\U0001f600",
	} {
		for _, count := range []int{1, plainTextBytes + 1} {
			text := strings.Repeat(one, count)
			written := len(jsonschema.AppendString(nil, text))
			if got := jsonschema.StringBytes(text); got < written || got > 3*written {
				t.Errorf("%d times %q: %d bytes instead of %d", count, one, got, written)
			}
			if got := textBytes(text) + 2; got < written {
				t.Errorf("%d times %q: %d bytes are reserved for %d", count, one, got, written)
			}
		}
	}
}

// TestAnswersKnowTheirSizes has answers with texts and paths that JSON makes as long as possible.
func TestAnswersKnowTheirSizes(t *testing.T) {
	path, from := strings.Repeat("p/", 100), strings.Repeat("f/", 100)
	last := &work.Changeset{
		ID: id.New(1, [10]byte{1}), Sequence: 1, Message: strings.Repeat("\x01", 4000),
	}
	for range 1000 {
		last.Ops = append(last.Ops, work.Op{
			Path: &path, From: &from, Action: work.Rename, Type: unique.Make("text/plain"),
		})
	}
	ops := 0
	for i := range last.Ops {
		ops += len(appendOperation(nil, work.NewProject(), last, &last.Ops[i]))
	}
	message := len(jsonschema.AppendString(nil, last.Message))
	for name, one := range map[string]Sized{
		"a changeset": changesetReply{changeset: last},
		"a fork":      forkReply{changeset: last},
		"an import":   importReply{changeset: last},
		"a write":     fileWritten{changeset: last},
	} {
		if got := one.JSONBytes(); got < ops+message {
			t.Errorf("%s: %d bytes are reserved for operations of %d", name, got, ops+message)
		}
	}
	step := work.Step{ID: last.ID, CreatedAt: last.CreatedAt, Sequence: last.Sequence}
	info := work.FileInfo{Path: path, Created: step, Updated: step}
	for _, content := range []string{"", strings.Repeat("\x01", 60<<10), strings.Repeat("\n", 9<<10)} {
		one := fileReply{info: info, content: []byte(content), lines: &LineRange{}}
		batch := &filesBatch{missing: []string{path}, truncated: []string{path}}
		for range 20 {
			batch.files = append(batch.files, one)
		}
		space := workspaceFileReply{
			record: WorkspaceFile{Path: path}, content: []byte(content), lines: &LineRange{},
		}
		for name, reply := range map[string]interface {
			Appender
			Sized
		}{"a file": one, "files": batch, "a file of a workspace": space} {
			if got, made := reply.JSONBytes(), len(reply.AppendJSON(nil)); got < made {
				t.Errorf("%s of %d bytes: %d are reserved for %d", name, len(content), got, made)
			}
		}
	}
}

// TestAppendersAreSized finds answers without an estimate of their size. A time is small.
func TestAppendersAreSized(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	method := regexp.MustCompile(`(?m)^func \(\w+ (\*?\w+)\) (AppendJSON|JSONBytes)\(`)
	appenders, sized := map[string]bool{}, map[string]bool{"Time": true}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range method.FindAllStringSubmatch(string(text), -1) {
			if found[2] == "JSONBytes" {
				sized[found[1]] = true
			} else {
				appenders[found[1]] = true
			}
		}
	}
	if len(appenders) < 8 {
		t.Errorf("only %d types were found", len(appenders))
	}
	for name := range appenders {
		if !sized[name] {
			t.Errorf("%s appends JSON and has no JSONBytes", name)
		}
	}
}

// BenchmarkBatchAppend writes 20 files of 300 B as JSON.
func BenchmarkBatchAppend(b *testing.B) {
	batch := &filesBatch{}
	for range 20 {
		batch.files = append(batch.files, fileReply{
			info:    work.FileInfo{Path: "src/file.txt", Size: 300, ContentType: "text/plain"},
			content: []byte(strings.Repeat("Some text.\n", 28)[:300]),
		})
	}
	b.ReportAllocs()
	var text []byte
	for b.Loop() {
		text = batch.AppendJSON(text[:0])
	}
}
