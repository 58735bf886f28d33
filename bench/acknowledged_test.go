package bench

import (
	"fmt"
	"testing"
)

// TestAcknowledgedKeepsTheLastWriteOfEachFile checks that what is kept is the last answered write
// of each of the last files, and never the one in flight.
func TestAcknowledgedKeepsTheLastWriteOfEachFile(t *testing.T) {
	var a acknowledged
	answered := map[string]string{}
	for nth := range 100 {
		path, content := fmt.Sprint("file-", nth%20), fmt.Sprint("content ", nth)
		a.sent(path, []byte(content))
		want := min(nth, acknowledgedKept-1)
		got := a.last()
		if len(got) != want {
			t.Fatalf("after %d writes %d are kept, want %d", nth, len(got), want)
		}
		for _, one := range got {
			if answered[one.path] != string(one.content) {
				t.Fatalf("%s has %q, want %q", one.path, one.content, answered[one.path])
			}
		}
		a.count++
		answered[path] = content
	}
	var twice acknowledged
	for _, content := range []string{"first", "second"} {
		twice.sent("one", []byte(content))
		twice.count++
	}
	if got := twice.last(); len(got) != 1 || string(got[0].content) != "second" {
		t.Errorf("%q", got)
	}
}

// TestLostWritesAreFound checks that a file with another content than the last answered one counts
// as lost, and that a report with one has failed.
func TestLostWritesAreFound(t *testing.T) {
	config := testConfig(t)
	config.Program = buildService(t)
	s, err := startServer(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	projects, err := s.createProjects(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	kept := &acknowledged{}
	for _, name := range []string{"right.txt", "wrong.txt"} {
		path := filePath(projects[0], name)
		kept.sent(path, []byte(name))
		kept.count++
		if err := putFile(s.api, path, []byte("right.txt")); err != nil {
			t.Fatal(err)
		}
	}
	s.acknowledged = []*acknowledged{kept}
	report := &Report{}
	if err := s.checkAcknowledged(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	if got := *report.Acknowledged; got.Checked != 2 || got.Lost != 1 || len(report.Failed()) != 1 {
		t.Errorf("%+v, failed %v", got, report.Failed())
	}
}
