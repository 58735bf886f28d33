package render

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// filled is a text of the largest size that repeats a part.
func filled(head, part string) string {
	return head + strings.Repeat(part, (SourceMax-len(head))/len(part))
}

// tableOf is the head of a table.
func tableOf(columns int) string {
	return "|" + strings.Repeat("a|", columns) + "\n|" + strings.Repeat("-|", columns) + "\n"
}

// costly are texts that take goldmark seconds or hundreds of megabytes without limits.
var costly = map[string]string{
	"emphasis":          filled("", "*a_"),
	"emphasis pairs":    filled("", "*a **b "),
	"strikethrough":     filled("", "~a ~~b "),
	"open links":        filled("", "[a]("),
	"link titles":       filled("", "[a](b ("),
	"brackets":          filled("", "["),
	"images":            filled("", "![["),
	"references":        filled("[a]: <"+strings.Repeat("b", 1900)+">\n\n", "[a] "),
	"definitions":       filled("", "[a]: b\n"),
	"code spans":        filled("", "\\```\n"),
	"code spans of one": filled("", "`a``"),
	"wide table":        tableOf(4500) + strings.Repeat("|\n", 4500),
	"long table":        filled(tableOf(60), "|\n"),
	"escaped bars":      filled("|a|\n|-|\n", "|`\\|`|\n"),
	"deep quotes":       filled(strings.Repeat("> ", 60_000), "a\n"),
	"deep lists":        filled(strings.Repeat("- ", 60_000), "\n"),
	"quotes in lists":   filled("", "- > "),
	"equal headings":    filled("", "# a\n"),
	"setext":            filled("", "a\n=\n"),
	"processing":        filled("", "<?"),
	"comments":          filled("", "<!--"),
	"addresses":         filled("", "http://a\""),
	"schemes":           filled("", "http://"),
	"parentheses":       filled("http://a", ")"),
	"entities":          filled("", "&amp"),
	"lines":             filled("", "a\n"),
	"rules":             filled("", "***\n"),
}

// TestCostOfHostileMarkdown bounds what costly texts take: the size of the tree and of the output,
// and the time compared with that of an ordinary text of the same size.
func TestCostOfHostileMarkdown(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	ordinary := filled("", string(readme))
	began := time.Now()
	left := newMeter()
	if _, ok := (Markdown{Text: ordinary, Top: 2}).render(left); !ok || left.steps < stepsMax/2 {
		t.Fatalf("an ordinary text: %v, %d steps left", ok, left.steps)
	}
	usual := time.Since(began)
	for name, text := range costly {
		if len(text) > SourceMax+1 {
			t.Fatalf("%s has %d bytes", name, len(text))
		}
		began := time.Now()
		left := newMeter()
		made, _ := Markdown{Text: text, Top: 2, Files: testFiles}.render(left)
		took := time.Since(began)
		if len(made) > OutputMax || left.steps < 0 || left.cells < 0 || left.pipes < 0 {
			t.Errorf("%s: %d bytes, %+v", name, len(made), left)
		}
		if nodes := nodesOf(text); nodes > SourceMax {
			t.Errorf("%s: %d nodes", name, nodes)
		}
		// Without limits each of the first ten takes several hundred times as long.
		if took > 20*usual+time.Second {
			t.Errorf("%s took %v; an ordinary text takes %v", name, took, usual)
		}
	}
}

// nodesOf is the size of the tree of a text.
func nodesOf(source string) (nodes int) {
	pc := parser.NewContext(parser.WithIDs(&headingIDs{used: map[string]int{}}))
	pc.Set(meterKey, newMeter())
	document := markdownParser.Parse(text.NewReader([]byte(source)), parser.WithContext(pc))
	_ = ast.Walk(document, func(_ ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			nodes++
		}
		return ast.WalkContinue, nil
	})
	return nodes
}

// TestBudgetIsSpentByQuadraticTexts counts calls: a text that makes parsers look through its block
// again and again gets as many calls as the budget has blocks, and no more.
func TestBudgetIsSpentByQuadraticTexts(t *testing.T) {
	for _, name := range []string{"emphasis", "link titles", "code spans", "open links"} {
		left := newMeter()
		made, ok := Markdown{Text: costly[name], Top: 2}.render(left)
		if !ok || left.steps != 0 {
			t.Errorf("%s: %v, %d steps left", name, ok, left.steps)
		}
		found := strings.Count(made, "<em>") + strings.Count(made, "<code>")
		if most := stepsMax / len(costly[name]); found > most {
			t.Errorf("%s: %d found, want at most %d", name, found, most)
		}
	}
	left := newMeter()
	made, ok := Markdown{Text: costly["wide table"], Top: 2}.render(left)
	if !ok || strings.Contains(made, "<td>") || left.cells != cellsMax {
		t.Errorf("a wide table is made: %v, %+v", ok, left)
	}
	made, ok = Markdown{Text: costly["deep quotes"], Top: 2}.render(newMeter())
	if depth := strings.Count(made, "<blockquote>"); !ok || depth > depthMax {
		t.Errorf("%d quotes in each other", depth)
	}
}

func TestOutputIsBounded(t *testing.T) {
	for name, text := range map[string]string{
		"references": costly["references"], "quotes": filled("", "\"\n\n"),
	} {
		made, ok := Markdown{Text: text, Top: 2}.render(newMeter())
		if ok != (len(made) > 0) || len(made) > OutputMax {
			t.Errorf("%s: %v, %d bytes", name, ok, len(made))
		}
	}
	if New().Markdown(Markdown{Text: strings.Repeat("a", SourceMax+1)}, AtOnce).OK {
		t.Error("a text that is too large is rendered")
	}
	out := new(bounded)
	for range OutputMax / 1024 {
		if _, err := out.Write(make([]byte, 1024)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := out.Write([]byte{1}); err == nil || out.Len() != OutputMax {
		t.Errorf("%v, %d bytes", err, out.Len())
	}
}
