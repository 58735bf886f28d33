package search

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDamagedIndexOpensEmpty checks that an index opens empty, at position 0, after any damage to
// its files.
func TestDamagedIndexOpensEmpty(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "search")
	x := open(t, dir)
	durable := make(chan struct{})
	b := NewBatch()
	b.Put(fileDocument("a", "zebra", 1))
	if err := x.Write(b, 5, func() { close(durable) }); err != nil {
		t.Fatal(err)
	}
	<-durable
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, storeName, "*"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for n, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(content); i += len(content)/5 + 1 {
			for how, damaged := range map[string][]byte{
				"flip": append(append(append([]byte(nil), content[:i]...), ^content[i]),
					content[i+1:]...),
				"cut": content[:i],
			} {
				what := fmt.Sprintf("%d %s %d", n, how, i)
				folder := filepath.Join(t.TempDir(), strings.ReplaceAll(what, " ", "-"))
				if err := os.CopyFS(folder, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				broken := filepath.Join(folder, storeName, filepath.Base(name))
				if err := os.WriteFile(broken, damaged, 0o600); err != nil {
					t.Fatal(err)
				}
				x, _, err := Open(folder, []byte("mark"))
				if err != nil {
					t.Fatal(what, err)
				}
				position, err := x.Position()
				if err != nil || position != 0 || x.Len() != 0 {
					t.Error(what, position, err, x.Len())
				}
				if err := x.Close(); err != nil {
					t.Error(what, err)
				}
			}
		}
	}
}

func TestForeignDirectoriesAreKept(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "letters.txt")
	if err := os.WriteFile(name, []byte("a letter"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(dir, nil); err == nil {
		t.Error("Open succeeded in a directory with other files")
	}
	if _, err := os.Stat(name); err != nil {
		t.Error(err)
	}
}

// TestHostileQueries checks that the cost of any query is bounded.
func TestHostileQueries(t *testing.T) {
	x, c := full(t, 300)
	started := func() uint64 {
		n, ok := x.scorch.StatsMap()["TotTermSearchersStarted"].(uint64)
		if !ok {
			t.Fatal("the statistic does not exist")
		}
		return n
	}
	for _, text := range []string{
		strings.Repeat("a ", 250), strings.Repeat("k", 500), "ki* *:* /.*/ ki~9 +ki -lo ^9",
		strings.Repeat("*?", 250), strings.Repeat("(", 500), c.text(80), "\x00\x01\u202e\ufeff",
		strings.Repeat("\u0301", 250), strings.Repeat("漢", 160), strings.Repeat("A_b", 160),
	} {
		words := ParseWords(text)
		if len(words.Folded) > WordsMax {
			t.Errorf("%.20q has %d words", text, len(words.Folded))
		}
		before := started()
		if hits := find(t, x, &Query{Words: words}); len(hits) > 25 {
			t.Errorf("%.20q: %d hits", text, len(hits))
		}
		if used := started() - before; used > WordsMax+endingsMax {
			t.Errorf("%.20q read %d terms", text, used)
		}
	}
}
