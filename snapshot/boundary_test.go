package snapshot

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pws/internal/disk/disktest"
)

// TestCommitReadsSectionsBack has the disk change a byte of a section that was written: the commit
// fails, and the next one has success.
func TestCommitReadsSectionsBack(t *testing.T) {
	d := disktest.New()
	s := mustOpen(t, Options{Dir: "d", disk: d})
	old := map[string]string{"one": "as it was"}
	mustRun(t, s, 1, old)
	changed := false
	d.Before = func(op, path string) {
		if op != "Rename" || !strings.Contains(path, sectionsPrefix) {
			return
		}
		data := d.Files()["d/"+sectionsName(2)+".tmp"].Data
		data[headerBytes+sectionHeadBytes+len("one")+1] ^= 1
		changed = true
	}
	w, err := s.Begin()
	if err == nil {
		err = w.Put("one", 2, []byte("as it is"))
	}
	if err == nil {
		err = w.Commit(2)
	}
	if d.Before = nil; !changed || !errors.Is(err, ErrCorrupt) {
		t.Fatalf("changed: %v, commit: %v", changed, err)
	}
	wantContents(t, s, old)
	mustRun(t, s, 2, map[string]string{"one": "as it is"})
	wantContents(t, s, map[string]string{"one": "as it is"})
}

// TestDeletedKeysTakeNoRoom deletes more than the delta may hold: the base forgets the keys.
func TestDeletedKeysTakeNoRoom(t *testing.T) {
	s := mustOpen(t, Options{Dir: "d", disk: disktest.New()})
	put, gone := map[string]string{}, []string{}
	for n := range 3000 {
		key := fmt.Sprint("key-", n)
		put[key], gone = "content", append(gone, key)
	}
	mustRun(t, s, 1, put)
	mustRun(t, s, 2, nil, gone...)
	if st := s.state.Load(); st.base.len()+st.delta.len() > 0 {
		t.Errorf("%d and %d keys are kept of sections that are deleted", st.base.len(), st.delta.len())
	}
	wantContents(t, s, nil)
}

// TestSecondFileBeyondTheManifestIsDamage: a run that was interrupted leaves one file behind the
// newest manifest. A file behind that one says that a manifest is missing.
func TestSecondFileBeyondTheManifestIsDamage(t *testing.T) {
	st := newStory()
	d := st.finished(t)
	unfinished := "d/" + sectionsName(storyRuns+1)
	d.Put(unfinished, []byte("unfinished"))
	s, err := st.open(d)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if d.Files()[unfinished] != nil {
		t.Error("the unfinished file is still there")
	}
	d.Put("d/"+sectionsName(storyRuns+2), []byte("unfinished"))
	if _, err := st.open(d); !errors.Is(err, ErrCorrupt) {
		t.Errorf("open: %v", err)
	}
}

// TestFileNumbersAreUnsigned finds files by numbers that are as far apart as can be.
func TestFileNumbersAreUnsigned(t *testing.T) {
	st := &state{files: []*sectionFile{{number: 1}, {number: math.MaxUint32 - 1}}}
	for _, want := range st.files {
		if got := st.file(want.number); got != want {
			t.Errorf("file %d is found in the place of %d", got.number, want.number)
		}
	}
}

// TestSectionHasThePositionOfTheIndex reads a section for which the index has another position.
func TestSectionHasThePositionOfTheIndex(t *testing.T) {
	s := mustOpen(t, Options{Dir: "d", disk: disktest.New()})
	mustRun(t, s, 7, map[string]string{"one": "content"})
	st := s.state.Load()
	e, ok := st.find("one")
	if !ok || e.position != 7 {
		t.Fatalf("%+v, %v", e, ok)
	}
	if data, err := st.file(e.file).read("one", e); err != nil || string(data) != "content" {
		t.Fatalf("%q, %v", data, err)
	}
	e.position = 8
	if data, err := st.file(e.file).read("one", e); !errors.Is(err, ErrCorrupt) {
		t.Errorf("%q is read at another position, %v", data, err)
	}
}

// TestDamagedPreviousManifestStays opens a store whose previous manifest is damaged: nothing that
// it may name is removed before the next commit.
func TestDamagedPreviousManifestStays(t *testing.T) {
	st := newStory()
	d := st.finished(t)
	previous := "d/" + manifestName(storyRuns-1)
	d.Files()[previous].Data[3] ^= 1
	before := len(d.Files())
	s, err := st.open(d)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if after := len(d.Files()); after != before {
		t.Errorf("%d files of %d are left", after, before)
	}
	mustRun(t, s, storyRuns+1, map[string]string{"key-1": "anew"})
	if d.Files()[previous] != nil {
		t.Error("the damaged manifest is there after a commit")
	}
}
