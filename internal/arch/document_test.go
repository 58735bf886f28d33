package arch

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// guides are the documents whose names of files and tests have to exist.
var guides = []string{
	"ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "README.md", "deploy/README.md",
	"deploy/OPERATING.md",
}

// elsewhere are names in the guides that the module does not have: what is built, what the program
// makes for its user, and a method of MCP.
var elsewhere = []string{
	"bin/pws", "data", "pws.yaml", ".pws/local/claims.json", "AGENTS.md",
	"keys/authority", "keys/member-1", "keys/member-4", "backup", "tools/call",
}

// Names in backquotes that the tests check:
//
//	work/<noun>.go           a file or folder; <…> and * match any text, and one match suffices
//	wal/log.go:Log.Append    a declaration in a file
//	Log.Append               a declaration in the file named last in the paragraph or list item
//	TestSizes                a test, a fuzz target or a benchmark
//	make nightly             a target of the Makefile
//
// Other names are not checked.
var (
	fencePattern  = regexp.MustCompile("(?ms)^```.*?^```$")
	quotedPattern = regexp.MustCompile("`([^`\n]+)`")
	linkPattern   = regexp.MustCompile(`\]\(([^)#:]+)\)`)
	codePattern   = regexp.MustCompile(`^(\S+\.go):([A-Za-z]\w*(?:\.\w+)?)$`)
	methodPattern = regexp.MustCompile(`^[A-Za-z]\w*\.\w+$`)
	pathPattern   = regexp.MustCompile(`^\.?[\w<*][\w.<>*-]*(/[\w.<>*-]+)*/?$`)
	endingPattern = regexp.MustCompile(`\.(go|md|sh|txtar|txt|json|mjs|ts|yaml|cbor|history|table)$`)
	testPattern   = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]\w*$`)
	makePattern   = regexp.MustCompile(`^make ([a-z][\w -]*)$`)
	blankPattern  = regexp.MustCompile(`<[^>]*>`)
	folderPattern = regexp.MustCompile(`(?:^|\s)\./([\w/]+)`)

	paragraphPattern = regexp.MustCompile(`\n(\s*\n|\d+\. |- |\| )`)
)

// names are the names that exist in the module.
type names struct {
	// declared has the functions, types, methods and values of each file; a method is Type.Method.
	declared map[string]map[string]bool
	tests    map[string]bool
	makefile string
}

func namesOf(t *testing.T) *names {
	t.Helper()
	n := &names{declared: map[string]map[string]bool{}, tests: map[string]bool{}}
	for _, s := range sources(t) {
		of := map[string]bool{}
		for _, declared := range s.syntax.Decls {
			for _, name := range declaredBy(declared) {
				of[name] = true
				n.tests[name] = n.tests[name] || s.test
			}
		}
		n.declared[s.name] = of
	}
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	n.makefile = string(text)
	return n
}

func declaredBy(declared ast.Decl) (all []string) {
	switch d := declared.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		return []string{receiverOf(d) + "." + d.Name.Name}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch one := spec.(type) {
			case *ast.TypeSpec:
				all = append(all, one.Name.Name)
			case *ast.ValueSpec:
				for _, name := range one.Names {
					all = append(all, name.Name)
				}
			}
		}
	}
	return all
}

// receiverOf returns the name of the receiver type of a method.
func receiverOf(f *ast.FuncDecl) string {
	of := f.Recv.List[0].Type
	for {
		switch wrapped := of.(type) {
		case *ast.StarExpr:
			of = wrapped.X
		case *ast.IndexExpr:
			of = wrapped.X
		case *ast.IndexListExpr:
			of = wrapped.X
		case *ast.Ident:
			return wrapped.Name
		default:
			return ""
		}
	}
}

// problems returns the names in a document that do not exist. Its links begin at its folder.
func (n *names) problems(folder, text string) (all []string) {
	note := func(token, problem string) {
		if problem != "" {
			all = append(all, fmt.Sprintf("%q %s", token, problem))
		}
	}
	for _, fence := range fencePattern.FindAllString(text, -1) {
		for _, found := range folderPattern.FindAllStringSubmatch(fence, -1) {
			note(found[1], n.missingPath(found[1]))
		}
	}
	prose := fencePattern.ReplaceAllString(text, "")
	for _, paragraph := range paragraphPattern.Split(prose, -1) {
		last := ""
		for _, found := range quotedPattern.FindAllStringSubmatch(paragraph, -1) {
			file, problem := n.problem(found[1], last)
			note(found[1], problem)
			if file != "" {
				last = file
			}
		}
	}
	for _, found := range linkPattern.FindAllStringSubmatch(prose, -1) {
		note(found[1], n.missingPath(filepath.ToSlash(filepath.Join(folder, found[1]))))
	}
	return all
}

// problem returns the error in a word in backquotes, empty if there is none. last is the file named
// before it; file is the file named by this word.
func (n *names) problem(token, last string) (file, problem string) {
	if code := codePattern.FindStringSubmatch(token); code != nil {
		return code[1], n.undeclared(code[1], code[2])
	}
	if made := makePattern.FindStringSubmatch(token); made != nil {
		for target := range strings.FieldsSeq(made[1]) {
			if !strings.Contains(n.makefile, "\n"+target+":") {
				return "", "is no target of the Makefile"
			}
		}
		return "", ""
	}
	if testPattern.MatchString(token) {
		if !n.tests[token] {
			return "", "is no test"
		}
		return "", ""
	}
	named := strings.Contains(token, "/") || endingPattern.MatchString(token)
	if named && pathPattern.MatchString(token) {
		return "", n.missingPath(token)
	}
	if last != "" && methodPattern.MatchString(token) {
		return "", n.undeclared(last, token)
	}
	return "", ""
}

func (n *names) undeclared(file, name string) string {
	of, known := n.declared[file]
	switch {
	case !known:
		return "is in a file that does not exist"
	case !of[name]:
		return "is not declared in " + file
	}
	return ""
}

func (n *names) missingPath(name string) string {
	if slices.Contains(elsewhere, name) {
		return ""
	}
	pattern := filepath.Join(root, filepath.FromSlash(blankPattern.ReplaceAllString(name, "*")))
	if found, err := filepath.Glob(pattern); err != nil || len(found) == 0 {
		return "does not exist"
	}
	return ""
}

// TestDocumentsNameWhatExists checks every name in the documents.
func TestDocumentsNameWhatExists(t *testing.T) {
	n := namesOf(t)
	var all strings.Builder
	for _, name := range guides {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range n.problems(filepath.Dir(name), string(text)) {
			t.Errorf("%s: %s", name, problem)
		}
		all.Write(text)
	}
	for _, name := range elsewhere {
		if !strings.Contains(all.String(), name) {
			t.Errorf("no document names %s, which is an exception", name)
		}
	}
}

// TestWrongNamesAreFound tests the check itself.
func TestWrongNamesAreFound(t *testing.T) {
	n := namesOf(t)
	for _, right := range []string{
		"`internal/arch/arch_test.go`", "`internal/arch`", "`wal/`", "`work/<noun>.go`", "`.ci/run`",
		"`internal/arch/arch_test.go:TestSizes`", "`internal/arch/arch_test.go:source.imports`",
		"`internal/arch/arch_test.go:mayImport`", "`TestSizes`", "`make test`", "`README.md`",
		"`internal/arch/arch_test.go:source.imports` and `source.imports`", "`/metrics`", "`Apply`",
		"[it](README.md)", "[there](https://example.org/none)", "```\ngo test ./wal\n```",
	} {
		if problems := n.problems(".", right); len(problems) > 0 {
			t.Errorf("%s: %q", right, problems)
		}
	}
	for _, wrong := range []string{
		"`internal/arch/arch.go`", "`internal/arc`", "`wall/`", "`wrk/<noun>.go`", "`.ci/runs`",
		"`internal/arch/arch_test.go:TestSize`", "`internal/arch/arch_test.go:imports`",
		"`internal/arch/arch_test.go:sources.imports`", "`TestSize`", "`make tests`", "`READ.md`",
		"`internal/arch/arch_test.go:source.imports` and `source.exports`",
		"`internal/arch/none.go:TestSizes`", "[it](READ.md)", "```\ngo test ./wall\n```",
	} {
		if problems := n.problems(".", wrong); len(problems) != 1 {
			t.Errorf("%s: %q", wrong, problems)
		}
	}
}

// TestArchitectureListsEveryPackage checks that each package is in the table of folders.
func TestArchitectureListsEveryPackage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(line, "|")
		if len(columns) != 4 {
			continue
		}
		for _, found := range quotedPattern.FindAllStringSubmatch(columns[1], -1) {
			listed = append(listed, found[1])
		}
	}
	for folder := range mayImport {
		if !slices.Contains(listed, folder) {
			t.Errorf("the table of folders has no %s", folder)
		}
	}
	for _, folder := range listed {
		if found, err := os.Stat(filepath.Join(root, folder)); err != nil || !found.IsDir() {
			t.Errorf("the table of folders has %s, which is not a folder", folder)
		}
	}
}

var filePattern = regexp.MustCompile(`[\w/.-]+\.(go|md|txtar|sh)\b`)

// TestPackageDocsNameFilesThatExist checks the file names in package docs, relative to the folder
// of the package or to the root.
func TestPackageDocsNameFilesThatExist(t *testing.T) {
	for _, s := range sources(t) {
		if s.syntax.Doc == nil {
			continue
		}
		for _, name := range filePattern.FindAllString(s.syntax.Doc.Text(), -1) {
			_, beside := os.Stat(filepath.Join(root, s.folder, name))
			_, below := os.Stat(filepath.Join(root, name))
			if beside != nil && below != nil {
				t.Errorf("%s: the package doc names %s, which does not exist", s.name, name)
			}
		}
	}
}
