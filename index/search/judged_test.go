package search

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pws/internal/id"
)

// judgedQuery is a query and a document expected among its first hits.
type judgedQuery struct {
	text   string
	within int
	// miss is set if the expectation is known to fail.
	miss bool
	want string
}

// is reports whether a document name in the corpus is the expected one.
func (q *judgedQuery) is(name string) bool {
	if kind, title, any := strings.Cut(q.want, " | ? | "); any {
		return strings.HasPrefix(name, kind+" | ") && strings.HasSuffix(name, " | "+title)
	}
	return name == q.want
}

func readJudged(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "judged", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func judgedQueries(t testing.TB) (queries []judgedQuery) {
	for line := range strings.Lines(readJudged(t, "queries.txt")) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		parts := strings.SplitN(line, " | ", 3)
		bound, miss := strings.CutSuffix(parts[1], " miss")
		within, err := strconv.Atoi(bound)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		queries = append(queries, judgedQuery{parts[0], within, miss, parts[2]})
	}
	return queries
}

// judgedIndex indexes the corpus. A document is a line "== KIND | project | title" and the lines of
// its text, each indented by one space.
func judgedIndex(t testing.TB) (*Index, map[Key]string) {
	t.Helper()
	x := open(t, filepath.Join(t.TempDir(), "search"))
	names, projects := map[Key]string{}, map[string]id.ID{}
	b := NewBatch()
	for n, section := range strings.Split("\n"+readJudged(t, "corpus.txt"), "\n== ")[1:] {
		head, body, _ := strings.Cut(section, "\n")
		parts := strings.SplitN(head, " | ", 3)
		project, known := projects[parts[1]]
		if !known {
			project = id.New(int64(n+1), [10]byte{2})
			projects[parts[1]] = project
		}
		d := &Document{
			Key:   Key{Kind: ParseKind(parts[0]), Project: project, Entity: id.New(int64(n+1), [10]byte{3})},
			Title: parts[2], Body: strings.ReplaceAll(body, "\n ", "\n"), UpdatedAt: int64(n),
		}
		switch d.Key.Kind {
		case 0:
			t.Fatalf("invalid document header %q", head)
		case Project:
			d.Key.Entity = id.ID{}
		case Agent:
			d.Key.Project = id.ID{}
		case File:
			d.Key.Entity, d.Key.Path = id.ID{}, d.Title
		}
		names[d.Key] = head
		b.Put(d.complete())
	}
	if err := x.Write(b, 1, nil); err != nil {
		t.Fatal(err)
	}
	return x, names
}

// TestRelevance measures the rank of the expected documents. Its results are in bench/RESULTS.md.
func TestRelevance(t *testing.T) {
	x, names := judgedIndex(t)
	queries := judgedQueries(t)
	if len(queries) < 60 || len(names) < 500 {
		t.Fatalf("%d queries of %d documents", len(queries), len(names))
	}
	reciprocal, recalled, met := 0.0, 0, 0
	for _, query := range queries {
		hits := find(t, x, &Query{Words: correctedWords(t, x, query.text), Limit: 100})
		rank, first := 0, "nothing"
		for i, hit := range hits {
			if i == 0 {
				first = names[hit.Key]
			}
			if query.is(names[hit.Key]) {
				rank = i + 1
				break
			}
		}
		if rank > 0 {
			reciprocal += 1 / float64(rank)
		}
		if rank > 0 && rank <= 3 {
			recalled++
		}
		within := rank > 0 && rank <= query.within
		if within {
			met++
		}
		if within == query.miss {
			t.Errorf("%q: rank %d of %s, wanted within %d, a known miss: %t; the first is %s",
				query.text, rank, query.want, query.within, query.miss, first)
		}
	}
	count := float64(len(queries))
	figures := fmt.Sprintf("%d queries: MRR %.3f, recall at 3 %.3f, %d within their bound",
		len(queries), reciprocal/count, float64(recalled)/count, met)
	t.Log(figures)
}

// correctedWords returns the words of a query, with each word without a match replaced by the
// nearest one.
func correctedWords(t testing.TB, x *Index, text string) Words {
	t.Helper()
	words := ParseWords(text)
	for i, wrong := range words.Folded {
		if !words.MayBeWrong(i) ||
			len(find(t, x, &Query{Words: words.Only(i), Limit: 1, Any: true})) > 0 {
			continue
		}
		near, err := x.Near(wrong)
		if err != nil {
			t.Fatal(err)
		}
		if len(near) > 0 {
			text = ParseWords(text).Correct(wrong, near[0])
		}
	}
	return ParseWords(text)
}

func TestNearWords(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "search"))
	write(t, x, 1, fileDocument("a.md", "prometheus wombat équipe sha256sum", 1))
	for _, one := range []struct{ word, near string }{
		{"promethues", "[prometheus]"}, {"prmethes", "[prometheus]"}, {"prmethe", "[]"},
		{"wombta", "[wombat]"}, {"wambta", "[]"}, {"wom", "[]"}, {"equipes", "[equipe]"},
		{"sha256sun", "[]"}, {"womb", "[]"},
	} {
		near, err := x.Near(one.word)
		if err != nil || fmt.Sprint(near) != one.near {
			t.Errorf("%s: %v %v, want %s", one.word, near, err, one.near)
		}
	}
	words := ParseWords("how to start Promethues, promethues_rules?")
	if got := words.Correct("promethues", "prometheus"); got !=
		"how to start prometheus, prometheus_rules?" {
		t.Error(got)
	}
}
