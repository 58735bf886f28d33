package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pws/bench/client"
)

const (
	// browsersMax is the number of browsers that follow what happens.
	browsersMax = 50
	// browserWrites is how long the writer of what they follow waits between two writes.
	browserWrites = 200 * time.Millisecond
	// browsersTarget is the rate of reads beside browsers, against that without.
	browsersTarget = 0.95
)

// browsers are signed in on the web page and follow its events, each with its own session.
type browsers struct {
	mu     sync.Mutex
	bodies []io.Closer
	group  sync.WaitGroup
	// ready counts those without an event, ended those whose stream has ended, and received counts
	// events.
	ready           sync.WaitGroup
	ended, received atomic.Int64
}

func (b *browsers) close() {
	if b == nil {
		return
	}
	b.mu.Lock()
	for _, body := range b.bodies {
		_ = body.Close()
	}
	b.mu.Unlock()
	b.group.Wait()
}

var streamAddress = regexp.MustCompile(`data-stream="([^"]+)"`)

// browse lets browsers that are signed in follow the projects of the owner, and returns when each
// has had an event.
func (s *server) browse(signedIn []*http.Client) (*browsers, error) {
	opened := new(browsers)
	for _, browser := range signedIn {
		body, err := s.openLive(browser)
		if err != nil {
			opened.close()
			return nil, err
		}
		opened.mu.Lock()
		opened.bodies = append(opened.bodies, body)
		opened.mu.Unlock()
		opened.ready.Add(1)
		opened.group.Go(func() {
			first := sync.OnceFunc(opened.ready.Done)
			defer first()
			// It ends when the body is closed.
			lines := bufio.NewReader(body)
			for {
				line, err := lines.ReadString('\n')
				if err != nil {
					opened.ended.Add(1)
					return
				}
				if strings.HasPrefix(line, "data: ") {
					opened.received.Add(1)
					first()
				}
			}
		})
	}
	late := time.AfterFunc(wakePatience, opened.close)
	opened.ready.Wait()
	late.Stop()
	if err := opened.check(); err != nil {
		opened.close()
		return nil, err
	}
	return opened, nil
}

// check returns an error unless all browsers still follow.
func (b *browsers) check() error {
	if ended := b.ended.Load(); ended > 0 {
		return fmt.Errorf("%d of %d browsers do not follow any more", ended, len(b.bodies))
	}
	return nil
}

// signIn signs in a browser by a code.
func (s *server) signIn() (*http.Client, error) {
	var granted struct {
		URL string `json:"url"`
	}
	if _, err := s.api.Post("/api/v1/auth/web-codes", "", struct{}{}, &granted); err != nil {
		return nil, err
	}
	_, code, _ := strings.Cut(granted.URL, "#")
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	browser := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	_, err = visitPage(browser, http.MethodPost, "http://"+s.host+"/ui/login",
		url.Values{"code": {code}, "confirmed": {"yes"}})
	return browser, err
}

// openLive loads the page of events, and opens the stream that it names.
func (s *server) openLive(browser *http.Client) (io.ReadCloser, error) {
	base := "http://" + s.host
	page, err := visitPage(browser, http.MethodGet, base+"/ui/live", nil)
	if err != nil {
		return nil, err
	}
	found := streamAddress.FindStringSubmatch(page)
	if found == nil {
		return nil, errors.New("the page of events follows nothing")
	}
	asked, err := http.NewRequest(http.MethodGet, base+html.UnescapeString(found[1]), nil)
	if err != nil {
		return nil, err
	}
	asked.Header.Set("Accept", "text/event-stream")
	answer, err := browser.Do(asked)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("a stream of the page: %s", answer.Status),
			answer.Body.Close())
	}
	return answer.Body, nil
}

// visitPage opens a page as a browser does, and returns its text.
func visitPage(browser *http.Client, method, address string, form url.Values) (string, error) {
	asked, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	if form != nil {
		asked.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		asked.Header.Set("Origin", "http://"+asked.Host)
	}
	answer, err := browser.Do(asked)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", address, answer.Status)
	}
	return string(text), errors.Join(err, answer.Body.Close())
}

// runBrowsers measures how browsers that follow what happens slow down reads by the interface. What
// they follow changes in both cases.
func runBrowsers(ctx context.Context, srv *server, report *Report) error {
	config := srv.config
	count := min(browsersMax, config.Watchers)
	projects, err := srv.createProjects(ctx, 1)
	if err != nil {
		return err
	}
	var signedIn []*http.Client
	for range count {
		browser, err := srv.signIn()
		if err != nil {
			return err
		}
		signedIn = append(signedIn, browser)
	}
	stop := srv.keepWriting(projects[0])
	var open *browsers
	defer func() { open.close() }()
	readers := slices.Repeat([]agent{{credential: srv.api.Credential}}, config.Connections)
	alone := srv.reads(RunBrowsers, "GET of a state, nobody follows", projects[0], "state", readers)
	alone.prepare = func(context.Context) error {
		open.close()
		open = nil
		return nil
	}
	beside := srv.reads("browsers-follow", fmt.Sprintf("the same, %d browsers follow the page of "+
		"events, 5 a second", count), projects[0], "state", readers)
	beside.prepare = func(context.Context) (err error) {
		open.close()
		open, err = srv.browse(signedIn)
		return err
	}
	beside.check = func() error { return open.check() }
	err = report.drive(ctx, config, alone, beside)
	received := int64(0)
	if open != nil {
		received = open.received.Load()
	}
	if err = errors.Join(err, stop()); err != nil {
		return err
	}
	if received == 0 {
		return errors.New("the browsers have received no event")
	}
	report.compareRates(beside, alone, browsersTarget)
	return nil
}

// keepWriting writes to a project until it is stopped.
func (s *server) keepWriting(project string) (stop func() error) {
	end, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		api := &client.API{Host: s.host, Credential: s.api.Credential}
		defer api.Close()
		filler := newFiller(0, contentBytes)
		ticks := time.NewTicker(browserWrites)
		defer ticks.Stop()
		for {
			if err := putFile(api, filePath(project, "followed.txt"), filler.next()); err != nil {
				ended <- err
				return
			}
			select {
			case <-end:
				ended <- nil
				return
			case <-ticks.C:
			}
		}
	}()
	return func() error {
		close(end)
		return <-ended
	}
}
