package webtest

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"pws/bench/client"
)

// TestHostileTexts opens every page of a world whose texts are the corpus: nothing runs, nothing is
// asked of another server, nothing is an element or an attribute that no template has.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	a := newAttack(t)
	a.covered(t)
	for _, as := range []string{"mallory", "moe"} {
		t.Run(as, func(t *testing.T) {
			t.Parallel()
			b := a.signedIn(t, as)
			for _, one := range a.tablePages(t) {
				if one.status == 200 {
					b.opens(one)
					b.wrong(eval[[]string](b, foreign))
					b.quiet(one.status)
				}
			}
			if as != "mallory" {
				return
			}
			// Some files are gone, and some texts are no words to search for.
			for _, path := range a.addresses(b) {
				status := b.open(path)
				if status != 200 && status != 404 && status != 400 {
					t.Errorf("%s: status %d", path, status)
				}
				b.wrong(eval[[]string](b, foreign))
				b.quiet(status)
			}
		})
	}
}

// addresses are those that lists of the world link to, those of its files, and searches for the
// corpus.
func (a *attack) addresses(b *tab) []string {
	b.t.Helper()
	var all []string
	seen := map[string]bool{}
	add := func(path string) {
		if !seen[path] {
			seen[path] = true
			all = append(all, path)
		}
	}
	for _, path := range append(hostilePaths, "x.go", "page.html", "image.svg", "<b>.go", "<i>.html") {
		add("/ui/p/" + a.ids["project"] + "/file/" + client.EscapePath(path))
		add("/ui/p/" + a.ids["project"] + "/log?path=" + url.QueryEscape(path))
	}
	for _, text := range corpus {
		add("/ui/search?q=" + url.QueryEscape(text))
	}
	for _, project := range []string{"project", "fork", "community"} {
		b.open("/ui/p/" + a.ids[project])
		for _, list := range []string{"", "tasks", "contributions", "discussions", "log", "files"} {
			b.open("/ui/p/" + a.ids[project] + "/" + list)
			for _, link := range eval[[]string](b, `[...document.querySelectorAll("main a[href^='/ui/']")]
				.map((link) => link.getAttribute("href"))`) {
				add(link)
			}
		}
	}
	b.forget()
	return all
}

// foreign finds what no template of a page has: elements and attributes that text may have made.
// Links go to pages by http alone.
const foreign = `(() => {
	const wrong = [];
	const known = new Set(("html head meta title link script body a header nav form label span " +
		"input button main footer h1 h2 h3 h4 h5 h6 p ul ol li table caption thead tbody tr th td " +
		"code pre div section article details summary time meter strong em del blockquote hr br " +
		"textarea select option fieldset legend dl dt dd svg g path rect circle line text " +
		"polyline marker defs title desc figure figcaption img mark small noscript abbr sup sub " +
		"ins output progress kbd search aside dialog").split(" "));
	for (const one of document.querySelectorAll("*")) {
		const shown = one.outerHTML.slice(0, 150);
		if (!known.has(one.localName)) wrong.push("an element: " + shown);
		if (one.localName === "script" && !one.src.includes("/ui/assets/"))
			wrong.push("a script: " + shown);
		for (const {name, value} of one.attributes) {
			if (/^on|^style$|^srcdoc$/.test(name)) wrong.push("an attribute: " + shown);
			if (!/^(href|src|action|formaction|xlink:href|cite|data|poster)$/.test(name)) continue;
			const to = new URL(value, location.href);
			if (!/^https?:$/.test(to.protocol)) wrong.push("an address: " + shown);
			const here = to.origin === location.origin;
			if (!here && (one.localName !== "a" || !/nofollow/.test(one.rel) ||
				!/noopener/.test(one.rel)))
				wrong.push("an address elsewhere: " + shown);
		}
	}
	// What somebody typed stays as it is, and so does a path that scripts read and nobody sees.
	document.querySelectorAll("input, textarea").forEach((one) => one.remove());
	document.querySelectorAll("[data-path]").forEach((one) => one.removeAttribute("data-path"));
	if (/[\u202a-\u202e\u2066-\u2069]/.test(document.documentElement.outerHTML))
		wrong.push("a character that turns the text");
	return wrong.slice(0, 5);
})()`

// TestRawFilesDoNotRun opens files that would run scripts as what they are.
func TestRawFilesDoNotRun(t *testing.T) {
	t.Parallel()
	s := serveFor(t)
	w := &world{server: s, ids: map[string]string{}}
	ada := w.as("ada")
	p := text(ada("project.create", fields{
		"name": "raw", "visibility": "PUBLIC", "reuse_policy": "ALLOW_REUSE",
	}), "project.id")
	files := map[string]string{"page.html": pageHTML, "image.svg": pageSVG, "page.xhtml": pageHTML,
		"x.js": "alert(1)", "x.css": "@import '//evil.example/x.css'", "x.xml": pageSVG,
		"x.pdf": "%PDF-1.4 alert(1)", "noending": pageHTML, "<script>.html": pageHTML}
	for path, content := range files {
		ada("file.write", fields{"content": content}, p, path)
	}
	if w.err != nil {
		t.Fatal(w.err)
	}
	b := newTab(t, s)
	b.signIn(s.agents["ada"])
	for path := range files {
		escaped := client.EscapePath(path)
		addresses := []string{"/api/v1/projects/" + p + "/raw/" + escaped,
			"/api/v1/projects/" + p + "/files/" + escaped}
		b.open("/ui/p/" + p + "/file/" + escaped)
		addresses = append(addresses, eval[[]string](b, `[...document.querySelectorAll("main a")]
			.map((link) => link.getAttribute("href"))`)...)
		for _, address := range addresses {
			b.loadsText(address)
		}
	}
	if _, err := s.agents["ada"].do("file.write", fields{"content": "a\x00b"}, p, "nul"); err == nil {
		t.Error("a NUL is stored")
	}
}

// loadsText opens an address, whose answer must be of a type that runs nothing. A download is no
// page.
func (b *tab) loadsText(path string) {
	b.t.Helper()
	b.forget()
	answer, err := chromedp.Run(b.ctx, chromedp.NavigateResponse(b.server.url+path))
	if err != nil {
		if !errors.Is(err, chromedp.ErrPageLoad) {
			b.t.Fatalf("%s: %v", path, err)
		}
		return
	}
	kind := headerOf(answer, "content-type")
	if headerOf(answer, "x-content-type-options") != "nosniff" {
		b.t.Errorf("%s may be taken for something else than %s", path, kind)
	}
	own := strings.HasPrefix(path, "/ui/") && !strings.Contains(path, "/raw/")
	if !own && !strings.HasPrefix(kind, "text/plain") && !strings.HasPrefix(kind, "application/json") {
		b.t.Errorf("%s is %s", path, kind)
	}
	b.wrong(eval[[]string](b, `[...document.scripts].filter((one) => !one.src.includes("/ui/assets/"))
		.map((one) => one.outerHTML.slice(0, 80))`))
	// The browser asks for the usual icon beside what is no page.
	b.wrong(slices.DeleteFunc(b.noise(int(answer.Status)), func(fault string) bool {
		return strings.HasSuffix(fault, "/favicon.ico")
	}))
}

func headerOf(answer *network.Response, name string) string {
	for key, value := range answer.Headers {
		if strings.EqualFold(key, name) {
			text, _ := value.(string)
			return text
		}
	}
	return ""
}
