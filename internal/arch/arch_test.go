// Package arch tests rules of the code: which packages may import which, which imports are banned,
// and the maximum length of functions, files and lines.
package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const root = "../.."

// The maximum number of lines of a function and of a file, and of columns of a line.
const (
	functionLinesMax = 70
	lineColumnsMax   = 100
	tagColumnsMax    = 120
	fileLinesMax     = 600
)

// mayImport lists the packages of this module that each package may import; "" means none. A
// package that is not listed fails the test, so that each new one gets an entry.
var mayImport = map[string][]string{
	"internal/arch":          {},
	"internal/cross":         {},
	"internal/fault":         {},
	"internal/fieldtest":     {},
	"internal/heaptest":      {},
	"internal/id":            {},
	"internal/localhost":     {},
	"internal/logformat":     {},
	"internal/memo":          {},
	"internal/nobrotli":      {},
	"internal/sorted":        {},
	"internal/spill":         {},
	"internal/unseen":        {},
	"internal/disk":          {},
	"internal/disk/disktest": {"internal/disk"},
	"wal":                    {"internal/disk"},
	"journal":                {"wal", "internal/logformat"},
	"journal/replica":        {"journal", "wal", "internal/disk", "internal/logformat"},
	// The network between members carries what replica sends, and knows nothing of the engine.
	"cluster": {
		"internal/datadir", "internal/disk", "internal/localhost", "internal/logformat", "journal",
		"journal/replica",
	},
	"snapshot":         {"internal/disk"},
	"blobs":            {"internal/disk"},
	"uploads":          {"internal/disk"},
	"internal/datadir": {"internal/disk", "internal/id", "work"},
	"work/glob":        {},
	"work/grep":        {},
	"work/path":        {},
	"work/license":     {},
	"work/diff":        {},
	"work/edit":        {},
	"work/merge":       {},
	"work": {
		"internal/fault", "internal/id", "internal/logformat", "internal/sorted", "work/path",
		"work/license", "work/diff", "work/edit", "work/merge",
	},
	"identity": {"internal/fault", "internal/id", "internal/logformat", "internal/sorted"},
	"index": {
		"internal/disk", "internal/fault", "internal/id", "internal/sorted", "work", "identity",
	},
	"index/feed":     {"internal/disk", "internal/id", "work"},
	"index/wake":     {"internal/id"},
	"index/search":   {"internal/fault", "internal/id", "work", "identity"},
	"api/jsonschema": {"internal/fault", "internal/id"},
	"api/cursor":     {"internal/fault"},
	"api/sizelimit":  {"api/jsonschema"},
	"api": {
		"internal/fault", "internal/id", "work", "work/path", "work/license", "work/diff",
		"work/edit", "work/glob", "work/grep", "identity", "index", "index/feed", "index/search",
		"index/wake", "internal/memo", "api/jsonschema", "api/cursor", "api/sizelimit",
	},
	"api/docs": {"api", "api/jsonschema", "internal/fault"},
	"actors/offline": {
		"internal/datadir", "internal/disk", "internal/id", "work", "identity", "index",
		"index/feed", "index/search", "journal", "journal/replica", "snapshot", "blobs", "uploads",
	},
	"actors": {
		"actors/offline", "internal/datadir", "internal/disk", "internal/fault", "internal/id",
		"internal/logformat", "internal/sorted", "internal/spill", "work", "identity", "index",
		"index/feed", "index/search", "index/wake", "journal", "snapshot", "blobs", "uploads",
		"api",
	},
	"web": {
		"api", "api/jsonschema", "internal/fault", "internal/unseen", "web/render",
	},
	"web/render": {"internal/memo"},
	"http": {
		"api", "api/jsonschema", "internal/fault", "internal/id", "internal/localhost",
	},
	"bench":           {"bench/child", "bench/client", "wal"},
	"bench/child":     {},
	"bench/client":    {},
	"bench/replay":    {"bench/child", "bench/client"},
	"client":          {},
	"client/checkout": {"client", "work/glob", "work/merge", "work/path"},
	"client/bridge":   {"client"},
	"client/cli": {
		"client", "client/bridge", "client/checkout", "client/setup", "internal/unseen",
	},
	"client/setup": {},
	"cmd/pws":      {"*"},
	"test/web":     {},
}

// banned lists imports that a package must not have, with the reason.
var banned = []struct {
	packages, imports []string
	why               string
}{
	{
		[]string{"work", "work/path", "work/license", "work/diff", "work/edit", "work/merge",
			"work/glob", "work/grep", "identity"},
		[]string{"time", "os", "net", "sync", "math/rand", "math/rand/v2", "crypto/rand", "context"},
		"rules are pure: time, entropy and I/O come from outside",
	},
	{
		[]string{"work", "identity", "api", "api/docs", "http", "actors", "actors/offline", "index",
			"wal", "journal", "snapshot", "blobs", "uploads"},
		[]string{"encoding/json", "log"},
		"encoding/json takes duplicate keys and broken UTF-8; logs are structured",
	},
	{
		[]string{"*"},
		[]string{"io/ioutil", "github.com/asynkron/protoactor-go/persistence",
			"github.com/asynkron/protoactor-go/cluster", "github.com/asynkron/protoactor-go/remote"},
		"of protoactor only the local actor package is used",
	},
}

// source is one file of the module, read once.
type source struct {
	name    string // from the root, with slashes
	folder  string
	test    bool
	text    string
	syntax  *ast.File
	fileSet *token.FileSet
}

func sources(t *testing.T) []source {
	t.Helper()
	all, err := readSources()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d files found", len(all))
	}
	return all
}

// readSources reads and parses all files, once for all tests.
var readSources = sync.OnceValues(func() ([]source, error) {
	var all []source
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != root && (strings.HasPrefix(entry.Name(), ".") ||
			entry.Name() == "testdata" || entry.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		all = append(all, source{
			name: relative, folder: filepath.ToSlash(filepath.Dir(relative)),
			test: strings.HasSuffix(name, "_test.go"), text: string(text),
			syntax: syntax, fileSet: set,
		})
		return nil
	})
	return all, err
})

func (s *source) imports() []string {
	var paths []string
	for _, one := range s.syntax.Imports {
		paths = append(paths, strings.Trim(one.Path.Value, `"`))
	}
	return paths
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		allowed, listed := mayImport[s.folder]
		if !listed {
			t.Errorf("%s: the package is not in mayImport", s.name)
			continue
		}
		if s.test {
			continue
		}
		for _, path := range s.imports() {
			ours, isOurs := strings.CutPrefix(path, "pws/")
			if isOurs && !slices.Contains(allowed, ours) && !slices.Contains(allowed, "*") {
				t.Errorf("%s imports %s", s.name, path)
			}
		}
	}
}

func TestBans(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, ban := range banned {
			if !slices.Contains(ban.packages, s.folder) && !slices.Contains(ban.packages, "*") {
				continue
			}
			for _, path := range s.imports() {
				if slices.Contains(ban.imports, path) {
					t.Errorf("%s imports %s: %s", s.name, path, ban.why)
				}
			}
		}
	}
}

var environment = regexp.MustCompile(`\bos\.(Getenv|LookupEnv|Environ|ExpandEnv)\(`)

func TestOnlyTheProgramReadsTheEnvironment(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test && s.folder != "cmd/pws" && environment.MatchString(s.text) {
			t.Errorf("%s reads the environment", s.name)
		}
	}
}

func TestPackagesHaveOneDoc(t *testing.T) {
	docs := map[string]int{}
	for _, s := range sources(t) {
		if s.test && s.folder != "internal/arch" {
			continue
		}
		docs[s.folder] += 0
		if s.syntax.Doc != nil {
			docs[s.folder]++
		}
	}
	for folder, n := range docs {
		if n != 1 {
			t.Errorf("%s has %d package docs, want 1", folder, n)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		lines := strings.Split(strings.TrimSuffix(s.text, "\n"), "\n")
		if len(lines) > fileLinesMax {
			t.Errorf("%s has %d lines, want at most %d", s.name, len(lines), fileLinesMax)
		}
		for i, line := range lines {
			most := lineColumnsMax
			if strings.Contains(line, "`") {
				// The tag of a struct field cannot be broken.
				most = tagColumnsMax
			}
			if len([]rune(line)) > most {
				t.Errorf("%s:%d has %d columns", s.name, i+1, len([]rune(line)))
			}
		}
		ast.Inspect(s.syntax, func(node ast.Node) bool {
			f, ok := node.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				return true
			}
			first, last := s.fileSet.Position(f.Pos()).Line, s.fileSet.Position(f.End()).Line
			if n := last - first + 1; n > functionLinesMax {
				t.Errorf("%s:%d %s has %d lines", s.name, first, f.Name.Name, n)
			}
			return true
		})
	}
}

var unfinished = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b|not implemented|unimplemented`)

func TestNoTodosOrSleeps(t *testing.T) {
	for _, s := range sources(t) {
		if s.folder == "internal/arch" {
			continue
		}
		if found := unfinished.FindString(s.text); found != "" {
			t.Errorf("%s contains %q", s.name, found)
		}
		if s.test && strings.Contains(s.text, "time.Sleep(") {
			t.Errorf("%s sleeps; time is an argument", s.name)
		}
	}
}

func TestPublicNamesAreDocumented(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, declared := range s.syntax.Decls {
			switch d := declared.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && ofExportedType(d) && d.Name.Name != "Error" {
					t.Errorf("%s: %s has no doc", s.name, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					one, ok := spec.(*ast.TypeSpec)
					if ok && one.Name.IsExported() && one.Doc == nil && d.Doc == nil {
						t.Errorf("%s: %s has no doc", s.name, one.Name.Name)
					}
				}
			}
		}
	}
}

// ofExportedType reports whether a function is not one of a type that only its package sees.
func ofExportedType(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	receiver := f.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}
	name, ok := receiver.(*ast.Ident)
	return ok && name.IsExported()
}
