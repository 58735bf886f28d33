package render

import (
	"html"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/chroma/v2"
)

var tags = regexp.MustCompile(`<span class="(?:[a-z]+)">|</span>`)

func TestCode(t *testing.T) {
	r := New()
	for _, c := range []struct{ name, text, want string }{
		{
			"x.go", "func f() { return \"<a>\" } // c\n",
			`<span class="k">func </span><span class="f">f</span>() { ` +
				`<span class="k">return </span><span class="s">&#34;&lt;a&gt;&#34; </span>} ` +
				`<span class="c">// c</span>` + "\n",
		},
		{
			"x.go", "/* a\nb */ x",
			`<span class="c">/* a</span>` + "\n" + `<span class="c">b */ </span>x`,
		},
		{
			"a/Dockerfile", "FROM x\n",
			`<span class="k">FROM </span><span class="s">x</span>` + "\n",
		},
		{
			"x.py", "\"\"\"a\n<b>\"\"\"\r\nx = 1\n",
			`<span class="s">&#34;&#34;&#34;a</span>` + "\n" +
				`<span class="s">&lt;b&gt;&#34;&#34;&#34;</span>` + "\n" +
				`x = <span class="n">1</span>` + "\n",
		},
	} {
		if got := r.Code(c.name, c.text, AtOnce); !got.OK || string(got.HTML) != c.want {
			t.Errorf("%s: %v %s", c.name, got.OK, got.HTML)
		}
	}
	for name, text := range map[string]string{
		"x.unknown": "a", "noname": "a",
		"long.go":  strings.Repeat("a", lineBytesMax+1),
		"lines.go": strings.Repeat("a\n", LinesMax+1),
		"large.go": strings.Repeat(strings.Repeat("a", 999)+"\n", SourceMax/1000+1),
	} {
		if r.Code(name, text, AtOnce).OK {
			t.Errorf("%s is highlighted", name)
		}
	}
}

// TestAllLexers checks that each lexer is read, keeps every text as it is and has limits.
func TestAllLexers(t *testing.T) {
	files, err := fs.Glob(lexerFiles, "lexers/*.xml")
	if err != nil || len(files) < 25 {
		t.Fatal(len(files), err)
	}
	named := map[string]bool{}
	for _, language := range languages {
		named[language] = true
	}
	r := New()
	for _, file := range files {
		language := strings.TrimSuffix(strings.TrimPrefix(file, "lexers/"), ".xml")
		if !named[language] {
			t.Errorf("no file name is of %s", language)
		}
		more := []string{"", "\n", "a\n\nb", "<a href=\"x\">y</a>\n<script>var x</script>"}
		for _, text := range append(more, hostile...) {
			made, _ := r.highlight(language, text)
			if plain := html.UnescapeString(tags.ReplaceAllString(made, "")); plain != unescapable(text) {
				t.Errorf("%s: %q became %q", language, text, plain)
			}
			if rest := tags.ReplaceAllString(made, ""); strings.ContainsAny(rest, "<>\"") {
				t.Errorf("%s: %q", language, made)
			}
		}
		lexer, err := lexerOf(language)
		if err != nil {
			t.Fatal(err)
		}
		checkLimits(t, lexer)
	}
}

// unescapable is what html.EscapeString can give back.
func unescapable(text string) string { return html.UnescapeString(html.EscapeString(text)) }

// spy reads the expressions of a lexer while it lexes.
type spy struct{ check func(*chroma.LexerState) }

func (s spy) Mutate(state *chroma.LexerState) error {
	s.check(state)
	return nil
}

func checkLimits(t *testing.T, lexer *chroma.RegexLexer) {
	rules := lexer.MustRules().Clone()
	expressions := 0
	rules["spy"] = []chroma.Rule{{Pattern: "x", Type: chroma.Text, Mutator: spy{
		func(state *chroma.LexerState) {
			for _, rules := range state.Rules {
				for _, rule := range rules {
					if expressions++; rule.Regexp.MatchTimeout > matchTime {
						t.Errorf("%s has no limit: %s", lexer.Config().Name, rule.Pattern)
					}
				}
			}
		},
	}}}
	rules[limitState] = []chroma.Rule{{Mutator: limiter{}}}
	spied := chroma.MustNewLexer(lexer.Config(), func() chroma.Rules { return rules })
	if _, err := chroma.Tokenise(spied, &chroma.TokeniseOptions{State: "spy"}, "x"); err != nil {
		t.Fatal(err)
	}
	if expressions < 3 {
		t.Errorf("%s has %d expressions", lexer.Config().Name, expressions)
	}
}

// TestTimeOfCodeIsBounded gives each token a millisecond of a clock that the test turns. When the
// time is over the rest is plain, and all of the text is there.
func TestTimeOfCodeIsBounded(t *testing.T) {
	r := New()
	at := time.Unix(0, 0)
	r.now = func() time.Time {
		at = at.Add(time.Millisecond)
		return at
	}
	text := strings.Repeat("if x { y(1) }\n", 400)
	made, tokens := r.highlight("go", text)
	if limit := int(codeTime / time.Millisecond); tokens >= limit || tokens < limit-5 {
		t.Errorf("%d tokens", tokens)
	}
	plain := tags.ReplaceAllString(made, "")
	if plain != text || !strings.HasSuffix(made, "if x { y(1) }\n") {
		t.Errorf("%q", made[len(made)-100:])
	}
}

// TestHostileCode gives lexers texts that take their expressions exponential or quadratic time.
func TestHostileCode(t *testing.T) {
	r := New()
	for language, parts := range map[string][]string{
		"go": {`"\\`, "/*"}, "python": {"(", "'''"}, "javascript": {"`${", "<!--"},
		"ruby": {"%q(", "<<a\n"}, "bash": {"$(("}, "html": {"<a "}, "cpp": {"x<"},
	} {
		for _, part := range parts {
			line := strings.Repeat(part, 1000/len(part)) + "\n"
			text := strings.Repeat(line, SourceMax/len(line))
			began := time.Now()
			made, tokens := r.highlight(language, text)
			took := time.Since(began)
			if tokens > tokensMax || len(made) > OutputMax {
				t.Errorf("%s of %q: %d tokens, %d bytes", language, part, tokens, len(made))
			}
			// The last token may try each expression of its state once more.
			if took > 10*codeTime {
				t.Errorf("%s of %q took %v", language, part, took)
			}
		}
	}
}
