package webtest

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"pws/bench/client"
)

// shows waits until a script finds what it looks for.
func (b *tab) shows(what, script string) {
	b.t.Helper()
	found := eval[bool](b, `new Promise((resolve) => {
		const look = () => (`+script+`) ? resolve(true) : setTimeout(look, 20);
		setTimeout(() => resolve(false), 20000);
		look();
	})`)
	if !found {
		b.t.Fatalf("%s: not shown: %s", b.address(), what)
	}
}

// create makes an agent create a task.
func (a *agent) create(t *testing.T, project, title string) {
	t.Helper()
	if _, err := a.do("task.create", fields{"title": title}, project); err != nil {
		t.Fatal(err)
	}
}

func projectOf(t *testing.T, a *agent) string {
	t.Helper()
	made, err := a.do("project.create", fields{"name": "Server", "visibility": "PRIVATE"})
	if err != nil {
		t.Fatal(err)
	}
	return text(made, "project.id")
}

// ownServer starts a server for a test alone, with an agent, its project, and a tab that it has
// signed in to.
func ownServer(t *testing.T) (s *server, ada *agent, project string, b *tab) {
	t.Helper()
	s = serveFor(t)
	ada, err := s.agent("ada")
	if err != nil {
		t.Fatal(err)
	}
	b = newTab(t, s)
	b.signIn(ada)
	return s, ada, projectOf(t, ada), b
}

// TestLive follows what happens: lines come by themselves, the focus stays where it is, a pause
// holds them back, and a killed server is found again.
func TestLive(t *testing.T) {
	t.Parallel()
	s, ada, project, b := ownServer(t)
	today := newTab(t, s)
	today.signIn(ada)
	b.open("/ui/live")
	first := `document.querySelector("#live li a").innerText`
	b.do(chromedp.Focus("#pause"))
	ada.create(t, project, "<b>One</b>")
	b.shows("a new task", first+` === "<b>One</b>"`)
	today.shows("a link to what is new", `document.querySelector("#fresh a")?.innerText === "1 new: show"`)
	ada.create(t, project, "Two")
	today.shows("how much is new", `document.querySelector("#fresh a")?.innerText === "2 new: show"`)
	if eval[bool](today, `document.body.innerText.includes("Two")`) {
		t.Error("a page has changed under its reader")
	}
	b.shows("the next one", first+` === "Two"`)
	if got := eval[string](b, `document.activeElement.id`); got != "pause" {
		t.Errorf("the focus is at %q", got)
	}

	// What comes during a pause is shown afterwards, once and in order.
	b.do(chromedp.Click("#pause"))
	b.shows("the pause", `document.querySelector("#pause").innerText === "Continue"`)
	ada.create(t, project, "Three")
	ada.create(t, project, "Four")
	today.shows("all of it", `document.querySelector("#fresh a")?.innerText === "4 new: show"`)
	if got := eval[string](b, first); got != "Two" {
		t.Errorf("during a pause: %s", got)
	}
	b.do(chromedp.Click("#pause"))
	b.shows("what came meanwhile", first+` === "Four"`)
	b.quiet(200)

	// The server is killed and starts again at its address.
	s.child.Kill()
	b.shows("that it is gone", `document.querySelector("#live-state").innerText !== ""`)
	if err := s.start(strings.TrimPrefix(s.url, "http://")); err != nil {
		t.Fatal(err)
	}
	ada.api.Close()
	ada.create(t, project, "Five")
	b.shows("what came after the crash", first+` === "Five"`)
	titles := `[...document.querySelectorAll("#live li")].map((one) => one.querySelector("a").innerText)`
	if got := eval[string](b, titles+`.slice(0, 5).join()`); got != "Five,Four,Three,Two,<b>One</b>" {
		t.Errorf("lines %s", got)
	}

	// Without scripts there is a list, and a link to load it again.
	b.scripts(false)
	b.open("/ui/live")
	if got := b.heading(); got != "Live" {
		t.Errorf("without scripts: %s", got)
	}
	b.scripts(true)
}

// TestLongPause pauses until the service has dropped the events of the pause: the page goes on from
// now, and says so.
func TestLongPause(t *testing.T) {
	t.Parallel()
	s := &server{
		data: filepath.Join(t.TempDir(), "data"), agents: map[string]*agent{},
		more: []string{"--feed-events", "300"},
	}
	if err := s.start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.child.Kill() })
	ada, err := s.agent("ada")
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t, s)
	b.signIn(ada)
	project := projectOf(t, ada)
	ada.create(t, project, "Before")
	b.open("/ui/live")
	first := `document.querySelector("#live li a").innerText`
	b.shows("the task", first+` === "Before"`)
	b.do(chromedp.Click("#pause"))
	b.shows("the pause", `document.querySelector("#live-state").innerText === "Paused."`)
	seen := eval[string](b, `new URL(document.querySelector("#live").dataset.stream,
		location.href).searchParams.get("after")`)
	for range 9 {
		var tasks []fields
		for i := range 100 {
			tasks = append(tasks, fields{"create": fields{"title": fmt.Sprint("task ", i)}})
		}
		_, err := ada.do("checkpoint.create", fields{"summary": "s", "tasks": tasks}, project)
		if err != nil {
			t.Fatal(err)
		}
	}
	ada.waitUntilDropped(t, seen)
	b.do(chromedp.Click("#pause"))
	b.shows("that events are missing", `document.querySelector("#live-state").innerText ===
		"Events of the pause are not all here."`)
	b.shows("the newest events", first+` !== "Before"`)
	ada.create(t, project, "After")
	b.shows("what comes from now on", first+` === "After"`)
	b.quiet(400)
}

// waitUntilDropped moves the clock until the service has dropped the events after a cursor. It
// drops them when the clock moves, and learns of them behind the log.
func (a *agent) waitUntilDropped(t *testing.T, cursor string) {
	t.Helper()
	address := "/api/v1/events?" + url.Values{"after": {cursor}, "limit": {"1"}}.Encode()
	for started := time.Now(); time.Since(started) < patience; {
		if err := a.server.advance(time.Second); err != nil {
			t.Fatal(err)
		}
		_, err := a.api.Call(client.Request{Method: http.MethodGet, Path: address}, nil)
		if err != nil {
			if !strings.Contains(err.Error(), "PAGINATION_CURSOR_INVALID") {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("the service keeps the events")
}

// TestDoubleClick sends a form twice, as an impatient person does.
func TestDoubleClick(t *testing.T) {
	t.Parallel()
	_, ada, project, b := ownServer(t)
	b.open("/ui/p/" + project + "/tasks")
	b.do(chromedp.Click("details.new > summary"), chromedp.SendKeys("input[name=title]", "Once"))
	b.next(chromedp.DoubleClick("details.new button"))
	b.shows("the task", `document.querySelector("h1").innerText === "Once"`)
	found, err := ada.do("task.list", nil, project)
	if err != nil {
		t.Fatal(err)
	}
	if tasks, _ := found["tasks"].([]any); len(tasks) != 1 {
		t.Errorf("%d tasks", len(tasks))
	}

	// A refusal has the focus at the fault, and keeps what was typed.
	b.open("/ui/p/" + project + "/tasks")
	b.do(chromedp.Click("details.new > summary"),
		chromedp.SendKeys("textarea[name=description]", "All of it"))
	eval[bool](b, `document.querySelector("input[name=title]").required = false`)
	if status := b.next(chromedp.Click("details.new button")); status != 400 {
		t.Errorf("status %d", status)
	}
	// The browser moves the focus when it first draws the page, which may be AFTER it was loaded.
	b.shows("the focus at the fault", `document.activeElement.name === "title"`)
	typed := eval[string](b, `document.querySelector("textarea[name=description]").value`)
	if typed != "All of it" {
		t.Errorf("of what was typed the page has %q", typed)
	}
	b.quiet(400)
}
