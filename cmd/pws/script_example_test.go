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

// examplesDir contains the examples of the published documents, one file for each operation.
const examplesDir = "../../api/docs/examples"

// recorder records requests of a script as examples. The clock advances before each request, so
// that each time in a response identifies the request that set it.
type recorder struct {
	// starts are the times of the service when the requests began, in milliseconds.
	starts []int64
	files  map[string][]byte
}

// stepSeconds is how far the clock advances before each request: enough to tell requests apart, and
// too little for anything to expire when requests are added.
const stepSeconds = 1

// example is like api, and records the request and its answer as the example of its operation.
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

// TestFurtherLinesChangeNoExample adds lines to the script of the examples, which shifts times, IDs
// and log positions, and expects unchanged examples.
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

// tick advances the clock before each request of a script that records examples.
func (s *script) tick(ts *testscript.TestScript) error {
	if s.examples == nil {
		return nil
	}
	start, err := s.clock(ts, stepSeconds)
	s.examples.starts = append(s.examples.starts, start)
	return err
}

// clock advances the clock of the service and returns its time in milliseconds.
func (s *script) clock(ts *testscript.TestScript, seconds int) (int64, error) {
	if err := s.advance(ts, []string{fmt.Sprint(seconds)}); err != nil {
		return 0, err
	}
	now, _ := s.last.at("data.now")
	moment, err := time.Parse(time.RFC3339Nano, textOf(now))
	return moment.UnixMilli(), err
}

// recorded compares the recorded examples with the published files; -update rewrites the files.
// Every operation needs an example, except those that answer with a document.
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
