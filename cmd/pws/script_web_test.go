package main

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The commands of the web page:
//
//	browser NAME                           browsers have their own cookies
//	browse PATH STATUS [REGEXP ...]        opens a page
//	stays PATH STATUS                      opens an address without going elsewhere from it
//	inparts PATH N [TEXT ...]                opens the parts of a divided page, of which there are N
//	                                       at least; each text is in one of them
//	submit [-from ORIGIN] PATH FIELD=TEXT ... STATUS [REGEXP ...]
//	again [FIELD=TEXT ...] STATUS [REGEXP ...]
//
//	code AGENT                             sets the variable code to one of the agent's
//	cookie                                 sets the variable cookie to the browser's
//	noted AGENT TIME                       waits until the agent was seen after that time
//	asset NAME                             loads a file of the page that was shown last
//	beside METHOD PATH STATUS [REGEXP]     sends what is no page to the address of the pages
//	saved PATH STATUS [REGEXP]             loads a file of a project, which no browser shows
//
// They follow redirects and expect a status and texts of the page, or with ! that it has none. A
// form is sent with the token and the key of the page that was shown last, unless a field gives
// others; again sends the last form once more. In a text \xff is this byte. Each page is also
// checked for what holds for all of them.

// browser is what a browser knows: its cookies, of the last page the token, the key and the text,
// and the last form.
type browser struct {
	http             *http.Client
	token, key, page string
	path             string
	fields           url.Values
}

func (s *script) browser() (*browser, error) {
	if s.browsers == nil {
		s.browsers = map[string]*browser{}
	}
	if known := s.browsers[s.browsing]; known != nil {
		return known, nil
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	made := &browser{http: &http.Client{Jar: jar, Timeout: patience}}
	s.browsers[s.browsing] = made
	return made, nil
}

func (s *script) useBrowser(_ *testscript.TestScript, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: browser NAME")
	}
	s.browsing = args[0]
	return nil
}

func (s *script) browse(ts *testscript.TestScript, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: browse PATH STATUS [REGEXP ...]")
	}
	return s.visit(ts, http.MethodGet, "", args[0], nil, args[1:])
}

// stays sends a request whose answer may be a redirection.
func (s *script) stays(_ *testscript.TestScript, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: stays PATH STATUS")
	}
	b, err := s.browser()
	if err != nil {
		return err
	}
	stay := *b.http
	stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := stay.Get("http://" + s.server.pages + s.expand(args[0]))
	if err != nil {
		return err
	}
	if got := strconv.Itoa(answer.StatusCode); got != args[1] {
		return errors.Join(answer.Body.Close(), errors.New("status "+got))
	}
	return answer.Body.Close()
}

var (
	partPattern = regexp.MustCompile(`<p class="parts">Part (\d+) of (\d+)`)
	nextPattern = regexp.MustCompile(`href="(\?[^"]*)">Next part</a>`)
)

func (s *script) pageParts(ts *testscript.TestScript, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: inparts PATH N [TEXT ...]")
	}
	b, err := s.browser()
	if err != nil {
		return err
	}
	least, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	path, found := args[0], map[string]int{}
	bare, _, _ := strings.Cut(path, "?")
	for i := 1; ; i++ {
		if err := s.visit(ts, http.MethodGet, "", path, nil, []string{"200"}); err != nil {
			return err
		}
		for _, text := range args[2:] {
			found[text] += strings.Count(b.page, s.expand(text))
		}
		part := partPattern.FindStringSubmatch(b.page)
		if part == nil && i == 1 {
			part = []string{"", "1", "1"}
		}
		if part == nil || part[1] != strconv.Itoa(i) {
			return fmt.Errorf("part %d says %q", i, part)
		}
		next := nextPattern.FindStringSubmatch(b.page)
		if last := part[1] == part[2]; last != (next == nil) {
			return fmt.Errorf("%s has the next part %q", part[0], next)
		} else if last && i < least {
			return fmt.Errorf("there are %d parts", i)
		} else if last {
			break
		}
		path = bare + html.UnescapeString(next[1])
	}
	for _, text := range args[2:] {
		if found[text] != 1 {
			return fmt.Errorf("%q is %d times in all parts", text, found[text])
		}
	}
	return nil
}

func (s *script) submit(ts *testscript.TestScript, args []string) error {
	origin := "http://" + s.server.pages
	if len(args) > 2 && args[0] == "-from" {
		origin, args = args[1], args[2:]
	}
	at := slices.IndexFunc(args, statusPattern.MatchString)
	if at < 1 {
		return errors.New("usage: submit [-from ORIGIN] PATH FIELD=TEXT ... STATUS [REGEXP ...]")
	}
	fields := url.Values{}
	setFields(s, fields, args[1:at])
	return s.visit(ts, http.MethodPost, origin, args[0], fields, args[at:])
}

var escapedByte = regexp.MustCompile(`\\x[0-9a-f]{2}`)

// setFields sets fields of a form.
func setFields(s *script, fields url.Values, args []string) {
	for _, field := range args {
		name, value, _ := strings.Cut(s.expand(field), "=")
		fields.Set(name, escapedByte.ReplaceAllStringFunc(value, func(escaped string) string {
			code, _ := strconv.ParseUint(escaped[2:], 16, 8)
			return string([]byte{byte(code)})
		}))
	}
}

func (s *script) again(ts *testscript.TestScript, args []string) error {
	b, err := s.browser()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(args, statusPattern.MatchString)
	if at < 0 || b.fields == nil {
		return errors.New("usage: again [FIELD=TEXT ...] STATUS [REGEXP ...], after a form")
	}
	fields := maps.Clone(b.fields)
	setFields(s, fields, args[:at])
	return s.visit(ts, http.MethodPost, "http://"+s.server.pages, b.path, fields, args[at:])
}

// visit opens a page and checks what it shows.
func (s *script) visit(
	ts *testscript.TestScript, method, origin, path string, fields url.Values, expected []string,
) error {
	if err := s.tick(ts); err != nil {
		return err
	}
	b, err := s.browser()
	if err != nil {
		return err
	}
	var body io.Reader
	if fields != nil {
		for name, value := range map[string]string{"token": b.token, "key": cmp.Or(b.key, "none")} {
			if !fields.Has(name) && value != "" {
				fields.Set(name, value)
			}
		}
		b.path, b.fields = path, fields
		body = strings.NewReader(fields.Encode())
	}
	asked, err := http.NewRequest(method, "http://"+s.server.pages+s.expand(path), body)
	if err != nil {
		return err
	}
	asked.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	if fields != nil {
		asked.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		asked.Header.Set("Origin", origin)
	}
	answer, err := b.http.Do(asked)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	return s.shown(b, answer, string(page), expected)
}

var (
	tokenPattern = regexp.MustCompile(`name="token" value="([^"]+)"`)
	keyPattern   = regexp.MustCompile(`name="key" value="([^"]+)"`)
)

func (s *script) shown(b *browser, answer *http.Response, page string, expected []string) error {
	if found := tokenPattern.FindStringSubmatch(page); found != nil {
		b.token = found[1]
	}
	b.key = ""
	if found := keyPattern.FindStringSubmatch(page); found != nil {
		b.key = found[1]
	}
	b.page = page
	if want, _ := strconv.Atoi(expected[0]); answer.StatusCode != want {
		return fmt.Errorf("status %d, not %d: %s", answer.StatusCode, want, page)
	}
	if problem := pageProblem(answer, page); problem != "" {
		return fmt.Errorf("the page %s: %s", problem, page)
	}
	if err := linksLead(answer.Request.URL, page); err != nil {
		return err
	}
	for _, text := range expected[1:] {
		text, absent := strings.CutPrefix(s.expand(text), "!")
		pattern, err := regexp.Compile(text)
		if err != nil {
			return err
		}
		if pattern.MatchString(page) == absent {
			return fmt.Errorf("%q is found: %v in %s", text, !absent, page)
		}
	}
	return nil
}

// linkPattern finds links of a page to the interface, which takes no cookie.
var linkPattern = regexp.MustCompile(`href="(/api/[^"]*)"`)

// linksLead follows the links of a page to the interface, as a browser does.
func linksLead(from *url.URL, page string) error {
	for _, found := range linkPattern.FindAllStringSubmatch(page, -1) {
		to, err := from.Parse(html.UnescapeString(found[1]))
		if err != nil {
			return err
		}
		answer, err := http.Get(to.String())
		if err != nil {
			return err
		}
		if err := answer.Body.Close(); err != nil {
			return err
		}
		if answer.StatusCode >= http.StatusBadRequest {
			return fmt.Errorf("the link %s of %s leads to %s", found[1], from, answer.Status)
		}
	}
	return nil
}

// inPage are what no page has: code and style in it, and addresses of others.
var inPage = regexp.MustCompile(`(?i)<script(?: [^>]*)?>[^<]|` +
	`<[^>]*\s(?:on[a-z]+|style)=|<(?:style|img|iframe|object|embed|base|svg)\b|` +
	`<[^>]*\s(?:src|href|action|formaction)="(?:[a-z]+:|//)`)

// linkOutside is the one form of a link to another site.
var linkOutside = regexp.MustCompile(
	`<a href="https?://[^"<>\s]+" rel="nofollow ugc noopener">`)

// pageBytesMax is the size that no page exceeds.
const pageBytesMax = 60 << 10

// pageProblem returns what is wrong with a page, empty if nothing is.
func pageProblem(answer *http.Response, page string) string {
	head := answer.Header
	switch {
	case !strings.HasPrefix(head.Get("Content-Type"), "text/html"):
		return "is no HTML"
	case !strings.HasPrefix(head.Get("Content-Security-Policy"), "default-src 'none'; "):
		return "has no policy"
	case head.Get("X-Content-Type-Options") != "nosniff":
		return "may be taken for something else"
	case head.Get("Access-Control-Allow-Origin") != "":
		return "can be read by others"
	case len(page) > pageBytesMax:
		return "is too large"
	case strings.Count(page, "<h1>") != 1:
		return "has not one heading"
	case !strings.HasSuffix(page, "</html>\n"):
		return "is cut"
	}
	// Drawings of the page itself begin so. Their other attributes are checked too.
	drawn := strings.ReplaceAll(page, `<svg class="`, `<p class="`)
	drawn = linkOutside.ReplaceAllString(drawn, "")
	if found := inPage.FindString(drawn); found != "" {
		return "has " + found
	}
	return ""
}

// code gets a code of an agent, which stays the caller.
func (s *script) code(ts *testscript.TestScript, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: code AGENT")
	}
	defer func(caller string) { s.caller = caller }(s.caller)
	if err := s.as(ts, args); err != nil {
		return err
	}
	sent := &request{method: http.MethodPost, target: "/api/v1/auth/web-codes"}
	if err := s.expect(sent, http.StatusCreated, ""); err != nil {
		return err
	}
	link, _ := s.last.at("data.url")
	_, code, _ := strings.Cut(textOf(link), "#")
	s.set(ts, "code", code)
	return nil
}

func (s *script) cookie(ts *testscript.TestScript, _ []string) error {
	b, err := s.browser()
	if err != nil {
		return err
	}
	for _, one := range b.http.Jar.Cookies(&url.URL{Scheme: "http", Host: s.server.pages}) {
		s.set(ts, "cookie", one.Value)
	}
	return nil
}

// noted waits until the service has noted the use of a session, which it does behind the answer.
func (s *script) noted(_ *testscript.TestScript, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: noted AGENT TIME")
	}
	before := s.expand(args[1])
	asked := &request{method: http.MethodGet, target: "/api/v1/agents/" + args[0]}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		got, err := s.send(asked)
		if err != nil {
			return err
		}
		seen, found := got.at("data.agent.last_seen_at")
		if found && textOf(seen) != before {
			return nil
		}
	}
	return errors.New("the agent was not seen")
}

// asset loads a file that the last page names. Browsers keep it, and another hash is none.
func (s *script) asset(_ *testscript.TestScript, args []string) error {
	b, err := s.browser()
	if err != nil {
		return err
	}
	address := regexp.MustCompile(`/ui/assets/([^/"]+)/` + regexp.QuoteMeta(args[0])).
		FindStringSubmatch(b.page)
	if address == nil {
		return errors.New("the page does not load it")
	}
	for path, want := range map[string]string{
		address[0]: "200 public, max-age=31536000, immutable",
		strings.Replace(address[0], address[1], "other", 1): "404 no-store",
	} {
		answer, err := b.http.Get("http://" + s.server.pages + path)
		if err != nil {
			return err
		}
		got := fmt.Sprint(answer.StatusCode, " ", answer.Header.Get("Cache-Control"))
		if err := errors.Join(answer.Body.Close()); err != nil || got != want {
			return fmt.Errorf("%s: %s, not %s, %w", path, got, want, err)
		}
	}
	return nil
}

// saved loads the bytes of a file of a project. Whatever they are, they are text that a browser
// saves and never runs.
func (s *script) saved(_ *testscript.TestScript, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: saved PATH STATUS [REGEXP]")
	}
	b, err := s.browser()
	if err != nil {
		return err
	}
	answer, err := b.http.Get("http://" + s.server.pages + s.expand(args[0]))
	if err != nil {
		return err
	}
	body, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if got := strconv.Itoa(answer.StatusCode); got != args[1] {
		return fmt.Errorf("status %s: %s", got, body)
	}
	if answer.StatusCode != http.StatusOK {
		return nil
	}
	for name, want := range map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "Content-Disposition": "attachment",
		"Content-Security-Policy": "sandbox", "X-Content-Type-Options": "nosniff",
		"Access-Control-Allow-Origin": "",
	} {
		if got := answer.Header.Get(name); got != want {
			return fmt.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	for _, text := range args[2:] {
		if !regexp.MustCompile(s.expand(text)).Match(body) {
			return fmt.Errorf("no %q in %q", text, body)
		}
	}
	return nil
}

// beside sends a request for what is no page, as scripts of a page do. The answer has nothing that
// a pattern after an exclamation mark matches.
func (s *script) beside(_ *testscript.TestScript, args []string) error {
	if len(args) < 3 {
		return errors.New("usage: beside METHOD PATH STATUS [[!]REGEXP]...")
	}
	asked, err := http.NewRequest(args[0], "http://"+s.server.pages+args[1], strings.NewReader("{}"))
	if err != nil {
		return err
	}
	asked.Header.Set("Content-Type", "application/json")
	asked.Header.Set("Origin", "http://"+s.server.pages)
	answer, err := http.DefaultClient.Do(asked)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if got := strconv.Itoa(answer.StatusCode); got != args[2] {
		return fmt.Errorf("status %s: %s", got, text)
	}
	for _, pattern := range args[3:] {
		bare, absent := strings.CutPrefix(pattern, "!")
		if regexp.MustCompile(s.expand(bare)).Match(text) == absent {
			return fmt.Errorf("not %q in %s", pattern, text)
		}
	}
	return nil
}

func webCommands() map[string]command {
	return map[string]command{
		"browser": wrap((*script).useBrowser),
		"browse":  wrap((*script).browse),
		"stays":   wrap((*script).stays),
		"inparts": wrap((*script).pageParts),
		"submit":  wrap((*script).submit),
		"again":   wrap((*script).again),
		"listen":  wrap((*script).listen),
		"hear":    wrap((*script).hear),
		"deaf":    wrap((*script).deaf),
		"code":    wrap((*script).code),
		"cookie":  wrap((*script).cookie),
		"asset":   wrap((*script).asset),
		"saved":   wrap((*script).saved),
		"beside":  wrap((*script).beside),
		"noted":   wrap((*script).noted),
	}
}
