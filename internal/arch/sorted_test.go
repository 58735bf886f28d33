package arch

import (
	"go/ast"
	"strings"
	"testing"
)

// TestTreesAreCompiledOnce keeps the B-trees of the library where package sorted hides them. A
// method of a generic type is compiled in each package that mentions the type, with all that it
// calls.
func TestTreesAreCompiledOnce(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.folder == "internal/sorted" {
			continue
		}
		if strings.Contains(s.text, `"github.com/tidwall/btree"`) {
			t.Errorf("%s imports the library instead of package sorted", s.name)
		}
		for _, declared := range s.syntax.Decls {
			if method, ok := declared.(*ast.FuncDecl); ok && isGenericMethod(method) {
				forbidTrees(t, s, method)
			}
		}
	}
}

func isGenericMethod(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return false
	}
	of := f.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	switch of.(type) {
	case *ast.IndexExpr, *ast.IndexListExpr:
		return true
	}
	return false
}

func forbidTrees(t *testing.T, s source, method *ast.FuncDecl) {
	ast.Inspect(method, func(node ast.Node) bool {
		called, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		from, ok := called.X.(*ast.Ident)
		if ok && from.Name == "sorted" && (called.Sel.Name == "By" || called.Sel.Name == "NewMap") {
			t.Errorf("%s: %s calls sorted.%s", s.fileSet.Position(node.Pos()), method.Name, called.Sel.Name)
		}
		return true
	})
}
