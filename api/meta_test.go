package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// exempt are limits that are none of what clients send.
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
	limits, err := parser.ParseFile(token.NewFileSet(), "../work/limits.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	ast.Inspect(limits, func(node ast.Node) bool {
		value, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, name := range value.Names {
			seen++
			if known := strings.Contains(string(model), "work."+name.Name+","); !known &&
				exempt[name.Name] == "" {
				t.Errorf("the capability model does not have work.%s", name.Name)
			}
		}
		return true
	})
	if seen < len(exempt)+20 {
		t.Errorf("only %d limits were found", seen)
	}
}
