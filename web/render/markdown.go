package render

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Markdown is a text in Markdown.
type Markdown struct {
	Text string
	// Top is the level of its first headings, from 2 to 6.
	Top int
	// Files is the address of the files of its project, which ends in a slash; relative links are
	// from Folder there, which is empty or ends in a slash. Without it relative links are text.
	Files, Folder string
	// Query is what links to files of the project end with, such as "?at=…".
	Query string
	// Breaks means that a line ends where its author ended it, as in a message.
	Breaks bool
}

// Markdown returns the HTML of a text.
func (r *Renderer) Markdown(m Markdown, in Place) Result {
	if len(m.Text) > SourceMax {
		return Result{}
	}
	return r.get(in, len(m.Text) <= smallMax,
		func() (string, bool) { return m.render(newMeter()) },
		"markdown", m.Text, strconv.Itoa(m.Top), m.Files, m.Folder, m.Query,
		strconv.FormatBool(m.Breaks))
}

var errTooLarge = errors.New("the output is too large")

// bounded is a buffer that fails when it would become too large.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(text []byte) (int, error) {
	if b.Len()+len(text) > OutputMax {
		return 0, errTooLarge
	}
	return b.Buffer.Write(text)
}

func (m Markdown) render(left *meter) (string, bool) {
	source := []byte(m.Text)
	pc := parser.NewContext(parser.WithIDs(&headingIDs{used: map[string]int{}}))
	pc.Set(meterKey, left)
	document := markdownParser.Parse(text.NewReader(source), parser.WithContext(pc))
	l := linker{Markdown: m, source: source}
	if !l.prepare(document) {
		return "", false
	}
	made, out := pageRenderer, new(bounded)
	if m.Breaks {
		made = messageRenderer
	}
	if err := made.Render(out, source, document); err != nil {
		return "", false
	}
	clean := policy.SanitizeBytes(out.Bytes())
	return string(clean), len(clean) <= OutputMax
}

// markdownParser knows no HTML: it is text, like all else that is no Markdown.
var markdownParser = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(shallow{parser.NewListParser()}, 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithInlineParsers(
		util.Prioritized(metered{parser.NewCodeSpanParser()}, 100),
		util.Prioritized(metered{parser.NewLinkParser()}, 200),
		util.Prioritized(metered{parser.NewAutoLinkParser()}, 300),
		util.Prioritized(metered{parser.NewEmphasisParser()}, 500),
		util.Prioritized(metered{extension.NewStrikethroughParser()}, 500),
	),
	parser.WithParagraphTransformers(
		util.Prioritized(defining{}, 100),
		util.Prioritized(narrow{}, 200),
	),
	parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	parser.WithAutoHeadingID(),
)

var pageRenderer, messageRenderer = newRenderer(), newRenderer(html.WithHardWraps())

func newRenderer(options ...html.Option) renderer.Renderer {
	return renderer.NewRenderer(renderer.WithNodeRenderers(
		util.Prioritized(html.NewRenderer(options...), 1000),
		util.Prioritized(extension.NewTableHTMLRenderer(
			extension.WithTableCellAlignMethod(extension.TableCellAlignNone)), 500),
		util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
	))
}

// idPrefix is what IDs begin with, so that none is one of the page's own.
const idPrefix = "u-"

// headingIDs makes an ID for each heading. Its time is linear, unlike that of goldmark's for many
// headings of the same text.
type headingIDs struct{ used map[string]int }

// idBytesMax is the length of an ID without its prefix and number.
const idBytesMax = 80

// Generate implements parser.IDs.
func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	base := idPrefix + slug(value)
	h.used[base]++
	if times := h.used[base]; times > 1 {
		// A dot is in no ID that is made of a text.
		base += "." + strconv.Itoa(times)
	}
	return []byte(base)
}

// Put implements parser.IDs.
func (h *headingIDs) Put([]byte) {}

// slug is the name of a heading in addresses, as other services write it.
func slug(value []byte) string {
	var name strings.Builder
	for _, r := range strings.ToLower(string(value[:min(len(value), idBytesMax)])) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			if r != unicode.ReplacementChar {
				name.WriteRune(r)
			}
		case unicode.IsSpace(r):
			name.WriteByte('-')
		}
	}
	return name.String()
}
