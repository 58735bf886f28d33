package webtest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// heading is the heading of the page.
func (b *tab) heading() string {
	b.t.Helper()
	return eval[string](b, `document.querySelector("h1").innerText`)
}

// login runs pws login with a home of its own, and returns the link that it prints.
func login(t *testing.T, s *server, handle string) string {
	t.Helper()
	command := exec.Command(pws, "login", s.url, "--yes", "--handle", handle, "--web")
	command.Env = append(os.Environ(), "HOME="+t.TempDir())
	text, err := command.CombinedOutput()
	link := regexp.MustCompile(`http://\S+/ui/login#\S+`).FindString(string(text))
	if err != nil || link == "" {
		t.Fatalf("pws login: %v\n%s", err, text)
	}
	return link
}

// follow opens a link that may load a second page by itself, and waits for an element.
func (b *tab) follow(link, selector string) {
	b.t.Helper()
	b.do(chromedp.Navigate(link), chromedp.WaitReady(selector))
}

// refusalFacts is where a refusal has its code.
const refusalFacts = `main > p.facts:last-child`

func TestSignInByTheCommand(t *testing.T) {
	t.Parallel()
	s := serveFor(t)
	link := login(t, s, "ada")
	b := newTab(t, s)
	b.follow(link, confirmButton)
	if got := eval[string](b, `location.href + " " + history.length`); strings.Contains(got, "#") {
		t.Errorf("the code stays in the address: %s", got)
	}
	if cookies := call(b, network.GetCookies, network.GetCookiesParams{}); len(cookies.Cookies) > 0 {
		t.Errorf("there is a cookie before the click: %+v", cookies.Cookies[0])
	}
	status := b.next(chromedp.Click(confirmButton))
	if got := b.heading(); status != 200 || got != "Today" {
		t.Errorf("status %d, %s", status, got)
	}
	b.quiet(200)
	cookies := call(b, network.GetCookies, network.GetCookiesParams{}).Cookies
	if len(cookies) != 1 || !cookies[0].HTTPOnly || cookies[0].SameSite != "Lax" {
		t.Errorf("cookies %+v", cookies)
	}
	if got := eval[string](b, `document.cookie`); got != "" {
		t.Errorf("scripts see the cookie %s", got)
	}

	// Nobody signs in by a code that was used, changed, or has expired.
	changed := link[:len(link)-1] + map[bool]string{true: "B", false: "A"}[link[len(link)-1] == 'A']
	old := login(t, s, "bee")
	other := login(t, s, "cee")
	if err := s.advance(61 * time.Second); err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string]string{
		"used": link, "changed": changed, "expired": old,
		"of another": other[:strings.Index(other, ".")] + link[strings.Index(link, "."):],
		"nothing":    s.url + "/ui/login#x", "hostile": s.url + "/ui/login#%22%3E%3Cscript%3Ealert(1)",
	} {
		b := newTab(t, s)
		b.follow(wrong, refusalFacts)
		if got := eval[string](b, `document.body.innerText`); !strings.Contains(got, "CHALLENGE_") {
			t.Errorf("%s: %s", name, got)
		}
		b.quiet(410)
		if status := b.open("/ui/projects"); status != 401 {
			t.Errorf("%s: projects with status %d", name, status)
		}
	}

	// Who has signed out sees nothing by going back.
	if status := b.next(chromedp.Click(`form.who button`)); status != 200 {
		t.Errorf("signing out: %d", status)
	}
	b.do(chromedp.NavigateBack())
	if got := b.heading(); got == "Today" {
		t.Error("the page of a session that has ended is shown")
	}
	if status := b.open("/ui/projects"); status != 401 {
		t.Errorf("after signing out: %d", status)
	}
}

// evil is a server of somebody else. Its pages are at paths with numbers.
func evil(t *testing.T, pages ...string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var number int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &number); err != nil || number >= len(pages) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>evil</title>%s", pages[number])
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestOtherSites has pages of another origin of the same site, which the browser sends cookies for,
// and of another site.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	s := serveFor(t)
	ada, err := s.agent("ada")
	if err != nil {
		t.Fatal(err)
	}
	link, err := ada.signInLink()
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(link, "#")
	var pages []string
	for _, form := range []string{
		`action="/ui/logout"`, `action="/ui/inbox"`,
		`action="/ui/login"><input name=code value="` + code + `"><input name=confirmed value=yes`,
	} {
		pages = append(pages, `<form method=post `+strings.Replace(form, `"/`, `"`+s.url+`/`, 1)+
			`><input name=token value=x></form><button onclick="document.forms[0].submit()">Win</button>`)
	}
	frame := fmt.Sprintf(`<iframe src="%s/ui/" style="opacity:0"></iframe>`, s.url)
	host := evil(t, append(pages, frame)...)
	for _, from := range []string{host, strings.Replace(host, "127.0.0.1", "localhost", 1)} {
		b := newTab(t, s)
		b.signIn(ada)
		for number := range pages {
			b.do(chromedp.Navigate(fmt.Sprintf("%s/%d", from, number)))
			status := b.next(chromedp.Click("button"))
			if got := b.heading(); status != 403 {
				t.Errorf("%s/%d: status %d, %s", from, number, status, got)
			}
		}
		b.do(chromedp.Navigate(fmt.Sprintf("%s/%d", from, len(pages))))
		if got := strings.Join(b.noise(200), "\n"); !strings.Contains(got, "frame-ancestors") {
			t.Errorf("%s: the page is in a frame: %s", from, got)
		}
		read := eval[string](b, fmt.Sprintf(`fetch("%s/ui/projects", {credentials: "include"})
			.then((answer) => answer.text(), () => "refused")`, s.url))
		if read != "refused" {
			t.Errorf("%s: reads %.100s", from, read)
		}
		if status := b.open("/ui/projects"); status != 200 {
			t.Errorf("%s: the session has ended: %d", from, status)
		}
	}
	// The code was not used up.
	b := newTab(t, s)
	b.follow(link, confirmButton)
}

// TestCookieIsNoCredential checks that what a browser has opens nothing but pages, and that no page
// takes what opens the interface.
func TestCookieIsNoCredential(t *testing.T) {
	t.Parallel()
	s := serveFor(t)
	ada, err := s.agent("ada")
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t, s)
	b.signIn(ada)
	status := eval[int](b, `fetch("/api/v1/agents/me").then((answer) => answer.status)`)
	if status != 401 {
		t.Errorf("the interface takes the cookie: %d", status)
	}
	cookie := call(b, network.GetCookies, network.GetCookiesParams{}).Cookies[0]
	asked, err := http.NewRequest("GET", s.url+"/api/v1/agents/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	asked.Header.Set("Authorization", "Bearer "+cookie.Value)
	answer, err := http.DefaultClient.Do(asked)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 401 {
		t.Errorf("the interface takes the value of the cookie: %d", answer.StatusCode)
	}
	call(b, network.SetCookie, network.SetCookieParams{
		Name: cookie.Name, Value: ada.api.Credential, URL: s.url, HTTPOnly: ptr(true),
	})
	if status := b.open("/ui/projects"); status != 401 {
		t.Errorf("a page takes a credential of the interface: %d", status)
	}
}

func ptr[T any](value T) *T { return &value }
