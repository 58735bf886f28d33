package work_test

import (
	"fmt"
	"runtime"
	"testing"

	"pws/work"
)

// filled is a project with many files.
func filled(b *testing.B, files int) *world {
	w := newWorld()
	w.create(b)
	for n := range files {
		w.put(b, fmt.Sprintf("folder-%d/file-%d.go", n%50, n), "first")
	}
	return w
}

// BenchmarkPutFile decides and applies one changed file to a clone, as an actor does.
func BenchmarkPutFile(b *testing.B) {
	for _, files := range []int{10, work.FilesMax} {
		b.Run(fmt.Sprint("files=", files), func(b *testing.B) {
			w := filled(b, files)
			contents := []work.Blob{blob("one"), blob("two")}
			stamp, at := w.stamp(agent("ann")), 0
			p := w.project
			b.ReportAllocs()
			for b.Loop() {
				n := at % files
				command := &work.PutFile{
					Path: fmt.Sprintf("folder-%d/file-%d.go", n%50, n),
					Blob: contents[at/files%2], ContentType: "text/plain",
				}
				at++
				p = next(b, p, command, stamp)
			}
		})
	}
}

// next decides a command and applies it to a clone, as an actor does.
func next(b *testing.B, p *work.Project, command work.Command, stamp work.Stamp) *work.Project {
	decision, err := work.Decide(command, p, stamp)
	if err != nil {
		b.Fatal(err)
	}
	p = p.Clone()
	moment := work.Moment{Now: stamp.Now, Agent: stamp.Agent}
	for _, event := range decision.Events {
		p.Apply(event, moment)
	}
	return p
}

// deep is one file that was written many times, among others.
func deep(b *testing.B, changesets int) *work.Project {
	w := filled(b, 20)
	p := w.project.Clone()
	moment := work.Moment{Now: testNow, Agent: agent("ann")}
	for n := range changesets {
		p.Apply(&work.ChangesetPublished{
			ID: p.Head().ID.Next(), Source: work.SourceFilePut,
			Ops: []work.OpRecord{{
				Action: work.Modify, Path: "folder-0/file-0.go", Blob: blob(fmt.Sprint(n)).Hash,
				Size: 5, Type: "text/plain",
			}},
		}, moment)
	}
	return p
}

// BenchmarkFileAt reads a file in the middle of a long history.
func BenchmarkFileAt(b *testing.B) {
	p := deep(b, 10_000)
	middle := p.ChangesetNumber(5000)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := p.FileAt("folder-0/file-0.go", middle); !ok {
			b.Fatal("the file is not there")
		}
	}
}

// BenchmarkRestore reads a saved project of ten thousand changesets.
func BenchmarkRestore(b *testing.B) {
	s := mustSave(b, deep(b, 10_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.restore(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMemory reports the memory of one changeset with one operation, without contents.
func BenchmarkMemory(b *testing.B) {
	for _, files := range []int{10, 1000} {
		b.Run(fmt.Sprint("files=", files), func(b *testing.B) {
			const changesets = 20_000
			w := filled(b, files)
			p := w.project.Clone()
			moment := work.Moment{Now: testNow, Agent: agent("ann")}
			before := heapBytes()
			for n := range changesets {
				at := n % files
				p.Apply(&work.ChangesetPublished{
					ID: p.Head().ID.Next(), Source: work.SourceFilePut,
					Ops: []work.OpRecord{{
						Action: work.Modify, Path: fmt.Sprintf("folder-%d/file-%d.go", at%50, at),
						Blob: blob("x").Hash, Size: 5, Type: "text/plain",
					}},
				}, moment)
			}
			kept := float64(heapBytes()-before) / changesets
			runtime.KeepAlive(p)
			for b.Loop() {
			}
			b.ReportMetric(kept, "B/changeset")
		})
	}
}

func heapBytes() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
