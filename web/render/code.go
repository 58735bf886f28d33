package render

import (
	"html"
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
)

const (
	// LinesMax is the most lines of a file that are highlighted. A file with a longer line than
	// lineBytesMax is made by a program.
	LinesMax     = 5000
	lineBytesMax = 2000
	// tokensMax and codeTime limit what highlighting takes; the rest of the text is plain. A single
	// match of an expression takes up to matchTime, which lexer.go sets.
	tokensMax = 200_000
	codeTime  = 250 * time.Millisecond
)

// Code returns the HTML of a source file by its name. Each line is complete: no element goes on in
// the next one.
func (r *Renderer) Code(name, text string, in Place) Result {
	language, text := languageOf(name), strings.ReplaceAll(text, "\r\n", "\n")
	if language == "" || !fits(text) {
		return Result{}
	}
	return r.get(in, false, func() (string, bool) {
		made, _ := r.highlight(language, text)
		return made, made != ""
	}, "code", language, text)
}

// fits reports whether a text is within the bounds of highlighting.
func fits(text string) bool {
	if len(text) > SourceMax || strings.Count(text, "\n") > LinesMax {
		return false
	}
	for line := range strings.Lines(text) {
		if len(line) > lineBytesMax {
			return false
		}
	}
	return true
}

// highlight returns the lines of a text, and how many tokens it has looked at. When the budget of
// tokens or the time is spent, the rest stays plain.
func (r *Renderer) highlight(language, text string) (made string, tokens int) {
	lexer, err := lexerOf(language)
	if err != nil {
		return "", 0
	}
	next, err := lexer.Tokenise(nil, text)
	if err != nil {
		return "", 0
	}
	out := lines{room: OutputMax}
	done, end := 0, r.now().Add(codeTime)
	for ; tokens < tokensMax && out.room > 0; tokens++ {
		if !r.now().Before(end) {
			break
		}
		token := next()
		if token == chroma.EOF || done+len(token.Value) > len(text) ||
			text[done:done+len(token.Value)] != token.Value {
			break
		}
		done += len(token.Value)
		out.add(classOf(token.Type), token.Value)
	}
	out.add("", text[done:])
	out.flush()
	if out.room <= 0 {
		return "", tokens
	}
	return out.text.String(), tokens
}

// lines writes tokens line by line.
type lines struct {
	text strings.Builder
	room int
	// class and part are a token whose neighbours may have the same class.
	class string
	part  strings.Builder
}

func (l *lines) add(class, value string) {
	if class != l.class && strings.TrimSpace(value) != "" {
		l.flush()
		l.class = class
	}
	l.part.WriteString(value)
}

func (l *lines) flush() {
	for line := range strings.Lines(l.part.String()) {
		code, ended := strings.CutSuffix(line, "\n")
		before := l.text.Len()
		if code = html.EscapeString(code); l.class == "" || code == "" {
			l.text.WriteString(code)
		} else {
			l.text.WriteString(`<span class="` + l.class + `">` + code + `</span>`)
		}
		if ended {
			l.text.WriteByte('\n')
		}
		l.room -= l.text.Len() - before
	}
	l.part.Reset()
	l.class = ""
}

// classOf is the class of the style sheet for a kind of token, empty for ordinary text.
func classOf(kind chroma.TokenType) string {
	switch {
	case kind == chroma.NameFunction || kind == chroma.NameClass || kind == chroma.NameTag ||
		kind == chroma.GenericHeading:
		return "f"
	case kind == chroma.KeywordType || kind == chroma.NameBuiltin || kind == chroma.NameAttribute ||
		kind == chroma.NameDecorator:
		return "t"
	case kind == chroma.GenericInserted:
		return "plus"
	case kind == chroma.GenericDeleted:
		return "minus"
	case kind.InCategory(chroma.Keyword):
		return "k"
	case kind.InCategory(chroma.Comment):
		return "c"
	case kind.InSubCategory(chroma.LiteralNumber):
		return "n"
	case kind.InSubCategory(chroma.LiteralString):
		return "s"
	}
	return ""
}
