package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pws/api"
)

// examplesDir has the examples of the published documents, a file for each operation.
const examplesDir = "../../api/docs/examples"

// recorder makes examples of what a script asks. The clock moves on before each request, so that
// times say by which one they came to be.
type recorder struct {
	// starts are the times of the service at which the requests began, in milliseconds.
	starts []int64
	files  map[string][]byte
}

// stepSeconds is how far the clock moves before each request: enough to distinguish them, and so
// little that nothing runs out because of some more of them.
const stepSeconds = 1

// example is api, and keeps the request with its answer as the example of its operation.
//
//	example api ARG...
func (s *script) example(ts *testscript.TestScript, args []string) error {
	if len(args) == 0 || args[0] != "api" {
		return errors.New("usage: example api ARG...")
	}
	if s.examples == nil {
		s.examples = &recorder{files: map[string][]byte{}}
	}
	r := s.examples
	if err := s.api(ts, args[1:]); err != nil {
		return err
	}
	op, answer := operationOf(s.sent.method, s.sent.target), s.last
	if _, twice := r.files[op.Name]; twice {
		return fmt.Errorf("%s has an example already", op.Name)
	}
	end, err := s.clock(ts, 0)
	if err != nil {
		return err
	}
	e := &example{starts: r.starts, end: end, names: map[string]string{}, serials: map[string]int{}}
	r.files[op.Name], err = e.record(s.sent, answer)
	s.last = answer
	return err
}

// TestFurtherLinesChangeNoExample runs the script of the examples with more lines in it, which
// shift times, IDs and places in the log, and expects the same files.
func TestFurtherLinesChangeNoExample(t *testing.T) {
	if *update {
		t.Skip("another test writes the examples")
	}
	text, err := os.ReadFile(filepath.Join(scriptsDir, "example.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	more := strings.ReplaceAll(string(text), "\nexample api", "\napi GET health 200\nexample api")
	more = strings.Replace(more, "\n# Lin starts", "\nagent more\napi POST projects "+
		`'{"name":"More","visibility":"PRIVATE"}'`+" 201\n# Lin starts", 1)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "more.txtar"), []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, scriptParams(dir, newCoverage()))
}

// tick moves the clock on before a request of a script that records examples.
func (s *script) tick(ts *testscript.TestScript) error {
	if s.examples == nil {
		return nil
	}
	start, err := s.clock(ts, stepSeconds)
	s.examples.starts = append(s.examples.starts, start)
	return err
}

// clock moves the clock of the service and says what it is then, in milliseconds.
func (s *script) clock(ts *testscript.TestScript, seconds int) (int64, error) {
	if err := s.advance(ts, []string{fmt.Sprint(seconds)}); err != nil {
		return 0, err
	}
	now, _ := s.last.at("data.now")
	moment, err := time.Parse(time.RFC3339Nano, textOf(now))
	return moment.UnixMilli(), err
}

// recorded compares the examples with those that are published, and writes them with -update. Every
// operation has one, but for those that answer with a document.
//
//	recorded
func (s *script) recorded(*testscript.TestScript, []string) error {
	var wrong []error
	for _, op := range api.Table {
		if len(op.Media) == 0 && s.examples.files[op.Name] == nil {
			wrong = append(wrong, fmt.Errorf("no example of %s", op.Name))
		}
	}
	kept, err := filepath.Glob(examplesDir + "/*.json")
	if err != nil {
		return err
	}
	for _, name := range kept {
		if s.examples.files[strings.TrimSuffix(filepath.Base(name), ".json")] != nil {
			continue
		}
		wrong = append(wrong, fmt.Errorf("%s belongs to no operation", name))
		if *update {
			wrong[len(wrong)-1] = os.Remove(name)
		}
	}
	for operation, text := range s.examples.files {
		name := filepath.Join(examplesDir, operation+".json")
		old, err := os.ReadFile(name)
		if err == nil && bytes.Equal(old, text) {
			continue
		}
		if *update {
			wrong = append(wrong, os.WriteFile(name, text, 0o644))
			continue
		}
		wrong = append(wrong, fmt.Errorf("%s differs from what was recorded; make golden writes:\n%s",
			name, clip(string(text))))
	}
	return errors.Join(wrong...)
}
