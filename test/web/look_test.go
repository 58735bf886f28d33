package webtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// The most that a page and all that it loads beside may have.
const (
	pageBytesMax  = 60 << 10
	assetBytesMax = 40 << 10
)

// TestPages looks at every page as different people do: in light and dark colors, on a phone, and
// without scripts.
func TestPages(t *testing.T) {
	w := theWorld(t)
	w.eachPage(t, func(b *tab, one shown) {
		b.scripts(true)
		b.size(wide)
		b.colors("light")
		b.opens(one)
		b.quiet(one.status)
		b.wrong(b.weight())
		b.wrong(b.overflow())
		b.wrong(b.barriers("light"))
		b.picture(one.name + "-light")
		b.colors("dark")
		b.wrong(b.barriers("dark"))
		b.picture(one.name + "-dark")
		b.colors("light")
		b.size(narrow)
		b.wrong(b.overflow())
		b.wrong(b.barriers("narrow"))
		b.picture(one.name + "-narrow")
		b.quiet(200)
		b.size(wide)
		text := words(b)
		b.scripts(false)
		b.opens(one)
		if without := words(b); without != text {
			b.t.Errorf("%s: without scripts the page says\n%s\nand with them\n%s",
				one.path, without, text)
		}
		b.quiet(one.status)
	})
}

// opens loads a page and checks its status.
func (b *tab) opens(one shown) {
	b.t.Helper()
	if status := b.open(one.path); status != one.status {
		b.t.Fatalf("%s: status %d, not %d", one.path, status, one.status)
	}
}

// passing are words that change while time passes, and the ID of a request.
var passing = regexp.MustCompile(
	`\bnow\b|\b(in )?\d+ (second|minute|hour|day)s?( ago)?|\b\d+ %|\breq_\w+`)

// words are what the page says, without what differs a moment later, and without what only scripts
// have a use for.
func words(b *tab) string {
	b.t.Helper()
	return passing.ReplaceAllString(eval[string](b, `(() => {
		document.querySelectorAll("button[type=button], [role=status], .scripted, noscript")
			.forEach((one) => { one.hidden = true; });
		return document.body.innerText;
	})()`), "…")
}

// weight checks the sizes of the page and of what it loads.
func (b *tab) weight() (problems []string) {
	b.t.Helper()
	sizes := eval[[2]int](b, `[
		performance.getEntriesByType("navigation")[0].decodedBodySize,
		performance.getEntriesByType("resource").reduce((sum, one) => sum + one.decodedBodySize, 0)]`)
	if sizes[0] == 0 || sizes[0] > pageBytesMax {
		problems = append(problems, fmt.Sprintf("the page has %d bytes", sizes[0]))
	}
	if sizes[1] == 0 || sizes[1] > assetBytesMax {
		problems = append(problems, fmt.Sprintf("what the page loads has %d bytes", sizes[1]))
	}
	return problems
}

// overflow finds what is wider than the window.
func (b *tab) overflow() []string {
	b.t.Helper()
	return eval[[]string](b, `(() => {
		const width = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= width) return [];
		return ["wider than the window", ...[...document.querySelectorAll("body *")]
			.filter((one) => one.getBoundingClientRect().right > width + 1).slice(0, 3)
			.map((one) => one.outerHTML.slice(0, 120) + " to " + one.getBoundingClientRect().right)];
	})()`)
}

// axe is the checker of accessibility.
var axe = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	return string(text), err
})

// barriers checks a page by the rules of WCAG 2.2, levels A and AA.
func (b *tab) barriers(how string) []string {
	b.t.Helper()
	source, err := axe()
	if err != nil {
		if required() {
			b.t.Fatal(err)
		}
		b.t.Log("SKIPPED: accessibility is not tested, because npm ci has not been run in test/web")
		return nil
	}
	b.do(chromedp.Evaluate[chromedp.Void](`window.axe || (() => {` + source + `})(), 0`))
	return eval[[]string](b, `axe.run(document, {
		runOnly: {type: "tag",
			values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]},
		resultTypes: ["violations"],
	}).then((result) => result.violations.map((one) => "`+how+`: " + one.id + ": " +
		one.help + ": " +
		one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200) + " " +
			node.any.concat(node.all, node.none).map((check) => check.message).join("; "))
			.join("\n\t")))`)
}

// picture keeps how the page looks.
func (b *tab) picture(name string) {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(screens, name+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestKeyboard goes through every page with the Tab key: everything that can be used is reached,
// where it is can be seen, and nothing lies over it.
func TestKeyboard(t *testing.T) {
	w := theWorld(t)
	w.eachPage(t, func(b *tab, one shown) {
		b.opens(one)
		b.wrong(b.traps(wide))
		b.wrong(b.traps(narrow))
		b.quiet(one.status)
	})
}

// watchFocus notes what the focus reaches, and what is wrong there. Every element that can be used
// gets a number.
const watchFocus = `(() => {
	window.reached = new Map();
	const usable = [...document.querySelectorAll(
		"a[href], button, input, select, textarea, summary, [tabindex], [contenteditable]")]
		.filter((one) => !one.disabled && one.type !== "hidden" && one.tabIndex >= 0 &&
			one.checkVisibility({visibilityProperty: true}) &&
			!one.closest("details:not([open]) > :not(summary)"));
	window.usable = usable;
	document.activeElement.blur();
	window.scrollTo(0, 0);
	addEventListener("focusin", (event) => {
		const one = event.target, style = getComputedStyle(one);
		const box = one.getClientRects()[0];
		let wrong = "";
		if (!(style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1))
			wrong = "the focus is not seen";
		else if (!box || box.bottom < 0 || box.top > innerHeight ||
			box.right < 0 || box.left > innerWidth)
			wrong = "is outside of the window";
		else {
			const x = Math.min(innerWidth - 1, Math.max(0, (box.left + box.right) / 2));
			const y = Math.min(innerHeight - 1, Math.max(0, (box.top + box.bottom) / 2));
			const top = document.elementFromPoint(x, y);
			if (top && !one.contains(top) && !top.contains(one))
				wrong = "lies under " + top.outerHTML.slice(0, 80);
		}
		reached.set(one, wrong);
	});
	return usable.length;
})()`

// traps presses Tab until everything had the focus, and returns what is wrong.
func (b *tab) traps(window [2]int64) []string {
	b.t.Helper()
	b.size(window)
	count := eval[int](b, watchFocus)
	const spare = 5
	var steps []chromedp.Action[chromedp.Void]
	for range count + spare {
		steps = append(steps, pressing("Tab"))
	}
	b.do(steps...)
	return eval[[]string](b, `usable.filter((one) => !reached.has(one) &&
			!(one.type === "radio" && [...reached.keys()].some((other) => other.name === one.name)))
		.map((one) => "is not reached: " + one.outerHTML.slice(0, 160))
		.concat([...reached].filter(([one, wrong]) => wrong)
			.map(([one, wrong]) => wrong + ": " + one.outerHTML.slice(0, 160)))`)
}

// TestCheckersFindSpoiledPages spoils a page in every way that the tests of this file look for.
func TestCheckersFindSpoiledPages(t *testing.T) {
	w := theWorld(t)
	b := newTab(t, w.server)
	b.opens(shown{path: "/ui/", status: 200})
	b.size(narrow)
	b.quiet(200)
	b.do(chromedp.Evaluate[chromedp.Void](`(() => {
		const add = (html) => document.querySelector("main").insertAdjacentHTML("beforeend", html);
		add("<p id=pale>Pale</p><p id=broad>Broad</p><button id=plain>Plain</button>" +
			"<button id=last>Last</button><button>Far</button><img src=/ui/none.png>");
		pale.style.color = "#bbb";
		broad.style.width = "500px";
		plain.style.outline = "none";
		last.addEventListener("keydown", (event) => event.preventDefault());
		console.error("an error");
		alert("a dialog");
		setTimeout(() => { throw new Error("an exception"); });
		return Promise.all([fetch("http://127.0.0.1:9/").catch(() => 0),
			new Promise((end) => document.querySelector("img").addEventListener("error", end))]);
	})()`, chromedp.EvalAwaitPromise))
	b.finds("noise", b.noise(200), "console: error", "alert in", "exception", "status of 404",
		"policy connect-src")
	b.finds("overflow", b.overflow(), "wider", "Broad")
	b.finds("traps", b.traps(narrow), "the focus is not seen: <button id=\"plain\"",
		"is not reached: <button>Far")
	if _, err := axe(); err == nil {
		b.finds("barriers", b.barriers("light"), "color-contrast", "image-alt")
	}
}

// finds fails the test unless each text is in a problem.
func (b *tab) finds(check string, problems []string, texts ...string) {
	b.t.Helper()
	all := strings.Join(problems, "\n")
	for _, text := range texts {
		if !strings.Contains(all, text) {
			b.t.Errorf("%s does not find %q in\n%s", check, text, all)
		}
	}
}
