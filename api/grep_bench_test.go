package api_test

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pws/actors"
	"pws/api"
	"pws/internal/id"
	"pws/work"
)

// BenchmarkGrep searches 5,000 files of 8 KiB, 41 MB of lines that all differ: with all contents in
// memory, and with none, so that each is read from a pack.
func BenchmarkGrep(b *testing.B) {
	dir := b.TempDir()
	open := func(cache int64) *testEngine {
		engine, _, err := actors.Open(actors.Config{
			Dir: dir, ReserveBytes: -1, Log: slog.New(slog.DiscardHandler), CacheBytes: cache,
			SnapshotEvery: time.Hour, SweepEvery: time.Hour, SnapshotAtClose: true, NoSearch: true,
		})
		if err != nil {
			b.Fatal(err)
		}
		o := &testEngine{Engine: engine, t: b}
		o.service = api.NewService(o, api.Config{})
		return o
	}
	o := open(256 << 20)
	ada := o.register("ada")
	project, _ := o.project(ada, work.Private)
	size := o.fillForGrep(ada, project)
	for _, cache := range []struct {
		name  string
		bytes int64
	}{{"memory", 256 << 20}, {"packs", 1}} {
		if err := o.Close(); err != nil {
			b.Fatal(err)
		}
		o = open(cache.bytes)
		for _, c := range []struct{ name, pattern, expression, fold string }{
			{"word", "absentWord", "false", "false"}, {"fold", "absentWord", "false", "true"},
			{"needle", `\w+\.absent\(\d`, "true", "false"}, {"none", `\d{9}x`, "true", "false"},
		} {
			query := map[string]string{
				"pattern": c.pattern, "regex": c.expression, "ignore_case": c.fold,
			}
			b.Run(cache.name+"/"+c.name, func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					_, data, err := o.call(ada, request{
						operation: "project.grep", params: []string{project.Format(id.Project)},
						query: query,
					})
					if err != nil || data["files_searched"] != 5000.0 || data["next_cursor"] != nil {
						b.Fatal(err, data)
					}
				}
			})
		}
	}
	if err := o.Close(); err != nil {
		b.Fatal(err)
	}
}

// fillForGrep writes the files of the benchmark and returns their size.
func (o *testEngine) fillForGrep(who *testAgent, project id.ID) (size int) {
	for nth := 0; nth < work.FilesMax; nth += work.OperationsMax {
		var operations []work.Operation
		for of := nth; of < nth+work.OperationsMax; of++ {
			var text strings.Builder
			for line := 0; text.Len() < 8<<10; line++ {
				fmt.Fprintf(&text, "\tif err := s.handle(ctx, %x, %d); err != nil {\n", of*line*7919, of)
			}
			size += text.Len()
			content := work.Blob{
				Hash: sha256.Sum256([]byte(text.String())), Content: []byte(text.String()),
			}
			operations = append(operations, work.Operation{
				Action: work.Create, Path: fmt.Sprintf("d%d/f%d.go", of%100, of), Content: &content,
				ContentType: "text/plain",
			})
		}
		view, err := o.Engine.Project(project)
		if err != nil {
			o.t.Fatal(err)
		}
		o.give(who, project, &work.PublishChangeset{Base: view.Head().ID, Operations: operations})
	}
	return size
}
