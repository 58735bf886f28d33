package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pws/api"
	"pws/internal/fault"
	"pws/work"
)

// purged is an engine from which operators have removed contents.
type purged struct {
	*fakeEngine
	gone map[work.Hash]bool
}

func (p *purged) Blob(hash work.Hash) ([]byte, error) {
	if p.gone[hash] {
		return nil, fault.New(fault.ContentRemoved, "Removed.").
			With("blob_hash", fmt.Sprintf("%x", hash))
	}
	return p.fakeEngine.Blob(hash)
}

// purgedProject has contents that were removed: one that only the history names, and one that only
// a revision of a contribution names.
func purgedProject(t *testing.T) (d *fakeEngine, past, revision work.Hash) {
	d = newFakeEngine()
	d.join("ann", "ann")
	d.join("con", "con")
	d.create(t, work.About{Name: "purged"})
	d.publish(t, "one", writes("a.txt", "secret"), writes("b.txt", "2"))
	d.publish(t, "two", work.Operation{
		Action: work.Modify, Path: "a.txt", Content: textBlob("clean"), ContentType: "text/plain",
	})
	opened := d.do(t, "con", &work.OpenWorkspace{}).Result.Subject
	d.do(t, "con", &work.WriteWorkspaceFile{
		Workspace: opened, Path: "c.txt", Blob: *textBlob("hidden"), ContentType: "text/plain",
	})
	d.do(t, "con", &work.SubmitWorkspace{Workspace: opened, Summary: "mine"})
	past, revision = textBlob("secret").Hash, textBlob("hidden").Hash
	d.service = api.NewService(&purged{d, map[work.Hash]bool{past: true, revision: true}},
		api.Config{})
	return d, past, revision
}

// TestBundlesNameRemovedContentsOfThePast exports and imports a project whose files are all there,
// while contents of its history and of a contribution were removed.
func TestBundlesNameRemovedContentsOfThePast(t *testing.T) {
	d, past, revision := purgedProject(t)
	bundle := object(t, d.export(t, "ann", true))["bundle"].(map[string]any)
	removed, _ := bundle["removed_contents"].(map[string]any)
	want := []string{fmt.Sprintf("%x", past), fmt.Sprintf("%x", revision)}
	slices.Sort(want)
	if names := slices.Sorted(maps.Keys(removed)); !slices.Equal(names, want) {
		t.Errorf("removed contents are %v, want %v", names, want)
	}
	for _, name := range want {
		if _, contained := bundle["blobs"].(map[string]any)[name]; contained {
			t.Errorf("the bundle has the removed content %s", name)
		}
	}
	imported, _ := mustImport(t, d.export(t, "ann", true))
	marks := map[work.Hash]bool{}
	imported.project.Contents(func(work.Hash) bool { return false }, func(hash work.Hash) {
		if of, isMark := work.RemovedContent(imported.blobs[hash]); isMark {
			marks[of] = true
		}
	})
	if len(marks) != 2 || !marks[past] || !marks[revision] {
		t.Errorf("the imported project has marks of %v", marks)
	}
	// Without the history, nothing of the files was removed.
	head := object(t, d.export(t, "ann", false))["bundle"].(map[string]any)
	if removed, ok := head["removed_contents"].(map[string]any); ok {
		if _, named := removed[fmt.Sprintf("%x", past)]; named {
			t.Error("a bundle without the history names a content of the past")
		}
	}
	mustImport(t, d.export(t, "ann", false))
}

// TestHostileRemovedContents imports bundles with invalid members of removed_contents.
func TestHostileRemovedContents(t *testing.T) {
	d, past, _ := purgedProject(t)
	data := d.export(t, "ann", true)
	name := fmt.Sprintf("%x", past)
	clean := fmt.Sprintf("%x", textBlob("clean").Hash)
	blobs := func(bundle map[string]any) map[string]any { return bundle["blobs"].(map[string]any) }
	for of, row := range map[string]struct {
		change func(bundle, removed map[string]any)
		want   string
	}{
		"a name that is no hash": {func(_, removed map[string]any) {
			removed["xyz"] = name
		}, "removed_contents.xyz: must be 64"},
		"a name in capitals": {func(_, removed map[string]any) {
			removed[strings.Repeat("A", 64)] = name
		}, "removed_contents." + strings.Repeat("A", 64)},
		"a value that is no hash": {func(_, removed map[string]any) {
			removed[name] = "secret"
		}, "removed_contents." + name},
		"a value that is no text": {func(_, removed map[string]any) {
			removed[name] = 7
		}, "removed_contents"},
		"no object": {func(bundle, _ map[string]any) {
			bundle["removed_contents"] = []any{name}
		}, "removed_contents"},
		"a content that is there": {func(bundle, _ map[string]any) {
			blobs(bundle)[name] = "secret"
		}, "removed_contents." + name + ": is contained in the bundle"},
		"the content of a file": {func(_, removed map[string]any) {
			removed[clean] = clean
		}, "files[0].content: is named in removed_contents"},
		"left out": {func(_, removed map[string]any) {
			delete(removed, name)
		}, "names content"},
	} {
		tree := object(t, data)
		bundle := tree["bundle"].(map[string]any)
		delete(bundle, "integrity")
		row.change(bundle, bundle["removed_contents"].(map[string]any))
		text, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := imports(text, "bob"); err == nil {
			t.Errorf("%s: accepted", of)
		} else if got := faultsOf(err); !strings.Contains(got, row.want) {
			t.Errorf("%s: %q is not among:\n%.600s", of, row.want, got)
		}
	}
}
