package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// mayPause are the functions of tests that let time pass, with the reason.
var mayPause = map[string]string{
	"cmd/pws/nemesis_group_linux_test.go nemesisPause": "processes are disturbed for a while, " +
		"and asked again and again how they are",
	"client/bridge/helpers_test.go pass": "a bubble of synctest has it pass at once",
}

// pauses are the functions of a file in which a goroutine waits for nothing but the time: it
// receives from time.After, time.Tick or a new timer outside of a select, or in one without another
// case.
func pauses(file *ast.File) (names []string) {
	for _, declared := range file.Decls {
		name := ""
		if f, ok := declared.(*ast.FuncDecl); ok {
			name = f.Name.Name
		}
		if doesPause(declared) {
			names = append(names, name)
		}
	}
	return names
}

func doesPause(of ast.Node) (found bool) {
	ast.Inspect(of, func(node ast.Node) bool {
		switch one := node.(type) {
		case *ast.SelectStmt:
			for _, clause := range one.Body.List {
				clause := clause.(*ast.CommClause)
				if len(one.Body.List) == 1 && clause.Comm != nil && doesPause(clause.Comm) ||
					slices.ContainsFunc(clause.Body, func(s ast.Stmt) bool { return doesPause(s) }) {
					found = true
				}
			}
			return false
		case *ast.UnaryExpr:
			found = found || one.Op == token.ARROW && isMoment(one.X)
		}
		return !found
	})
	return found
}

// isMoment reports whether an expression is a channel that package time has made for it.
func isMoment(channel ast.Expr) bool {
	if timer, ok := channel.(*ast.SelectorExpr); ok && timer.Sel.Name == "C" {
		channel = timer.X
	}
	call, ok := channel.(*ast.CallExpr)
	if !ok {
		return false
	}
	made, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := made.X.(*ast.Ident)
	return ok && from.Name == "time"
}

// TestNoPauses is TestNoTodosOrSleeps for time that passes without time.Sleep.
func TestNoPauses(t *testing.T) {
	found := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		for _, name := range pauses(s.syntax) {
			at := s.name + " " + name
			found[at] = true
			if _, may := mayPause[at]; !may {
				t.Errorf("%s lets time pass; time is an argument", at)
			}
		}
	}
	for at := range mayPause {
		if !found[at] {
			t.Errorf("%s does not let time pass any more", at)
		}
	}
}

func TestPausesAreFound(t *testing.T) {
	for text, want := range map[string]bool{
		"<-time.After(d)":                                         true,
		"_ = <-time.After(time.Second)":                           true,
		"<-time.NewTimer(d).C":                                    true,
		"<-time.Tick(d)":                                          true,
		"for range 3 { if x { <-time.After(d) } }":                true,
		"go func() { <-time.After(d) }()":                         true,
		"select { case <-time.After(d): }":                        true,
		"select { case <-done: <-time.After(d) }":                 true,
		"select { case <-done: case <-time.After(d): t.Fatal() }": false,
		"select { case <-time.After(d): default: }":               false,
		"end := time.After(d); <-done":                            false,
		"<-tick.C":                                                false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {"+text+"}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(pauses(file)) == 1; got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
