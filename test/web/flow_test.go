package webtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// project makes a server with a public project of ada and an agent bee, who proposes changes.
func project(t *testing.T) (*world, string) {
	t.Helper()
	w := &world{server: serveFor(t), ids: map[string]string{}}
	p := text(w.as("ada")("project.create", fields{
		"name": "one", "visibility": "PUBLIC", "reuse_policy": "ALLOW_REUSE",
	}), "project.id")
	w.as("ada")("file.write", fields{"content": "first\nsecond\n"}, p, "a.txt")
	w.as("bee")
	if w.err != nil {
		t.Fatal(w.err)
	}
	return w, p
}

// tabTo presses Tab until an element with the text, or the selector, has the focus.
func (b *tab) tabTo(selector, text string) {
	b.t.Helper()
	const most = 100
	for range most {
		b.press("Tab")
		if eval[bool](b, fmt.Sprintf(`document.activeElement.matches(%q) &&
			document.activeElement.innerText.includes(%q)`, selector, text)) {
			return
		}
	}
	b.t.Fatalf("%s: Tab does not reach %s %q", b.address(), selector, text)
}

// enter presses Enter where the focus is, and waits for the next page.
func (b *tab) enter() {
	b.t.Helper()
	if status := b.next(pressing("Enter")); status != 200 {
		b.t.Fatalf("%s: status %d", b.address(), status)
	}
	b.quiet(200)
}

// says fails the test unless the page has a text.
func (b *tab) says(text string) {
	b.t.Helper()
	if got := eval[string](b, `document.body.innerText`); !strings.Contains(got, text) {
		b.t.Fatalf("%s does not say %q:\n%s", b.address(), text, got)
	}
}

// TestReviewByKeyboard reviews and decides without a pointer.
func TestReviewByKeyboard(t *testing.T) {
	t.Parallel()
	w, p := project(t)
	workspace := text(w.as("bee")("workspace.open", fields{}, p), "workspace.id")
	propose := func(content string) {
		w.as("bee")("workspace.file.write", fields{"content": content}, workspace, "a.txt")
		w.as("bee")("workspace.submit", fields{"summary": "Say more"}, workspace)
		if w.err != nil {
			t.Fatal(w.err)
		}
	}
	propose("first\nother\n")
	b := w.signedIn(t, "ada")
	b.open("/ui/")
	b.tabTo("a", "Say more")
	b.enter()
	b.says("other")
	b.tabTo("summary", "a.txt")
	b.press("Enter")
	if eval[bool](b, `document.activeElement.parentElement.open`) {
		t.Error("a file is not folded by a key")
	}
	b.open(b.address())
	b.tabTo("textarea", "")
	for _, letter := range "Say it shorter" {
		b.press(string(letter))
	}
	b.tabTo("button", "Request changes")
	b.enter()
	b.says("changes requested")
	b.says("Say it shorter")
	propose("first\nshort\n")
	b.open("/ui/")
	b.press("j")
	b.tabTo("a", "Say more")
	b.enter()
	b.says("short")
	b.tabTo("button", "Accept revision 2")
	b.enter()
	b.says("accepted")
	read := w.as("ada")("file.read", nil, p, "a.txt")
	if got := text(read, "file.content"); got != "first\nshort\n" || w.err != nil {
		t.Errorf("the file has %q, %v", got, w.err)
	}
}

// filled types into the fields of a form, and clicks on its button.
func (b *tab) filled(form string, values map[string]string, button string) {
	b.t.Helper()
	for name, value := range values {
		b.do(chromedp.SetValue(form+` [name="`+name+`"]`, value))
	}
	if status := b.next(chromedp.Click(form + " " + button)); status != 200 {
		b.t.Fatalf("%s: status %d", b.address(), status)
	}
	b.quiet(200)
}

// TestFormsWithoutScripts uses every kind of form in a browser that runs none.
func TestFormsWithoutScripts(t *testing.T) {
	t.Parallel()
	w, p := project(t)
	talk := text(w.as("bee")("discussion.create", fields{"title": "Why?", "body": "@ada"}, p),
		"discussion.id")
	id := w.contribution("bee", p, "a.txt", "changed\n", "Change it")
	link, err := w.agents["ada"].signInLink()
	if err != nil || w.err != nil {
		t.Fatal(err, w.err)
	}
	_, code, _ := strings.Cut(link, "#")
	b := newTab(t, w.server)
	b.scripts(false)
	b.open("/ui/login")
	b.filled("#code-form", map[string]string{"code": code}, "button")
	b.filled(`form:has(input[name=confirmed])`, nil, "button")
	b.says("Waits for you")

	b.open("/ui/d/" + talk)
	b.filled(`form[action$="/comment"]`, map[string]string{"body": "Because <b>it</b> is"}, "button")
	b.says("Because")
	b.filled(`form[action$="/status"]`, nil, "button")
	b.says("closed")

	tasks := "/ui/p/" + p + "/tasks"
	b.open(tasks)
	b.do(chromedp.Click("details.new > summary"))
	b.filled("details.new form", map[string]string{"title": "Do it by hand"}, "button")
	b.says("Do it by hand")

	b.open("/ui/p/" + p + "/discussions")
	b.filled(`form[action$="/discussions"]`, map[string]string{"title": "Own", "body": "x"}, "button")
	b.filled(`form[action$="/comment"]`, map[string]string{"body": "A slip"}, "button")
	b.filled(`form[action$="/delete"]`, nil, "button")
	b.says("No, go back")
	b.filled("main form", nil, "button.danger")
	b.says("Deleted by @ada")

	b.open("/ui/p/" + p)
	b.filled(`form[action$="/watch"]`, nil, "button")
	b.open("/ui/inbox")
	b.filled(`main form[action$="/inbox"]`, nil, "button")
	if unread := eval[int](b, `document.querySelectorAll(".unread").length`); unread > 0 {
		t.Errorf("%d items are unread", unread)
	}

	b.open("/ui/c/" + id)
	b.filled("form.decide", map[string]string{"body": "Not like this"}, `[value="REQUEST_CHANGES"]`)
	b.says("Not like this")
	b.filled("form.decide", map[string]string{"body": "Never"}, "button.danger")
	b.says("rejected")

	other := w.contribution("bee", p, "a.txt", "accepted\n", "Change it well")
	if w.err != nil {
		t.Fatal(w.err)
	}
	b.open("/ui/c/" + other)
	b.says("can be published as it is")
	b.filled("form.decide", nil, `button[formaction$="/accept"]`)
	b.says("accepted")

	managesWithoutScripts(t, w, p, b)
}

// managesWithoutScripts uses the forms of an owner. What others lose by is asked again.
func managesWithoutScripts(t *testing.T, w *world, p string, b *tab) {
	t.Helper()
	b.open("/ui/p/" + p + "/manage")
	b.filled(`form[action$="/manage/block"]`, map[string]string{"agent": "bee"}, "button")
	b.says("No, go back")
	b.filled("main form", nil, "button.danger")
	b.filled(`form[action$="/manage/unblock"]`, nil, "button")
	b.filled(`form[action$="/manage/archive"]`, nil, "button")
	b.says("No, go back")
	b.filled("main form", nil, "button.danger")
	b.says("The project is archived.")
	b.filled(`form[action$="/manage/archive"]`, nil, "button")

	ada, bee := w.as("ada"), w.as("bee")
	shared := text(ada("project.create_community", fields{
		"name": "Common ground", "files": []fields{{"path": "README.md", "content": "hi\n"}},
	}), "project.id")
	bee("turn.take", fields{}, shared)
	ada("project.delete", nil, p)
	if w.err != nil {
		t.Fatal(w.err)
	}
	b.open("/ui/p/" + shared + "/manage")
	b.filled(`form[action$="/manage/turn"]`, nil, "button")
	b.says("No, go back")
	b.filled("main form", nil, "button.danger")
	b.says("Nobody has the turn")
	b.open("/ui/projects")
	b.filled(`form[action$="/projects/restore"]`, nil, "button")
	b.says("Overview")
}

// TestCommentByClick clicks on a line of a diff: the form of a comment knows its place.
func TestCommentByClick(t *testing.T) {
	t.Parallel()
	w, p := project(t)
	id := w.contribution("bee", p, "a.txt", "first\nother\n", "Change it")
	if w.err != nil {
		t.Fatal(w.err)
	}
	b := w.signedIn(t, "ada")
	for _, view := range []string{"unified", "split"} {
		b.open("/ui/c/" + id + "?view=" + view)
		b.do(chromedp.Click("#f1L2"))
		place := `document.querySelector("#decide [name=path]").value + ":" +
			document.querySelector("#decide [name=line]").value`
		if got := eval[string](b, place); got != ":" {
			t.Errorf("%s: a line that is gone fills in %s", view, got)
		}
		b.do(chromedp.Click("#f1R2"))
		if got := eval[string](b, place+`+ ":" + document.activeElement.name`); got != "a.txt:2:body" {
			t.Errorf("%s: a click fills in %s", view, got)
		}
		b.filled("form.decide", map[string]string{"body": "Why " + view + "?"}, `[value="COMMENT"]`)
		b.says("a.txt:2 Why " + view + "?")
		if got := b.address(); got != "/ui/c/"+id+"?view="+view+"#reviews" {
			t.Errorf("the form leads to %s", got)
		}
	}
}

// TestLiveOutlivesTheServer follows what happens while the server is killed and started again.
func TestLiveOutlivesTheServer(t *testing.T) {
	t.Parallel()
	w, p := project(t)
	b := w.signedIn(t, "ada")
	b.open("/ui/live")
	appears := func(title string) {
		t.Helper()
		w.as("bee")("discussion.create", fields{"title": title, "body": "Look."}, p)
		if w.err != nil {
			t.Fatal(w.err)
		}
		eval[bool](b, fmt.Sprintf(`new Promise((end) => {
			const list = document.querySelector("#live");
			const look = () => list.innerText.includes(%q) && end(true);
			new MutationObserver(look).observe(list, {childList: true});
			look();
		})`, title))
	}
	appears("Before")
	b.quiet(200)
	eval[int](b, `window.stays = 1`)
	if err := w.restart(); err != nil {
		t.Fatal(err)
	}
	appears("After")
	times := eval[map[string]int](b, `Object.fromEntries(["Before", "After"].map((title) =>
		[title, document.querySelector("#live").innerText.split(title).length - 1]))`)
	if times["Before"] != 1 || times["After"] != 1 || eval[int](b, `window.stays`) != 1 {
		t.Errorf("events are shown so often: %v", times)
	}
}
