package render

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const testFiles = "/ui/p/prj_00000000000000000000000000/file/"

func markdown(text string) string {
	made, ok := Markdown{Text: text, Top: 2, Files: testFiles, Folder: "docs/"}.render(newMeter())
	if !ok {
		return "not rendered"
	}
	return made
}

// TestMarkdown reads testdata/markdown.txt: a text, a line "->", its HTML, a line "--".
func TestMarkdown(t *testing.T) {
	table, err := os.ReadFile("testdata/markdown.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(strings.TrimSuffix(string(table), "\n--\n"), "\n--\n")
	if len(cases) < 20 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, one := range cases {
		text, want, found := strings.Cut(one, "\n->\n")
		if !found {
			t.Fatalf("no result: %s", one)
		}
		if got := strings.TrimSuffix(markdown(text), "\n"); got != want {
			t.Errorf("%s\n-> got\n%s\n-> want\n%s", text, got, want)
		}
	}
}

// inOutput is all that the HTML of a text may consist of.
var inOutput = regexp.MustCompile(`^(?:[^<>]|</?(?:p|br|hr|h[2-6]|em|strong|del|code|pre|blockquote|` +
	`ul|ol|li|table|thead|tbody|tr|th|td|a)>|<h[2-6] id="u-[^"<>\s]*">|<ol start="[0-9]+">|` +
	`<a href="(?:https?://[^"<>\s]+|` + testFiles + `[^"<>\s]+|#u-[^"<>\s]*)" rel="` + linkRel + `">)*$`)

// hostile are texts that try to get something else onto the page.
var hostile = []string{
	`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `<svg/onload=alert(1)>`,
	`<style>*{}</style>`, `<iframe src=//evil.example>`, `<a href="javascript:alert(1)">x</a>`,
	`[x](javascript:alert(1))`, `[x](JaVaScRiPt:alert(1))`, `[x](java&#x73;cript:alert(1))`,
	"[x](java\tscript:alert(1))", `[x](data:text/html,<script>alert(1)</script>)`,
	`[x](vbscript:x)`, `[x](//evil.example/x)`, `[x](\\evil.example)`, `[x](/\evil.example)`,
	`[x](https://a:b@evil.example)`, `[x](../../../api/v1/agents/me)`, `[x](/../../login)`,
	`[x](%2e%2e/%2e%2e/login)`, `[x](..%2f..%2flogin)`, `[x](?a=b)`, `[x](http:evil.example)`,
	`![x](http://evil.example/x.png)`, `![x](javascript:alert(1))`, `![x](x.svg "t")`,
	`![](http://evil.example/pixel)`, `[![x](http://evil.example/a)](http://evil.example/b)`,
	`<javascript:alert(1)>`, `<http://evil.example/"onclick=alert(1)>`, `<x@evil.example>`,
	`[x]: javascript:alert(1)` + "\n\n[x]", `[x](http://e.example "t" onclick=alert(1))`,
	`[x](http://e.example/"onmouseover="alert(1))`, `http://e.example/"onmouseover="alert(1)`,
	"`<script>alert(1)</script>`", "```html\n<script>alert(1)</script>\n```",
	"```\"><script>\nx\n```", "# <script>alert(1)</script>", "# \" onclick=alert(1) x=\"",
	"# x {#main onclick=alert(1)}", "# main\n# main\n## token", "|<img src=x>|\n|:-:|\n|<b>|",
	"<!-- x --><?php ?><![CDATA[x]]><!DOCTYPE x>", "&lt;script&gt;alert(1)&lt;/script&gt;",
	"&#60;script&#62;", `\<script>`, "a\x00b<script\x00>", "\xff\xfe<script>", "- [ ] x\n- [x] y",
	"[x](https://e.example/\u202egnp.exe)", "<https://e.example/\u2028>", "[a](#\"><script>)",
	"[a](x#\"><script>alert(1))", "[a](<x y\"><script>.md>)", "x[^1]\n\n[^1]: <script>",
	`<a href=" javascript:alert(1)">`, "http://e.example/<script>alert(1)</script>",
	"http://evil.example:99999999/", "https://[::1/x", "http://\u0000.example",
}

func TestHostileMarkdownIsHarmless(t *testing.T) {
	for _, text := range hostile {
		for _, around := range []string{"%", "> - %", "**%**", "# %", "|%|\n|-|\n|%|", "[%](x.md)"} {
			text := strings.ReplaceAll(around, "%", text)
			for _, breaks := range []bool{false, true} {
				m := Markdown{Text: text, Top: 3, Files: testFiles, Breaks: breaks}
				made, ok := m.render(newMeter())
				if !ok || !inOutput.MatchString(made) {
					t.Errorf("%q: %v %s", text, ok, made)
				}
			}
			none, _ := Markdown{Text: text}.render(newMeter())
			if strings.Contains(none, `href="/`) {
				t.Errorf("%q leads into a project: %s", text, none)
			}
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		made := markdown(text)
		if made != "not rendered" && !inOutput.MatchString(made) {
			t.Errorf("%q: %q", text, made)
		}
	})
}
