package api

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the comments of fields that are kept")

// TestFieldComments checks that the kept comments are those of the source. With -update it writes
// them.
func TestFieldComments(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, source := range sources {
		if !strings.HasSuffix(source, "_test.go") {
			lines = append(lines, fieldCommentsOf(t, source)...)
		}
	}
	slices.Sort(lines)
	want := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile("fieldcomments.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, fieldComments); diff != "" {
		t.Errorf("comments of fields have changed; `make golden` writes them (-source +kept):\n%s", diff)
	}
}

// fieldCommentsOf returns a line for each commented field with a tag json: its type and name, and
// its comment as one line.
func fieldCommentsOf(t *testing.T, source string) []string {
	file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if fields, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range fields.Fields.List {
				if field.Doc == nil || field.Tag == nil || len(field.Names) != 1 {
					continue
				}
				tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`"))
				if _, tagged := tag.Lookup("json"); tagged {
					text := strings.Join(strings.Fields(field.Doc.Text()), " ")
					lines = append(lines, spec.Name.Name+"."+field.Names[0].Name+" "+text)
				}
			}
		}
		return true
	})
	return lines
}
