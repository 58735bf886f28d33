package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pws/api"
	"pws/internal/id"
	"pws/web"
)

// BenchmarkPages makes pages of a project with 10,000 changesets. Half of them take no longer than
// p50-µs, first-µs is the first one, whose texts nobody has rendered before.
func BenchmarkPages(b *testing.B) {
	d := old(b, 10_000, 1000, 500)
	project := agent("project").Format(id.Project)
	d.publish(b, "texts",
		writes("README.md", strings.Repeat("# Part\n\nSome *words* of [it](a.md), `code`.\n\n", 100)),
		writes("long.go", strings.Repeat("func f() { return \"text\" } // why\n", 2000)),
		writes("long.txt", strings.Repeat("a line of a text\n", 2000)))
	pages := map[string]*api.Operation{}
	for _, page := range web.New().Table() {
		pages[page.Name] = page
	}
	for _, c := range []struct {
		page   string
		params []string
		query  map[string]string
	}{
		{"project", nil, nil}, {"log", nil, nil},
		{"log", nil, map[string]string{"path": "src/package1/file1.go"}},
		{"files", nil, nil}, {"file", []string{"README.md"}, nil},
		{"file", []string{"long.go"}, nil}, {"file", []string{"long.txt"}, nil},
	} {
		name := strings.Join(append([]string{c.page}, c.params...), " ")
		b.Run(fmt.Sprint(name, c.query["path"]), func(b *testing.B) {
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				call := &api.Call{
					Service: d.service, Operation: pages["page."+c.page], Now: d.now,
					Params: append([]string{project}, c.params...), Query: c.query,
				}
				begin := time.Now()
				if _, err := call.Operation.Run(call, new(api.None)); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begin))
			}
			first := took[0]
			slices.Sort(took)
			b.ReportMetric(float64(first.Nanoseconds())/1000, "first-µs")
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-µs")
		})
	}
}
