package arch

import (
	"go/ast"
	"path"
	"strconv"
	"strings"
	"testing"
)

// mayBeHidden are packages whose names are nouns of the rules: a path is what a file has.
var mayBeHidden = map[string]bool{"path": true}

// Who reads fault.New need not look whether fault is a variable there.
func TestNoNameHidesAPackageOfThisModule(t *testing.T) {
	for _, s := range sources(t) {
		imported := map[string]bool{}
		for _, spec := range s.syntax.Imports {
			whole, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			name := path.Base(whole)
			imported[name] = strings.HasPrefix(whole, "pws/") && spec.Name == nil && !mayBeHidden[name]
		}
		for _, name := range localNames(s.syntax) {
			if imported[name.Name] {
				line := s.fileSet.Position(name.Pos()).Line
				t.Errorf("%s:%d hides the package %s", s.name, line, name.Name)
			}
		}
	}
}

// localNames are the names of variables, parameters and results where they are declared.
func localNames(of ast.Node) (names []*ast.Ident) {
	ast.Inspect(of, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			names = append(names, n.Names...)
		case *ast.ValueSpec:
			names = append(names, n.Names...)
		case *ast.AssignStmt:
			names = append(names, declaredIn(n.Lhs...)...)
		case *ast.RangeStmt:
			names = append(names, declaredIn(n.Key, n.Value)...)
		case *ast.StructType, *ast.InterfaceType:
			// A field or a method is named after its owner and a dot.
			return false
		}
		return true
	})
	return names
}

// declaredIn are those of the left sides that are names declared there, not earlier ones.
func declaredIn(left ...ast.Expr) (names []*ast.Ident) {
	for _, one := range left {
		name, ok := one.(*ast.Ident)
		if ok && name.Obj != nil && name.Obj.Pos() == name.Pos() {
			names = append(names, name)
		}
	}
	return names
}
