package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// goldmark takes more than linear time in four places. Inline parsers look through the whole block
// for the end of what they begin, and for the beginning of what ends: 60 KB of "*a_" take 2 s. The
// rows of a table are filled up to the columns of its head: 27 KB become 38 MB. Each line is
// compared with all open quotes and lists. Definitions of links move the rest of their paragraph.
// The parsers of this file are those of goldmark with a limit for each.

const (
	// stepsMax is the budget of a text for inline parsers. Each call takes the length of its block,
	// which is as far as it can look. Ordinary texts of the largest size take a tenth of it.
	stepsMax = 64 << 20
	// columnsMax and cellsMax limit tables, cells all those of a text.
	columnsMax = 64
	cellsMax   = 20_000
	// depthMax is how many quotes and lists can be in each other.
	depthMax = 24
	// definedMax is the most lines of a paragraph that may be definitions of links.
	definedMax = 500
	// pipesMax limits escaped bars in tables; all of them are compared with each other.
	pipesMax = 500
)

// meter is what is left of the budget of a text.
type meter struct {
	steps, cells, pipes int
}

var meterKey = parser.NewContextKey()

func newMeter() *meter { return &meter{steps: stepsMax, cells: cellsMax, pipes: pipesMax} }

func meterOf(pc parser.Context) *meter { return pc.Get(meterKey).(*meter) }

// take reports whether a budget has so much, and takes it.
func take(budget *int, much int) bool {
	if *budget < much {
		*budget = 0
		return false
	}
	*budget -= much
	return true
}

// metered is an inline parser that finds nothing when the budget is spent.
type metered struct{ parser.InlineParser }

// callSteps is what a call costs by itself, lineSteps what it costs to go to another line.
const callSteps, lineSteps = 64, 64

func (m metered) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	cost := callSteps
	if lines := parent.Lines(); lines != nil && lines.Len() > 0 {
		cost += lines.At(lines.Len()-1).Stop - lines.At(0).Start + lines.Len()*lineSteps
	}
	if !take(&meterOf(pc).steps, cost) {
		return nil
	}
	return m.InlineParser.Parse(parent, block, pc)
}

// CloseBlock implements parser.CloseBlocker for parsers that do.
func (m metered) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if closer, ok := m.InlineParser.(parser.CloseBlocker); ok {
		closer.CloseBlock(parent, block, pc)
	}
}

// shallow is a parser of blocks in blocks that opens none below a depth.
type shallow struct{ parser.BlockParser }

func (s shallow) Open(
	parent ast.Node, reader text.Reader, pc parser.Context,
) (ast.Node, parser.State) {
	depth := 0
	for at := parent; at != nil; at = at.Parent() {
		if depth++; depth > depthMax {
			return nil, parser.NoChildren
		}
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// narrow makes tables of paragraphs unless they are too large.
type narrow struct{}

func (narrow) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines, source, left := node.Lines(), reader.Source(), meterOf(pc)
	columns := 0
	for i := 1; i < lines.Len(); i++ {
		one := lines.At(i)
		line := one.Value(source)
		if len(bytes.Trim(line, " \t\r\n|:-")) == 0 {
			columns = max(columns, bytes.Count(line, []byte("|"))+1)
		}
		if !take(&left.pipes, bytes.Count(line, []byte(`\|`))) {
			return
		}
	}
	if columns == 0 || columns > columnsMax+1 || !take(&left.cells, columns*lines.Len()) {
		return
	}
	extension.NewTableParagraphTransformer().Transform(node, reader, pc)
}

// defining finds the definitions of links in paragraphs that are not too long.
type defining struct{}

func (defining) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	if node.Lines().Len() <= definedMax {
		parser.LinkReferenceParagraphTransformer.Transform(node, reader, pc)
	}
}
