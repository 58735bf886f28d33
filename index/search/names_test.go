package search

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// TestNamesAreFoundBehindManyTexts has more documents with the words in their texts than a query
// examines, and behind them some whose names have the words.
func TestNamesAreFoundBehindManyTexts(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "search"))
	x.most = 20
	for n := range uint64(60) {
		text := fileDocument(fmt.Sprintf("notes/%02d.txt", n), "about postgres and grafana", int64(n))
		write(t, x, n+1, text)
	}
	write(t, x, 61,
		fileDocument("postgres", "none", 1, Licensed("MIT")),
		fileDocument("docs/grafana-and-postgres.md", "none", 2),
		fileDocument("docs/postgres.md", "none", 3, Licensed("MIT")))
	for n := range uint64(60) {
		text := fileDocument(fmt.Sprintf("later/%02d.txt", n), "about postgres and grafana", int64(n))
		write(t, x, n+62, text)
	}
	for _, one := range []struct {
		query   string
		filters [][]string
		want    []string
	}{
		{"postgres", nil, []string{"postgres", "docs/postgres.md"}},
		{"docs/postgres.md", nil, []string{"docs/postgres.md", "docs/grafana-and-postgres.md"}},
		{"postgres grafana", nil, []string{"docs/grafana-and-postgres.md"}},
		{"postgres", [][]string{{Licensed("MIT")}}, []string{"postgres", "docs/postgres.md"}},
	} {
		q := &Query{Words: ParseWords(one.query), Filters: one.filters, Limit: 4}
		paths := pathsOf(find(t, x, q))
		if len(paths) < len(one.want) || !slices.Equal(paths[:len(one.want)], one.want) {
			t.Errorf("%q finds %q, want %q first", one.query, paths, one.want)
		}
	}

	// The pages have each of them once.
	q := &Query{Words: ParseWords("postgres"), Limit: 2}
	found := map[string]int{}
	for range 30 {
		hits := find(t, x, q)
		for _, hit := range hits {
			found[hit.Key.Path]++
			q.After = &hit.Place
		}
		if len(hits) < q.Limit {
			break
		}
	}
	for _, name := range []string{"postgres", "docs/postgres.md", "docs/grafana-and-postgres.md"} {
		if found[name] != 1 {
			t.Errorf("the pages have %s %d times: %v", name, found[name], found)
		}
	}
}
