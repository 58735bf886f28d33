package search

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"pws/internal/id"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sampled returns the number of cases to test: all with PWS_CUT_ALL, otherwise fewer.
func sampled(all, ordinary int) int {
	if os.Getenv("PWS_CUT_ALL") != "" {
		return all
	}
	return ordinary
}

// corpus generates documents of words whose frequencies are as uneven as in a natural language.
type corpus struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newCorpus(seed uint64) *corpus {
	random := rand.New(rand.NewPCG(seed, 1))
	return &corpus{random, rand.NewZipf(random, 1.1, 8, 30_000)}
}

func (c *corpus) word() string {
	n := c.zipf.Uint64()
	var out []byte
	for n += 7; n > 0; n /= 19 {
		out = append(out, "bcdfghjklmnprstvwxz"[n%19], "aeiou"[n%5])
	}
	return string(out)
}

func (c *corpus) text(words int) string {
	var out strings.Builder
	for n := range words {
		if n > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(c.word())
	}
	return out.String()
}

// document returns the nth document of a corpus.
func (c *corpus) document(n int) *Document {
	project := id.New(int64(n/50), [10]byte{1})
	d := &Document{
		Key: Key{
			Kind: File, Project: project, Path: fmt.Sprintf("src/%s/%s%d.go", c.word(), c.word(), n),
		},
		Body: c.text(40 + c.random.IntN(400)), UpdatedAt: int64(n) * 1000,
		Terms: []string{InLanguage([]string{"go", "python", "rust"}[n%3]), Licensed("MIT")},
	}
	d.Title = d.Key.Path
	return d.complete()
}

func open(t testing.TB, dir string) *Index {
	t.Helper()
	x, recreated, err := Open(dir, []byte("mark"))
	if err != nil || recreated != nil {
		t.Fatal(err, recreated)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func write(t testing.TB, x *Index, position uint64, documents ...*Document) {
	t.Helper()
	b := NewBatch()
	for _, d := range documents {
		b.Put(d)
	}
	if err := x.Write(b, position, nil); err != nil {
		t.Fatal(err)
	}
}

func find(t testing.TB, x *Index, q *Query) []Hit {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 25
	}
	hits, err := x.Search(q)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

func pathsOf(hits []Hit) (paths []string) {
	for _, hit := range hits {
		paths = append(paths, hit.Key.Path)
	}
	return paths
}

func fileDocument(path, body string, updatedAt int64, terms ...string) *Document {
	d := &Document{
		Key:   Key{Kind: File, Project: id.New(1, [10]byte{1}), Path: path},
		Title: path, Body: body, UpdatedAt: updatedAt, Terms: terms,
	}
	return d.complete()
}

// full returns an index with the given number of documents.
func full(t testing.TB, documents int) (*Index, *corpus) {
	x, c, b := open(t, filepath.Join(t.TempDir(), "search")), newCorpus(1), NewBatch()
	for n := 0; n < documents; {
		for range min(256, documents-n) {
			b.Put(c.document(n))
			n++
		}
		if err := x.Write(b, uint64(n), nil); err != nil {
			t.Fatal(err)
		}
	}
	return x, c
}

func TestWordsAndFilters(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "search"))
	write(t, x, 1,
		fileDocument("a.go", "the quick brown fox", 1, InLanguage("go")),
		fileDocument("b.py", "the lazy dog, a Fox_Terrier", 2, InLanguage("python")),
		fileDocument("fox.md", "nothing of the sort", 3),
		fileDocument("c.go", "func parseHTTPRequest(maxRetries int)", 4, InLanguage("go")),
		fileDocument("d.txt", "Ünïcödé ΣΊΣΥΦΟΣ 検索する", 5),
		fileDocument("e.txt", "Σίσυφος ค้นหาข้อความ ຄົ້ນຫາ ស្វែងរក", 6),
	)
	for _, one := range []struct {
		query string
		terms []string
		want  string
	}{
		{"fox", nil, "[fox.md a.go b.py]"},
		{"FOX quick", nil, "[a.go]"},
		{"fo", nil, "[]"},
		{"terr", nil, "[b.py]"},
		{"terr fox", nil, "[]"},
		{"fox terr", nil, "[b.py]"},
		{"fox_terrier", nil, "[b.py]"},
		{"http retries", nil, "[c.go]"},
		{"parsehttprequest", nil, "[c.go]"},
		{"quick brown zebra", nil, "[a.go]"},
		{"quick zebra giraffe", nil, "[]"},
		{"the", []string{InLanguage("GO")}, "[a.go]"},
		{"", []string{InLanguage("go")}, "[c.go a.go]"},
		{"", nil, "[]"},
		{"ünïcödé", nil, "[d.txt]"},
		{"ÜNÏCÖDÉ", nil, "[d.txt]"},
		{"索", nil, "[d.txt]"},
		{"σίσυφοσ", nil, "[d.txt e.txt]"},
		{"Σίσυφος", nil, "[d.txt e.txt]"},
		{"ΣΊΣΥΦΟΣ", nil, "[d.txt e.txt]"},
		{"ข้อความ", nil, "[e.txt]"},
		{"หา", nil, "[e.txt]"},
		{"ກາ", nil, "[]"},
		{"ຫາ", nil, "[e.txt]"},
		{"រក", nil, "[e.txt]"},
		{"* fox* ~2", nil, "[]"},
		{"+fox -quick", nil, "[a.go]"},
	} {
		q := &Query{Words: ParseWords(one.query)}
		if one.terms != nil {
			q.Filters = [][]string{one.terms}
		}
		if got := fmt.Sprint(pathsOf(find(t, x, q))); got != one.want {
			t.Errorf("%q %q: %s, want %s", one.query, one.terms, got, one.want)
		}
	}
}

func TestChangedDocumentsAreFoundInTheirCurrentState(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "search"))
	first, second := fileDocument("a", "zebra", 1), fileDocument("a", "giraffe", 2)
	write(t, x, 1, first, fileDocument("b", "zebra", 1))
	write(t, x, 2, second)
	got := pathsOf(find(t, x, &Query{Words: ParseWords("zebra")}))
	if !slices.Equal(got, []string{"b"}) {
		t.Error(got)
	}
	versions, err := x.Versions([]Key{second.Key, {Kind: File, Path: "no"}})
	if err != nil || versions[0] != second.Version || versions[1] != 0 {
		t.Error(versions, err)
	}
	if keys, err := x.KeysOf(first.Key.Project); err != nil || len(keys) != 2 {
		t.Error(keys, err)
	}
	b := NewBatch()
	b.Drop(second.Key)
	if err := x.Write(b, 3, nil); err != nil {
		t.Fatal(err)
	}
	if got := find(t, x, &Query{Words: ParseWords("giraffe")}); len(got) != 0 {
		t.Error(got)
	}
}

// TestPagesHaveEachMatchOnce checks that pages contain every match once, whatever is indexed
// between them.
func TestPagesHaveEachMatchOnce(t *testing.T) {
	x, c := full(t, 600)
	for _, query := range []*Query{
		{Words: ParseWords("ki")},
		{Filters: [][]string{{InLanguage("go")}}},
		{Words: ParseWords("ki lo"), Filters: [][]string{{InLanguage("go"), InLanguage("rust")}}},
	} {
		query.Limit = 10_000
		all := find(t, x, query)
		if len(all) < 50 {
			t.Fatalf("%v: only %d", query, len(all))
		}
		var paged []Hit
		query.Limit = 7
		for n := 10_000; ; n++ {
			page := find(t, x, query)
			paged = append(paged, page...)
			if len(page) < query.Limit {
				break
			}
			query.After = &page[len(page)-1].Place
			write(t, x, uint64(n), fileDocument("other", c.text(20), int64(n)))
		}
		later := func(hit Hit) bool { return strings.HasPrefix(hit.Key.Path, "other") }
		if paged = slices.DeleteFunc(paged, later); !slices.Equal(paged, all) {
			t.Errorf("%d in pages, %d in one", len(paged), len(all))
		}
	}
}

// TestPagesWhileOthersChange checks that pages contain every document once that did not change,
// even if the words of the query become more or less frequent between the pages.
func TestPagesWhileOthersChange(t *testing.T) {
	const documents = 120
	body := func(n int) string { return "stone " + strings.Repeat("river ", n%7) + "bridge" }
	for name, change := range map[string]func(n int) *Document{
		"fewer": func(n int) *Document {
			return fileDocument(fmt.Sprint("f", n), "nothing", int64(n))
		},
		"more": func(n int) *Document {
			return fileDocument(fmt.Sprint("g", n), body(n), int64(n))
		},
		"others": func(n int) *Document {
			return fileDocument(fmt.Sprint("h", n), "elsewhere", int64(n))
		},
		"longer words": func(n int) *Document {
			return fileDocument(fmt.Sprint("k", n), fmt.Sprint("bridgework", n), int64(n))
		},
	} {
		for _, words := range []string{"stone", "bridge river", "river_bridge stone"} {
			x := open(t, filepath.Join(t.TempDir(), "search"))
			// Several segments have a part of the documents each.
			for first := 0; first < documents; first += 20 {
				var part []*Document
				for n := first; n < first+20; n++ {
					part = append(part, fileDocument(fmt.Sprint("f", n), body(n), int64(n)))
				}
				write(t, x, uint64(first+1), part...)
			}
			// One in three stays; the others are changed between the pages.
			changing, seen := 0, map[string]int{}
			for query := (&Query{Words: ParseWords(words), Limit: 5}); ; {
				page := find(t, x, query)
				for _, hit := range page {
					seen[hit.Key.Path]++
				}
				if len(page) < query.Limit {
					break
				}
				query.After = &page[len(page)-1].Place
				b := NewBatch()
				for range 40 {
					if changing++; changing%3 != 0 {
						b.Put(change(changing))
					}
				}
				if err := x.Write(b, uint64(1000+changing), nil); err != nil {
					t.Fatal(err)
				}
			}
			for n := 0; n < documents; n += 3 {
				path := fmt.Sprint("f", n)
				matches := words == "stone" || n%7 > 0
				if want := map[bool]int{true: 1}[matches]; seen[path] != want {
					t.Errorf("%s, %q: %s was found %d times, want %d", name, words, path, seen[path], want)
				}
			}
		}
	}
}

func TestPositionSurvivesAKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "search")
	x := open(t, dir)
	durable := make(chan struct{})
	b := NewBatch()
	b.Put(fileDocument("a", "zebra", 1))
	if err := x.Write(b, 77, func() { close(durable) }); err != nil {
		t.Fatal(err)
	}
	<-durable
	// A copy of the directory simulates a killed process.
	killed := filepath.Join(t.TempDir(), "search")
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{dir, killed} {
		x := open(t, at)
		position, err := x.Position()
		if err != nil || position != 77 || len(find(t, x, &Query{Words: ParseWords("zebra")})) != 1 {
			t.Errorf("%s: %d %v", at, position, err)
		}
	}
}

// BenchmarkSearch searches 15,000 documents of 40 to 440 words.
func BenchmarkSearch(b *testing.B) {
	x, c := full(b, 15_000)
	words := func(count int) func() *Query {
		return func() *Query { return &Query{Words: ParseWords(c.text(count))} }
	}
	inGo := [][]string{{InLanguage("go")}}
	for name, make := range map[string]func() *Query{
		"rare": func() *Query { return &Query{Words: ParseWords(c.word() + "x")} },
		"word": words(1), "two": words(2), "five": words(5), "thirty": words(60),
		"common":   func() *Query { return &Query{Words: ParseWords("ki")} },
		"filter":   func() *Query { return &Query{Filters: inGo} },
		"filtered": func() *Query { return &Query{Words: ParseWords(c.word()), Filters: inGo} },
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				q := make()
				q.Limit = 25
				find(b, x, q)
			}
		})
	}
}
