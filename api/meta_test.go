package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// exempt are limits that are not among what clients send.
var exempt = map[string]string{
	"ChangedPathsMax":  "cuts a list in a refusal",
	"ImportAuthorsMax": "cuts a list in an answer",
}

// TestLimitsArePublished expects every limit of the rules in the capability model.
func TestLimitsArePublished(t *testing.T) {
	model, err := os.ReadFile("limits.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []struct {
		file, pack, suffix string
		least              int
	}{
		{"../work/limits.go", "work", "", len(exempt) + 20},
		{"../work/glob/glob.go", "glob", "Max", 3},
		{"../work/grep/grep.go", "grep", "Max", 4},
	} {
		seen := 0
		for _, name := range constantsOf(t, from.file) {
			if !strings.HasSuffix(name, from.suffix) || !ast.IsExported(name) {
				continue
			}
			seen++
			if known := strings.Contains(string(model), from.pack+"."+name+","); !known &&
				exempt[name] == "" {
				t.Errorf("the capability model does not have %s.%s", from.pack, name)
			}
		}
		if seen < from.least {
			t.Errorf("only %d limits were found in %s", seen, from.file)
		}
	}
}

// constantsOf returns the names of the constants and variables of a file.
func constantsOf(t *testing.T, file string) (names []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		if value, ok := node.(*ast.ValueSpec); ok {
			for _, name := range value.Names {
				names = append(names, name.Name)
			}
		}
		return true
	})
	return names
}
