package checkout

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// foundWith are the files that are found without git where .gitignore has a text.
func foundWith(t *testing.T, text string, names ...string) ([]string, error) {
	t.Helper()
	dir := t.TempDir()
	all := files{".gitignore": text}
	for _, name := range names {
		all[name] = "x"
	}
	write(t, dir, all)
	found, _, err := newFake(t, files{}).copyOf(t, dir).find()
	slices.Sort(found)
	return slices.DeleteFunc(found, func(name string) bool { return name == ".gitignore" }), err
}

// TestIgnoreFileOfBytes: what is no UTF-8 has rules all the same, as for git.
func TestIgnoreFileOfBytes(t *testing.T) {
	deep := strings.Repeat(strings.Repeat("x", 200)+"/", 3) + ".env"
	for _, text := range []string{
		"# gesch\xfctzt\n.env\n", "\xef\xbb\xbf.env\n", "\xef\xbb\xbf/.env", "gesch\xfctzt\n.en[v\xfc]\n",
		"\r\n.env\r\n", ".env  \n\xff\n",
	} {
		found, err := foundWith(t, text, ".env", "a")
		if err != nil || !slices.Equal(found, []string{"a"}) {
			t.Errorf("with %q found %q, %v", text, found, err)
		}
	}
	// git takes bytes for characters.
	const patterns = "?.o\n\xc3\xbc.c\n[\x80-\xff][\x80-\xff].h\n"
	found, err := foundWith(t, patterns, "ü.o", "u.o", "ü.c", "ü.h", "a")
	if err != nil || !slices.Equal(found, []string{"a", "ü.o"}) {
		t.Errorf("found %q, %v", found, err)
	}
	found, err = foundWith(t, deep+"\n", deep, "a")
	if err != nil || !slices.Equal(found, []string{"a"}) {
		t.Errorf("with a long pattern found %q, %v", found, err)
	}
}

// TestUnusableIgnoreFile: a file that cannot be used as rules is an error that names it, because
// what it excludes would be published.
func TestUnusableIgnoreFile(t *testing.T) {
	for text, want := range map[string]string{
		"\xff\xfe.\x00e\x00n\x00v\x00":                         "NUL",
		strings.Repeat("#\n", FileBytesMax/2) + ".env\n":       "1 MiB",
		"a\n*" + strings.Repeat("x", 600) + "\n":               "line 2",
		".env\n" + strings.Repeat("?", 513) + "/\n# a comment": "line 2",
	} {
		_, err := foundWith(t, text, ".env")
		if err == nil || !strings.Contains(err.Error(), ".gitignore") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("with %.20q: %v", text, err)
		}
	}
	dir := t.TempDir()
	write(t, dir, files{".env": "x", "sub/a": "x", "sub/.gitignore/a": "x"})
	tree := newFake(t, files{}).copyOf(t, dir)
	if _, _, err := tree.find(); err != nil {
		t.Errorf("a folder of that name: %v", err)
	}
	must(t, os.Symlink("rules", filepath.Join(dir, ".gitignore")))
	if _, _, err := tree.find(); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a symbolic link: %v", err)
	}
}

// BenchmarkManyIgnorePatterns matches a path with as many patterns as a file may have.
func BenchmarkManyIgnorePatterns(b *testing.B) {
	for _, form := range []string{"name%d\n", "/a/b%d\n", "*.x%d\n", "a/**/b%d\n", "x[ab]%d\n"} {
		var text strings.Builder
		for i := 0; text.Len() < FileBytesMax-20; i++ {
			fmt.Fprintf(&text, form, i)
		}
		rules, err := readIgnore(".", []byte(text.String()))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%q", form), func(b *testing.B) {
			for b.Loop() {
				if ignored([]*ignoreFile{rules}, "d/e/file.txt", false) {
					b.Fatal("ignored")
				}
			}
		})
	}
}

// TestIgnoreManyStars: for git more than two stars of a segment are two.
func TestIgnoreManyStars(t *testing.T) {
	for _, text := range []string{"***/x\n", "d/***/x\n", "d/****/x\n", "d/***\n", "/d/*****/x"} {
		found, err := foundWith(t, text, "d/x", "d/e/x", "d/e/f/x", "y")
		if err != nil || !slices.Equal(found, []string{"y"}) {
			t.Errorf("with %q found %q, %v", text, found, err)
		}
	}
}
