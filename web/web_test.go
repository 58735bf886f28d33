package web

import (
	"reflect"
	"strings"
	"testing"

	"pws/api"
)

func TestPlainTexts(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc":                  "a\tb\nc",
		"a\r\nb\rc":                "a\nb\uFFFDc",
		"a\x1b[31mb":               "a\uFFFD[31mb",
		"a\u202eb\u2066c":          "a\uFFFDb\uFFFDc",
		"für 你好":                   "für 你好",
		"a\U000E0041\u200b\u00adb": "a\uFFFD\uFFFD\uFFFDb",
		"👩\u200d👩 ❤\ufe0f a\ufe0f": "👩\u200d👩 ❤\ufe0f a\uFFFD",
	} {
		if got := plain(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := label("REVIEW_REQUESTED"); got != "Review requested" {
		t.Errorf("%q", got)
	}
	if got := cut(5, " a\n b \u202ecdefg"); got != "a b …" {
		t.Errorf("%q", got)
	}
}

func TestOwnAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"/ui/p/x?view=split#L1":           "/ui/p/x?view=split",
		"/ui":                             "/ui",
		"":                                "/ui/",
		"/uix/":                           "/ui/",
		"/ui/../api":                      "/ui/",
		"/ui/%2e%2e/api":                  "/ui/",
		"//evil/ui/":                      "/ui/",
		"http://evil/ui/":                 "/ui/",
		"ui/":                             "/ui/",
		"/ui/a\r\nb":                      "/ui/",
		"/ui/" + strings.Repeat("a", 9e3): "/ui/",
	} {
		if got := ownAddress(address); got != want {
			t.Errorf("%.40q: %q, not %q", address, got, want)
		}
	}
}

func TestDiffsAreReadAsTheyAreWritten(t *testing.T) {
	text := strings.Join([]string{
		"diff --git a/x.go b/x.go", "--- a/x.go", "+++ b/x.go", "@@ -1,3 +1,4 @@", " one", "-two",
		"+deux", "+diff --git a/fake b/fake", " three", "@@ -10 +11 @@ func", "-- minus", "++ plus",
		`\ No newline at end of file`, "diff --git a/y b/z", "similarity index 100%",
		"rename from y", "rename to z", "",
	}, "\n")
	got := newDiff(text, []api.DiffFile{
		{Path: "x.go", Additions: 3, Deletions: 2}, {Path: "z"}, {Path: "cut", Additions: 1},
	}, true)
	want := []row{
		{"gap", 0, 0, "@@ -1,3 +1,4 @@", nil},
		{"same", 1, 1, "one", nil},
		{"removed", 2, 0, "two", nil},
		{"added", 0, 2, "deux", nil},
		{"added", 0, 3, "diff --git a/fake b/fake", nil},
		{"same", 3, 4, "three", nil},
		{"gap", 0, 0, "@@ -10 +11 @@ func", nil},
		{"removed", 10, 0, "- minus", nil},
		{"added", 0, 11, "+ plus", nil},
		{"gap", 0, 0, `\ No newline at end of file`, nil},
	}
	if rows := rowsOf(got.Files[0].part); !reflect.DeepEqual(rows, want) {
		t.Errorf("rows %+v", rows)
	}
	if len(got.Files) != 3 || rowsOf(got.Files[1].part) != nil || got.Files[2].part != "" ||
		got.Additions != 4 || got.Deletions != 2 {
		t.Errorf("%+v", got)
	}
}

// TestEachPageHasATemplate parses all, which a server does when a page is shown first.
func TestEachPageHasATemplate(t *testing.T) {
	for name, parse := range New().templates {
		if parse().Lookup("layout.html") == nil {
			t.Errorf("%s has no layout", name)
		}
	}
}

// TestRefusedFormsOfExpensivePages: a form that is refused makes its page again, so it costs what
// the page costs.
func TestRefusedFormsOfExpensivePages(t *testing.T) {
	all := New().Table()
	pages := map[string]*api.Operation{}
	for _, one := range all {
		if one.Method == "GET" {
			pages[one.Path] = one
		}
	}
	expensive := 0
	for _, one := range all {
		if one.Method != "POST" || one.Category != api.CategoryWrite {
			continue
		}
		page := formPage(pages, one.Path)
		if page == nil {
			t.Errorf("%s (%s) has no page", one.Name, one.Path)
			continue
		}
		if one.Expensive != page.Expensive {
			t.Errorf("%s: expensive %v, but its page, %s: %v",
				one.Name, one.Expensive, page.Name, page.Expensive)
		}
		if one.Expensive {
			expensive++
		}
	}
	if expensive < 3 {
		t.Errorf("%d forms are expensive", expensive)
	}
}
