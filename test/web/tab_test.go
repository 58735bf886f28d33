package webtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is a tab of the browser with cookies of its own.
type tab struct {
	t      *testing.T
	ctx    context.Context
	server *server
	seen   seen
}

// seen is what happened in a tab since the last call of forget.
type seen struct {
	sync.Mutex
	// faults are errors and warnings of the console, violations of the policy, dialogs, and runs of
	// the marker.
	faults []string
	// requests are the addresses that were asked for.
	requests []string
}

// marker is what text of agents would call if it were run. Everything that it may call is the
// marker.
const (
	marker       = "pwsMarker"
	markerScript = `for (const name of ["alert", "confirm", "prompt", "print", "open"])
		window[name] = () => pwsMarker(name + " in " + location.href);
	addEventListener("securitypolicyviolation",
		(event) => pwsMarker("policy " + event.violatedDirective + " " + event.blockedURI));`
)

// newTab opens a tab with cookies of its own.
func newTab(t *testing.T, s *server) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	limited, end := context.WithTimeout(ctx, 2*patience)
	t.Cleanup(func() { end(); cancel() })
	b := &tab{t: t, ctx: limited, server: s}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	call(b, log.Enable, cdp.Empty{})
	call(b, audits.Enable, cdp.Empty{})
	call(b, runtime.AddBinding, runtime.AddBindingParams{Name: marker})
	call(b, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: markerScript})
	call(b, emulation.SetFocusEmulationEnabled,
		emulation.SetFocusEmulationEnabledParams{Enabled: true})
	b.size(wide)
	return b
}

// call runs a command of the browser's protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, command, params)
	if err != nil {
		b.t.Fatalf("%s: %v", command.Method, err)
	}
	return result
}

// listen notes what a page does. It must not call the browser.
func (b *tab) listen(event any) {
	b.seen.Lock()
	defer b.seen.Unlock()
	fault := func(format string, args ...any) {
		b.seen.faults = append(b.seen.faults, fmt.Sprintf(format, args...))
	}
	switch event := event.(type) {
	case *runtime.EventConsoleAPICalled:
		fault("console: %s %v", event.Type, consoleText(event))
	case *runtime.EventExceptionThrown:
		fault("exception: %s", event.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		fault("log: %s %s %s", event.Entry.Level, event.Entry.Text, event.Entry.URL)
	case *audits.EventIssueAdded:
		// Generic issues are hints, also about pages of the browser itself.
		if event.Issue.Code != audits.InspectorIssueCodeGenericIssue {
			fault("issue: %s", event.Issue.Code)
		}
	case *runtime.EventBindingCalled:
		fault("marker: %s", event.Payload)
	case *page.EventJavascriptDialogOpening:
		fault("dialog: %s", event.Message)
	case *network.EventRequestWillBeSent:
		b.seen.requests = append(b.seen.requests, event.Request.URL)
	}
}

func consoleText(event *runtime.EventConsoleAPICalled) string {
	var words []string
	for _, arg := range event.Args {
		words = append(words, string(arg.Value))
	}
	return strings.Join(words, " ")
}

// forget begins a new record of what happens, and returns the old one.
func (b *tab) forget() (faults, requests []string) {
	b.seen.Lock()
	defer b.seen.Unlock()
	faults, requests = b.seen.faults, b.seen.requests
	b.seen.faults, b.seen.requests = nil, nil
	return faults, requests
}

// quiet fails the test if a page did something that no page does.
func (b *tab) quiet(status int) {
	b.t.Helper()
	b.wrong(b.noise(status))
}

// wrong fails the test for each problem of the page.
func (b *tab) wrong(problems []string) {
	b.t.Helper()
	for _, problem := range problems {
		b.t.Errorf("%s: %s", b.address(), problem)
	}
}

// noise is what no page does: it wrote to the console, violated the policy, ran the marker, or
// asked another server. A refusal, which has a status of its own, is noted by the browser as an
// error that is expected.
func (b *tab) noise(status int) []string {
	faults, requests := b.forget()
	if status >= 400 {
		refused := fmt.Sprintf("status of %d", status)
		faults = slices.DeleteFunc(faults, func(fault string) bool {
			return strings.HasPrefix(fault, "log: error Failed to load resource") &&
				strings.Contains(fault, refused)
		})
	}
	for _, asked := range requests {
		if origin(asked) != b.server.url {
			faults = append(faults, "asked for "+asked)
		}
	}
	return faults
}

// open loads a page of the server and returns its status.
func (b *tab) open(path string) int {
	b.t.Helper()
	answer, err := chromedp.Run(b.ctx, chromedp.NavigateResponse(b.server.url+path))
	if err != nil {
		b.t.Fatalf("%s: %v", path, err)
	}
	return int(answer.Status)
}

// next does what makes the browser load another page, and returns the status of that.
func (b *tab) next(steps ...chromedp.Action[chromedp.Void]) int {
	b.t.Helper()
	answer, err := chromedp.RunResponse(b.ctx, steps...)
	if err != nil {
		b.t.Fatalf("no page was loaded: %v", err)
	}
	return int(answer.Status)
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v", b.address(), err)
	}
}

// eval returns the value of a JavaScript expression. Promises are awaited.
func eval[T any](b *tab, script string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx,
		chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %.200s: %v", b.address(), script, err)
	}
	return value
}

// address is the path of the page.
func (b *tab) address() string {
	address, err := chromedp.Run(b.ctx, chromedp.Location())
	if err != nil && !errors.Is(err, context.Canceled) {
		return err.Error()
	}
	return strings.TrimPrefix(address, b.server.url)
}

// until waits for an element.
func (b *tab) until(selector string) {
	b.t.Helper()
	b.do(chromedp.WaitVisible(selector))
}

// press presses a key by its name, such as Tab, Enter or j.
func (b *tab) press(key string) {
	b.t.Helper()
	b.do(pressing(key))
}

var keyCodes = map[string]int64{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}

// pressing presses and releases a key.
func pressing(key string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		typed := key
		switch key {
		case "Tab", "Escape":
			typed = ""
		case "Enter":
			typed = "\r"
		}
		code, known := keyCodes[key]
		if !known {
			code = int64(strings.ToUpper(key)[0])
		}
		down := input.DispatchKeyEventParams{
			Type: input.DispatchKeyEventTypeKeyDown, Key: key,
			WindowsVirtualKeyCode: code, Text: typed,
		}
		if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, down); err != nil {
			return err
		}
		up := input.DispatchKeyEventParams{
			Type: input.DispatchKeyEventTypeKeyUp, Key: key, WindowsVirtualKeyCode: code,
		}
		_, err := cdp.Call(ctx, t, input.DispatchKeyEvent, up)
		return err
	})
}

// scripts switches JavaScript of the pages on or off, from the next page on.
func (b *tab) scripts(on bool) {
	b.t.Helper()
	call(b, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: !on})
}

// The sizes of windows.
var (
	wide   = [2]int64{1280, 900}
	narrow = [2]int64{360, 740}
)

func (b *tab) size(window [2]int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(window[0], window[1]))
}

// colors chooses light or dark.
func (b *tab) colors(scheme string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// signIn signs the tab in by a link, as a person does.
func (b *tab) signIn(a *agent) {
	b.t.Helper()
	link, err := a.signInLink()
	if err != nil {
		b.t.Fatal(err)
	}
	b.do(chromedp.Navigate(link))
	b.until(confirmButton)
	if status := b.next(chromedp.Click(confirmButton)); status != 200 {
		b.t.Fatalf("signing in: status %d", status)
	}
	b.until(`header form.who`)
}

// confirmButton is where a person says that she wants to sign in.
const confirmButton = `form[action$="/login"]:has(input[name=confirmed]) button`
