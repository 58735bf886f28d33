package work_test

import (
	"fmt"
	"testing"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// bigWorkspace is a project with many files and a workspace that changed as many as it may; moved
// says whether the head has moved since.
func bigWorkspace(b *testing.B, files int, moved bool) (*world, id.ID) {
	w := filled(b, files)
	space := w.must(b, new(work.OpenWorkspace)).Result.Subject
	for n := range work.OperationsMax {
		w.must(b, &work.WriteWorkspaceFile{
			Workspace: space, Path: fmt.Sprintf("folder-%d/file-%d.go", n%50, n),
			Blob: blob("ours"), ContentType: "text/plain",
		})
	}
	if moved {
		w.put(b, "folder-0/file-0.go", "theirs")
	}
	return w, space
}

// BenchmarkWorkspaceWrite decides and applies a file written in a workspace, one that replaces
// another and, in turn, one that is new.
func BenchmarkWorkspaceWrite(b *testing.B) {
	for _, moved := range []bool{false, true} {
		for _, files := range []int{200, work.FilesMax} {
			b.Run(fmt.Sprint("moved=", moved, "/files=", files), func(b *testing.B) {
				w, space := bigWorkspace(b, files, moved)
				stamp, p := w.stamp(agent("ann")), w.project
				contents, at := []work.Blob{blob("one"), blob("two")}, 0
				b.ReportAllocs()
				for b.Loop() {
					at++
					command := &work.WriteWorkspaceFile{
						Workspace: space, Path: "folder-7/file-7.go",
						Blob: contents[at%2], ContentType: "text/plain",
					}
					p = next(b, p, command, stamp)
				}
			})
		}
	}
}

// BenchmarkWorkspaceNewFile decides a new file of a workspace.
func BenchmarkWorkspaceNewFile(b *testing.B) {
	for _, moved := range []bool{false, true} {
		b.Run(fmt.Sprint("moved=", moved), func(b *testing.B) {
			w, space := bigWorkspace(b, work.FilesMax-1, moved)
			w.must(b, &work.DeleteWorkspaceFile{Workspace: space, Path: "folder-0/file-0.go"})
			w.must(b, &work.WriteWorkspaceFile{Workspace: space, Path: "folder-1/file-1.go",
				Blob: blob("first"), ContentType: "text/plain"})
			stamp := w.stamp(agent("ann"))
			command := &work.WriteWorkspaceFile{
				Workspace: space, Path: "folder-7/new", Blob: blob("one"), ContentType: "text/plain",
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := work.Decide(command, w.project, stamp); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// shifted is a project in which every file was renamed to the path of the one behind it, and
// another began at the path of the first.
func shifted(b *testing.B, files int) (w *world, base *work.Changeset, space id.ID) {
	w = filled(b, files)
	base = w.project.Head()
	space = w.must(b, new(work.OpenWorkspace)).Result.Subject
	for n := range work.OperationsMax {
		w.must(b, &work.WriteWorkspaceFile{
			Workspace: space, Path: fmt.Sprintf("folder-%d/file-%d.go", n%50, n),
			Blob: blob("ours"), ContentType: "text/plain",
		})
	}
	path := func(n int) string { return fmt.Sprintf("folder-%d/file-%d.go", n%50, n) }
	var operations []work.Operation
	w.must(b, &work.DeleteFile{Path: path(files - 1)})
	for n := files - 2; n >= 0; n-- {
		operations = append(operations, renameOp(path(n), path(n+1)))
		if len(operations) == work.OperationsMax || n == 0 {
			w.publish(b, operations...)
			operations = nil
		}
	}
	w.put(b, path(0), "another")
	return w, base, space
}

// BenchmarkShifted compares two trees between which every file moved by one path, and merges a
// workspace with them.
func BenchmarkShifted(b *testing.B) {
	for _, files := range []int{1000, work.FilesMax} {
		w, base, space := shifted(b, files)
		b.Run(fmt.Sprint("changes/files=", files), func(b *testing.B) {
			for b.Loop() {
				w.project.Changes(base, w.project.Head())
			}
		})
		b.Run(fmt.Sprint("merge/files=", files), func(b *testing.B) {
			one, _ := w.project.Workspace(space)
			for b.Loop() {
				if _, err := w.project.PlanMerge(one, w.read, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWorkspaceNewFileAmongGone decides a new file of a workspace whose base is not the head,
// in a project with many paths that have no file any more.
func BenchmarkWorkspaceNewFileAmongGone(b *testing.B) {
	w, space := bigWorkspace(b, 4000, true)
	w.must(b, &work.DeleteWorkspaceFile{Workspace: space, Path: "folder-0/file-0.go"})
	p, moment := w.project.Clone(), work.Moment{Now: testNow, Agent: agent("ann")}
	for n := range 20_000 {
		name := fmt.Sprintf("gone/%d", n)
		for _, op := range []work.OpRecord{
			{Action: work.Create, Path: name, Blob: blob("x").Hash, Size: 1, Type: "text/plain"},
			{Action: work.Delete, Path: name},
		} {
			p.Apply(&work.ChangesetPublished{
				ID: p.Head().ID.Next(), Source: work.SourceFilePut, Ops: []work.OpRecord{op},
			}, moment)
		}
	}
	command := &work.WriteWorkspaceFile{
		Workspace: space, Path: "a new file", Blob: blob("one"), ContentType: "text/plain",
	}
	stamp := w.stamp(agent("ann"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := work.Decide(command, p, stamp); err != nil && !isQuota(err) {
			b.Fatal(err)
		}
	}
}

func isQuota(err error) bool { return fault.CodeOf(err) == fault.QuotaExceeded }
