package work_test

import (
	"fmt"
	"strings"
	"testing"

	"pws/internal/fault"
	"pws/work"
	"pws/work/edit"
)

// TestEditsAreBounded: the text that the edits of a request search and produce, and the help for
// those that fail, are bounded, whatever the files are.
func TestEditsAreBounded(t *testing.T) {
	w := newWorld()
	large := strings.Repeat("a line of a text\n", work.FileBytesMax/17)
	create := &work.CreateProject{ID: agent("project"), Kind: work.Standard}
	create.About = work.About{
		Name: "large", License: "MIT", Visibility: work.Public, Reuse: work.AllowReuse,
	}
	const files = work.EditedBytesMax/work.FileBytesMax + 2
	for i := range files {
		content := blob(large + fmt.Sprint(i))
		create.Files = append(create.Files, work.Operation{
			Action: work.Create, Path: fmt.Sprint(i), Content: &content, ContentType: "text/plain",
		})
	}
	if _, err := w.do(agent("ann"), create); err != nil {
		t.Fatal(err)
	}
	read := func(hash work.Hash) ([]byte, error) { return w.blobs[hash], nil }
	publish := func(edits int, one edit.Edit, of ...int) error {
		command := &work.PublishChangeset{Base: w.project.Head().ID}
		for _, file := range of {
			operation := work.Operation{Action: work.Modify, Path: fmt.Sprint(file)}
			for range edits {
				operation.Edits = append(operation.Edits, one)
			}
			command.Operations = append(command.Operations, operation)
		}
		command.Operations = w.project.EditOperations(command.Operations, work.NewEditor(read))
		_, err := w.do(agent("ann"), command)
		return err
	}
	all := make([]int, files)
	for i := range all {
		all[i] = i
	}
	same := edit.Edit{Old: "line", New: "line", All: true}
	limitOf := func(err error) any {
		if refused, ok := err.(*fault.Error); ok && refused.Code == fault.FileTooLarge {
			return refused.Details["limit_bytes"]
		}
		return err
	}
	if got := limitOf(publish(1, same, all...)); got != work.EditedBytesMax {
		t.Errorf("%d files: %v", files, got)
	}
	if err := publish(1, same, all[:files-2]...); err != nil {
		t.Errorf("%d files: %v", files-2, err)
	}
	if got := limitOf(publish(work.EditsMax, same, 0, 1)); got != work.EditReadBytesMax {
		t.Errorf("%d edits: %v", 2*work.EditsMax, got)
	}
	if err := publish(work.EditsMax, same, 0); err != nil {
		t.Errorf("%d edits: %v", work.EditsMax, err)
	}
	refused, ok := publish(1, edit.Edit{Old: "a line of another text"}, all[:6]...).(*fault.Error)
	if !ok || refused.Code != fault.EditNotFound {
		t.Fatal(refused)
	}
	helped := 0
	for _, part := range refused.Details["faults"].([]fault.Part) {
		if lines, ok := part.Details["nearest_lines"].([]edit.Line); ok && len(lines) > 0 {
			helped++
		}
	}
	if helped != 4 {
		t.Errorf("%d of 6 refusals have the nearest lines", helped)
	}
}

// TestEditsAreAlikeEverywhere: the same edit of a file, in a changeset, in a checkpoint and in a
// workspace has the same result.
func TestEditsAreAlikeEverywhere(t *testing.T) {
	w := newWorld()
	create := &work.CreateProject{ID: agent("project"), Kind: work.Standard}
	create.About = work.About{
		Name: "alike", License: "MIT", Visibility: work.Public, Reuse: work.AllowReuse,
	}
	content := blob("one\r\ntwo\nthree two\n")
	for _, path := range []string{"a", "b", "c", "d"} {
		create.Files = append(create.Files, work.Operation{
			Action: work.Create, Path: path, Content: &content, ContentType: "text/x",
		})
	}
	do := func(command work.Command) {
		t.Helper()
		if _, err := w.do(agent("ann"), command); err != nil {
			t.Fatal(err)
		}
	}
	do(create)
	edits := []edit.Edit{{Old: "two", New: "2", All: true}, {Old: "one\r\n2", New: "1\n2\n"}}
	editor := work.NewEditor(func(hash work.Hash) ([]byte, error) { return w.blobs[hash], nil })
	do(work.EditFile{Path: "a", Edits: edits}.Apply(w.project, editor))
	operation := work.Operation{Action: work.Modify, Path: "b", Edits: edits}
	do(&work.PublishChangeset{
		Base:       w.project.Head().ID,
		Operations: w.project.EditOperations([]work.Operation{operation}, editor),
	})
	operation.Path = "c"
	base := w.project.Head().ID
	do(work.CreateCheckpoint{
		Summary: "s", Base: &base,
		Files: []work.CheckpointFile{{Path: "c", Operation: &operation}},
	}.EditFiles(w.project, editor))
	do(new(work.OpenWorkspace))
	var space *work.Workspace
	w.project.Workspaces(func(one *work.Workspace) bool {
		space = one
		return false
	})
	do(work.EditWorkspaceFile{
		Workspace: space.ID, Path: "d", Edits: edits,
	}.Apply(w.project, space, editor))

	want := blob("1\n2\n\nthree 2\n").Hash
	for _, path := range []string{"a", "b", "c"} {
		file, _ := w.project.File(path)
		if file.Blob != want || file.ContentType != "text/x" {
			t.Errorf("%s: %q %s", path, w.blobs[file.Blob], file.ContentType)
		}
	}
	space, _ = w.project.Workspace(space.ID)
	file, _ := w.project.WorkspaceFile(space, "d")
	if file.Blob != want || file.ContentType != "text/x" {
		t.Errorf("d: %q %s", w.blobs[file.Blob], file.ContentType)
	}
}
