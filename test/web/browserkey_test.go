package webtest

import (
	"context"
	"crypto/ed25519"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"pws/client"
)

const (
	// keyForm registers an agent with a key of the browser, keyUse signs in with that.
	keyForm = "#key-form"
	keyUse  = "#key-use"
	// keptKey is what the browser stores, with the private key as a text that says what it can do.
	keptKey = `new Promise((resolve, reject) => {
		const asked = indexedDB.open("pws", 1);
		asked.onerror = reject;
		asked.onsuccess = () => {
			const got = asked.result.transaction("keys").objectStore("keys").getAll();
			got.onerror = reject;
			got.onsuccess = () => { asked.result.close(); resolve(got.result); };
		};
	})`
)

// before runs a script in every page of the tab from the next one on.
func (b *tab) before(script string) {
	b.t.Helper()
	call(b, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
}

// registers fills in the form for a new agent and sends it.
func (b *tab) registers(handle string) {
	b.t.Helper()
	b.until(keyForm)
	b.do(chromedp.SetValue(keyForm+` [name=handle]`, handle), chromedp.Click(keyForm+" button"))
}

// explains waits until the page says why it did not sign in.
func (b *tab) explains(text string) {
	b.t.Helper()
	b.until("#key-state.fault")
	got := eval[string](b, `document.querySelector("#key-state").innerText`)
	if !strings.Contains(got, text) {
		b.t.Errorf("the page says %q, not %q", got, text)
	}
}

// greets waits for the first page of an agent.
func (b *tab) greets(handle string) {
	b.t.Helper()
	b.until(`header a[href="/ui/a/` + handle + `"]`)
	if got := b.heading(); got != "Today" {
		b.t.Errorf("the page is %s", got)
	}
}

// keepCredentials notes the credentials that a page gets, in the order in which it does.
const keepCredentials = `{
	const ask = window.fetch;
	window.fetch = async (...args) => {
		const answer = await ask(...args);
		const said = await answer.clone().json();
		const credential = said.data?.session?.credential;
		if (credential) window.name += credential + " ";
		return answer;
	};
}`

// TestKeyOfTheBrowser registers with a key of the browser, works as that agent, and signs in again.
func TestKeyOfTheBrowser(t *testing.T) {
	t.Parallel()
	w, p := project(t)
	b := newTab(t, w.server)
	b.before(keepCredentials)
	b.open("/ui/login")
	b.until(keyForm)
	b.wrong(b.everyLook())
	b.picture("login-key-new")
	b.tabTo(keyForm+" input", "")
	for _, letter := range "hal" {
		b.press(string(letter))
	}
	b.press("Enter")
	b.greets("hal")
	b.quiet(200)

	// The agent is one like all others: it starts a discussion, and its owner sees that.
	b.open("/ui/p/" + p + "/discussions")
	b.filled(`main form[action$="/discussions"]`, map[string]string{
		"title": "From the browser", "body": "Hello",
	}, "button")
	read := w.as("ada")("discussion.list", nil, p)
	found, _ := read["discussions"].([]any)
	if w.err != nil || len(found) != 1 || text(found[0].(fields), "author.handle") != "hal" {
		t.Fatalf("discussions %v, %v", read, w.err)
	}

	// The browser keeps the key and its names, and no page can read the key. The sessions of the
	// interface have ended.
	kept := eval[[]fields](b, keptKey+`.then((all) => all.map((one) => ({...one,
		key: one.key.type + " " + one.key.extractable + " " + one.key.usages})))`)
	if len(kept) != 1 || kept[0]["key"] != "private false sign" || kept[0]["handle"] != "hal" ||
		len(kept[0]) != 5 {
		t.Errorf("the browser has %v", kept)
	}
	if got := eval[string](b, keptKey+`.then(([one]) => crypto.subtle.exportKey("pkcs8", one.key))
		.then(() => "exported", (fault) => fault.name)`); got != "InvalidAccessError" {
		t.Errorf("the key is %s", got)
	}
	if got := eval[int](b, `localStorage.length + sessionStorage.length`); got != 0 {
		t.Errorf("%d texts are stored", got)
	}
	if status := b.next(chromedp.Click(`form.who button`)); status != 200 {
		t.Errorf("signing out: %d", status)
	}
	b.until(keyUse)
	b.says("@hal")
	b.wrong(b.everyLook())
	b.picture("login-key-kept")
	b.do(chromedp.Click(keyUse))
	b.greets("hal")
	b.quiet(200)
	credentials := strings.Fields(eval[string](b, `window.name`))
	if len(credentials) != 2 {
		t.Errorf("%d sessions were opened", len(credentials))
	}
	for _, credential := range credentials {
		if status := asks(t, w.server, credential); status != 401 {
			t.Errorf("a session of the interface is open: %d", status)
		}
	}
	cookies := call(b, network.GetCookies, network.GetCookiesParams{}).Cookies
	if len(cookies) != 1 || !cookies[0].HTTPOnly {
		t.Errorf("cookies %+v", cookies)
	}
}

// asks is the status of a request of the interface with a credential.
func asks(t *testing.T, s *server, credential string) int {
	t.Helper()
	asked, err := http.NewRequest("GET", s.url+"/api/v1/agents/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	asked.Header.Set("Authorization", "Bearer "+credential)
	answer, err := http.DefaultClient.Do(asked)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

// everyLook checks the page in light and dark colors, and on a phone.
func (b *tab) everyLook() (problems []string) {
	b.t.Helper()
	problems = append(b.weight(), b.barriers("light")...)
	b.colors("dark")
	problems = append(problems, b.barriers("dark")...)
	b.colors("light")
	problems = append(problems, b.traps(narrow)...)
	problems = append(problems, b.overflow()...)
	problems = append(problems, b.barriers("narrow")...)
	b.size(wide)
	return problems
}

// TestRefusedKeysOfTheBrowser has the service refuse what the page asks for.
func TestRefusedKeysOfTheBrowser(t *testing.T) {
	t.Parallel()
	s := serveFor(t)
	if _, err := s.agent("ada"); err != nil {
		t.Fatal(err)
	}
	b := newTab(t, s)
	b.open("/ui/login")
	b.registers("Ada")
	b.explains("Another agent has this handle. Choose another one.")
	if focus := eval[string](b, `document.activeElement.name + " " +
		document.activeElement.getAttribute("aria-invalid")`); focus != "handle true" {
		t.Errorf("the focus is on %s", focus)
	}
	b.wrong(b.everyLook())
	b.quiet(409)
	b.registers("admin")
	b.explains("is reserved")
	b.quiet(400)

	// A registration whose answer was lost is found again: the key was kept first.
	b.do(chromedp.Evaluate[chromedp.Void](`{
		const ask = window.fetch;
		window.fetch = async (address, ...args) => {
			const answer = await ask(address, ...args);
			if (address.endsWith("/complete")) throw new TypeError("the answer was lost");
			return answer;
		};
	}`))
	b.registers("hal")
	b.explains("cannot be reached")
	b.open("/ui/login")
	b.registers("hal")
	b.explains("registered as @hal already")
	b.quiet(409)
	b.do(chromedp.Evaluate[chromedp.Void](`window.fetch = async () => new Response(JSON.stringify({
		ok: false, error: {code: "RATE_LIMITED", message: "Too many requests.",
			details: {retry_after_seconds: 600}}}), {status: 429})`), chromedp.Click(keyUse))
	b.explains("Too many requests. Try again in 10 minutes.")
	b.open("/ui/login")
	b.until(keyUse)
	b.do(chromedp.Click(keyUse))
	b.greets("hal")
	b.quiet(200)
	revokeKey(t, s, b)

	// The session of the page has ended with the key, which signs nobody in any more.
	if status := b.open("/ui/projects"); status != 401 {
		t.Errorf("projects with status %d", status)
	}
	b.open("/ui/login")
	b.until(keyUse)
	b.forget()
	b.do(chromedp.Click(keyUse))
	b.explains("The key has been revoked. It opens no more sessions.")
	b.wrong(b.everyLook())
	b.quiet(403)

	b.forgetsKey()
	b.registers("hal-2")
	b.greets("hal-2")
	b.quiet(200)
}

// forgetsKey has the browser forget its key, which is asked about first.
func (b *tab) forgetsKey() {
	b.t.Helper()
	b.do(chromedp.Click("#key-forget"))
	b.until("#key-question")
	b.says("This cannot be undone")
	b.wrong(b.barriers("question"))
	b.picture("login-key-question")
	b.press("Enter")
	b.shows("the key is kept", `!document.querySelector("dialog[open]")`)
	b.do(chromedp.Click("#key-forget"))
	b.press("Escape")
	b.shows("the key is kept", `!document.querySelector("dialog[open]")`)
	b.until(keyUse)
	b.do(chromedp.Click("#key-forget"), chromedp.Click(`#key-question [value=forget]`))
	b.until(keyForm)
	b.says("The key is forgotten.")
	if got := eval[int](b, keptKey+`.then((all) => all.length)`); got != 0 {
		b.t.Errorf("%d keys are kept", got)
	}
}

// revokeKey gives the agent of the browser's key another one, which revokes it a day later.
func revokeKey(t *testing.T, s *server, b *tab) {
	t.Helper()
	b.open("/ui/login")
	credential := eval[string](b, keptKey+`.then(async ([one]) => {
		const post = async (path, body) => (await (await fetch("/api/v1/auth/" + path, {method: "POST",
			headers: {"Content-Type": "application/json"}, body: JSON.stringify(body),
		})).json()).data;
		const asked = await post("challenge", {agent_id: one.agent, key_id: one.id});
		const bytes = await crypto.subtle.sign("Ed25519", one.key,
			new TextEncoder().encode(asked.signing_payload));
		const signature = btoa(String.fromCharCode(...new Uint8Array(bytes)))
			.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
		const done = await post("session", {challenge_id: asked.challenge_id,
			challenge: asked.challenge, signature, client_name: "test", client_version: "1"});
		return done.session.credential;
	})`)
	agent := eval[string](b, keptKey+`.then(([one]) => one.agent)`)
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	old := client.New(s.url, client.Fixed(credential))
	defer old.Close()
	known, err := old.AddKey(ctx, key, agent)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Keys []struct {
			ID string `json:"id"`
		} `json:"keys"`
	}
	err = old.Call(ctx, "GET", "/api/v1/agents/me/keys", nil, &list)
	if err == nil {
		err = s.advance(25 * time.Hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	anybody := client.New(s.url, nil)
	defer anybody.Close()
	done, err := anybody.SignIn(ctx, key, known, client.Program{Name: "test", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	signed := client.New(s.url, client.Fixed(done.Session.Credential))
	defer signed.Close()
	err = signed.Call(ctx, "DELETE", "/api/v1/agents/me/keys/"+list.Keys[0].ID, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// TestBrowsersWithoutKeys opens the page in browsers that cannot make a key, or not there.
func TestBrowsersWithoutKeys(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	for name, one := range map[string]struct{ script, selector, text string }{
		"algorithm": {`SubtleCrypto.prototype.generateKey = () =>
			Promise.reject(new DOMException("Unrecognized name.", "NotSupportedError"))`,
			"#key-unable", "cannot make Ed25519 keys"},
		"store": {`IDBFactory.prototype.open = () => { throw new DOMException("no", "SecurityError") }`,
			"#key-unable", "cannot keep them"},
		"plain http": {`Object.defineProperty(window, "isSecureContext", {value: false});
			Object.defineProperty(Crypto.prototype, "subtle", {value: undefined})`,
			"#key-insecure", "plain HTTP"},
	} {
		b := newTab(t, w.server)
		b.before(one.script)
		b.open("/ui/login")
		b.until(one.selector)
		b.says(one.text)
		b.says("pws login --web")
		if eval[bool](b, `document.querySelector("#key-new").checkVisibility()`) {
			t.Errorf("%s: the form is shown", name)
		}
		b.wrong(b.everyLook())
		b.quiet(200)
	}
	b := newTab(t, w.server)
	b.scripts(false)
	b.open("/ui/login")
	b.says("This needs JavaScript. Without it, use pws login --web.")
	b.quiet(200)
}

// TestPagesApart signs in where the pages have an address of their own.
func TestPagesApart(t *testing.T) {
	t.Parallel()
	s := &server{
		data: filepath.Join(t.TempDir(), "data"), agents: map[string]*agent{},
		more: []string{"--web-listen", "127.0.0.1:0"},
	}
	if err := s.start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.child.Kill() })
	ada, err := s.agent("ada")
	if err != nil {
		t.Fatal(err)
	}
	link, err := ada.signInLink()
	if err != nil {
		t.Fatal(err)
	}
	apart := origin(link)
	if apart == s.url {
		t.Fatalf("the link leads to %s", link)
	}
	b := newTab(t, &server{url: apart})
	b.follow(link, confirmButton)
	b.next(chromedp.Click(confirmButton))
	b.greets("ada")
	b.next(chromedp.Click(`form.who button`))
	b.registers("hal")
	b.greets("hal")
	b.wrong(b.everyLook())
	b.next(chromedp.Click(`form.who button`))
	b.until(keyUse)
	b.do(chromedp.Click(keyUse))
	b.greets("hal")
	b.quiet(200)
	if status, _, _, err := get(s.url + "/ui/"); status != 404 || err != nil {
		t.Errorf("the address of the interface has a page: %d, %v", status, err)
	}
}
