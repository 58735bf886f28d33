package actors

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"pws/blobs"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// TestCloseAnswersEverybody closes an engine that is in use: every order is answered, and what was
// answered as done is there afterwards.
func TestCloseAnswersEverybody(t *testing.T) {
	for round := range 20 {
		config := quiet(filepath.Join(t.TempDir(), "data"))
		e := start(t, config)
		owner := register(t, e, "owner")
		project := createProject(t, e, owner, work.Public)
		var writers sync.WaitGroup
		begun := make(chan struct{}, 16)
		done := make([][]string, 8)
		for n := range done {
			writers.Go(func() { done[n] = writeUntilClosed(t, e, project, owner, n, begun) })
			writers.Go(func() { proveUntilClosed(t, e, begun) })
		}
		for range 16 + round*20 {
			<-begun
		}
		go func() {
			for range begun {
			}
		}()
		stop(t, e)
		writers.Wait()
		close(begun)
		again := start(t, config)
		for n, contents := range done {
			path := fmt.Sprint("f", n)
			got, _, err := contentOf(again, viewOf(t, again, project), path)
			if last := contents[len(contents)-1]; err != nil || got != last {
				t.Fatalf("%s holds %q instead of %q: %v", path, got, last, err)
			}
		}
		stop(t, again)
	}
}

// writeUntilClosed writes one file again and again, and gives back the contents that were
// acknowledged.
func writeUntilClosed(
	t *testing.T, e *Engine, project, owner id.ID, n int, begun chan<- struct{},
) []string {
	contents := []string{""}
	for step := 0; ; step++ {
		content := fmt.Sprint("content ", n, " ", step)
		_, err := put(e, project, owner, fmt.Sprint("f", n), content)
		if fault.CodeOf(err) == fault.ShuttingDown {
			return contents
		}
		if err != nil {
			t.Error(err)
			return contents
		}
		contents = append(contents, content)
		begun <- struct{}{}
	}
}

// proveUntilClosed gives refused commands to identity.
func proveUntilClosed(t *testing.T, e *Engine, begun chan<- struct{}) {
	for {
		_, err := e.DoIdentity(identityOrderOf(&identity.RequestChallenge{}))
		if fault.CodeOf(err) == fault.ShuttingDown {
			return
		}
		if fault.CodeOf(err) == fault.Internal {
			t.Error(err)
			return
		}
		begun <- struct{}{}
	}
}

// TestCloseEndsTheSearchForNamedContents closes an engine that looks at all projects for those that
// name a content. The scan ends without an answer, and the next start goes on.
func TestCloseEndsTheSearchForNamedContents(t *testing.T) {
	config := quiet(filepath.Join(t.TempDir(), "data"))
	e := start(t, config)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	running := beginImport(t, e, beginUpload(t, e, owner, "text"))
	store(t, running, "alone")
	running.End(fault.New(fault.QuotaExceeded, "Full."))
	only := map[work.Hash]bool{blobOf("alone").Hash: true}
	h, _ := e.handles.Load(project)
	// The scan waits for the project until the engine stops.
	h.mu.Lock()
	closed, scanned := make(chan error), make(chan error, 2)
	e.stopped.Add(1)
	go func() {
		defer e.stopped.Done()
		scanned <- e.erasing.dropUnnamed(only)
		_, _, err := e.erasing.manifests(nil, false)
		scanned <- err
	}()
	go func() { closed <- e.Close() }()
	<-e.stop
	h.mu.Unlock()
	for range 2 {
		if err := <-scanned; fault.CodeOf(err) != fault.ShuttingDown {
			t.Errorf("a scan ends with %v", err)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	again := start(t, config)
	if !again.holds("alone") {
		t.Fatal("the content was dropped")
	}
	again.Advance(uploadMillis)
	if is, err := again.blobs.Holds(blobs.Hash(blobOf("alone").Hash)); is || err != nil {
		t.Errorf("the next start leaves the content: %v, %v", is, err)
	}
}
