package arch

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// listed returns the words of a variable of the Makefile.
func listed(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + name + ` := (.*)$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("the Makefile has no list %s", name)
	}
	return strings.FieldsFunc(string(found[1]), func(r rune) bool { return r == ' ' || r == '|' })
}

// TestUnracedPackages checks two lists of the Makefile: the packages whose tests run without the
// race detector. A package in the list PURE may only import packages of that list.
func TestUnracedPackages(t *testing.T) {
	pure := listed(t, "PURE")
	for _, folder := range append(listed(t, "DRIVERS"), pure...) {
		if _, known := mayImport[folder]; !known {
			t.Errorf("the Makefile lists %s, which is not a package", folder)
		}
	}
	for _, folder := range listed(t, "DRIVERS") {
		if slices.Contains(pure, folder) {
			t.Errorf("the Makefile lists %s twice", folder)
		}
	}
	for _, name := range listed(t, "RACED_SCRIPTS") {
		if _, err := os.Stat(filepath.Join(root, "testdata/scripts", name+".txtar")); err != nil {
			t.Errorf("the Makefile lists a missing script: %v", err)
		}
	}
	for _, s := range sources(t) {
		if s.test || !slices.Contains(pure, s.folder) {
			continue
		}
		for _, path := range s.imports() {
			ours, isOurs := strings.CutPrefix(path, "pws/")
			if path == "sync" || path == "sync/atomic" || isOurs && !slices.Contains(pure, ours) {
				t.Errorf("%s imports %s, but its package is in the list PURE of the Makefile",
					s.name, path)
			}
		}
		if starts(s.syntax) {
			t.Errorf("%s starts goroutines, but its package is in the list PURE of the Makefile",
				s.name)
		}
	}
}

// TestLongTestsExist checks the list LONG of the Makefile. A name that two tests have would leave
// out both, and one that none has would leave out nothing.
func TestLongTestsExist(t *testing.T) {
	found := map[string]int{}
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		for _, declared := range s.syntax.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && f.Recv == nil {
				found[f.Name.Name]++
			}
		}
	}
	for _, name := range listed(t, "LONG") {
		if found[name] != 1 {
			t.Errorf("the Makefile lists %s, the name of %d tests", name, found[name])
		}
	}
}

// TestReadersAreRaced checks the pure packages. The Makefile runs their tests whose names end in
// NeedNoLock with the race detector, so no other test may start goroutines.
func TestReadersAreRaced(t *testing.T) {
	pure := listed(t, "PURE")
	for _, s := range sources(t) {
		if !s.test || !slices.Contains(pure, s.folder) {
			continue
		}
		for _, declared := range s.syntax.Decls {
			f, ok := declared.(*ast.FuncDecl)
			raced := ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") &&
				strings.HasSuffix(f.Name.Name, "NeedNoLock")
			if starts(declared) && !raced {
				t.Errorf("%s starts goroutines outside of tests whose names end in NeedNoLock",
					s.name)
			}
		}
	}
}

// starts reports whether code starts goroutines with a go statement or a method named Go.
func starts(code ast.Node) (found bool) {
	ast.Inspect(code, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = found || node.Sel.Name == "Go"
		}
		return !found
	})
	return found
}
