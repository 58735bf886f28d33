package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Client sends requests to one server. Its methods may be called by several goroutines.
type Client struct {
	// Server is the base URL without a slash at its end.
	Server string
	// Credentials gives the credential of each request; nil sends none.
	Credentials Credentials
	// UserAgent names the program and its version.
	UserAgent string
	// RetryFor is how long a request is repeated; zero means that it is sent once.
	RetryFor time.Duration
	// Attempts is how often a request is sent at most within that time.
	Attempts int

	http *http.Client
	// wait is time passing; tests replace it.
	wait func(context.Context, time.Duration) error
}

// The retries of a request: the usual number of attempts, and the pause after the first one, which
// doubles up to a longest one. A random part of up to the same length is added.
const (
	attemptsMax  = 5
	firstPause   = 200 * time.Millisecond
	longestPause = firstPause << (attemptsMax - 1)
	RetryUsually = 30 * time.Second
)

// The bounds of one exchange. An answer may take as long as the longest poll of the service.
const (
	dialTimeout   = 5 * time.Second
	headerTimeout = 60 * time.Second
	answerMax     = 256 << 20
)

// New makes a client of a server, which repeats for RetryUsually.
func New(server string, credentials Credentials) *Client {
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: headerTimeout,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       30 * time.Second,
	}
	return &Client{
		Server:      strings.TrimRight(server, "/"),
		Credentials: credentials,
		UserAgent:   "pws-client",
		RetryFor:    RetryUsually,
		Attempts:    attemptsMax,
		http:        &http.Client{Transport: transport, CheckRedirect: refuseRedirect},
		wait:        Pause,
	}
}

// refuseRedirect keeps the credential from other servers. The service never redirects its
// interface.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Close ends the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Pause waits, or returns the error of a context that ends before.
func Pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// NewIdempotencyKey makes a key that no other request has.
func NewIdempotencyKey() string { return rand.Text() }

// Request is one request of the interface.
type Request struct {
	Method string
	// Path begins with a slash and is escaped; it may have a query.
	Path   string
	Header http.Header
	Body   []byte
	// Key is the Idempotency-Key. With it a request may be repeated after a lost answer.
	Key string
	// Harmless says that a second execution has no other effect than the first, as of a POST that
	// only reads.
	Harmless bool
}

// Answer is an answer of any status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// repeatable reports whether a second execution has no other effect than the first.
func (r *Request) repeatable() bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPut:
		return true
	}
	return r.Key != "" || r.Harmless
}

// Do sends a request, repeats it where that is safe, and returns an answer of success.
//
// Errors: *Failure, *UnreachableError, and those of Credentials and the context.
func (c *Client) Do(ctx context.Context, request *Request) (*Answer, error) {
	var answer *Answer
	err := c.repeated(ctx, request, func() (err error) {
		answer, err = c.signed(ctx, request)
		return err
	})
	return answer, err
}

// repeated calls send until it succeeds, or should not be called again.
func (c *Client) repeated(ctx context.Context, request *Request, send func() error) error {
	ends := time.Now().Add(c.RetryFor)
	for attempt := 1; ; attempt++ {
		err := send()
		if err == nil || ctx.Err() != nil || attempt >= c.Attempts {
			return err
		}
		wait, again := nextTry(request, err, attempt)
		if !again || time.Now().Add(wait).After(ends) || c.wait(ctx, wait) != nil {
			return err
		}
	}
}

// nextTry returns how long to wait before the next attempt, and false if there should be none.
func nextTry(request *Request, err error, attempt int) (time.Duration, bool) {
	wait := longestPause
	if attempt < attemptsMax {
		wait = firstPause << (attempt - 1)
	}
	wait += mathrand.N(wait)
	var failure *Failure
	var unreachable *UnreachableError
	switch {
	case errors.As(err, &unreachable):
		return wait, request.repeatable() || errors.Is(err, syscall.ECONNREFUSED)
	case !errors.As(err, &failure):
		return 0, false
	// The server has not read the whole request, so it did nothing.
	case failure.Status == http.StatusRequestTimeout:
	case failure.Status == http.StatusTooManyRequests:
	case failure.Status == http.StatusServiceUnavailable:
	case failure.Status == http.StatusBadGateway:
		if !request.repeatable() {
			return 0, false
		}
	case failure.Code != codeStillRunning:
		return 0, false
	}
	return max(wait, failure.RetryAfter), true
}

// signed sends a request with the credential.
func (c *Client) signed(ctx context.Context, request *Request) (answer *Answer, err error) {
	err = c.withCredential(ctx, func(credential string) error {
		answer, err = c.once(ctx, request, credential)
		return err
	})
	return answer, err
}

// withCredential calls send with the credential, and once again with another if the server refuses
// it.
func (c *Client) withCredential(ctx context.Context, send func(credential string) error) error {
	if c.Credentials == nil {
		return send("")
	}
	credential, err := c.Credentials.Credential(ctx)
	if err != nil {
		return err
	}
	err = send(credential)
	if credential == "" || !IsCode(err, codeSessionInvalid, codeSessionExpired) {
		return err
	}
	other, renewErr := c.Credentials.Renew(ctx, credential)
	if renewErr != nil {
		return renewErr
	}
	if other == credential {
		return err
	}
	return send(other)
}

// once sends a request and reads its answer.
func (c *Client) once(ctx context.Context, request *Request, credential string) (*Answer, error) {
	response, err := c.send(ctx, request, credential)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, answerMax+1))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if len(body) > answerMax {
		return nil, fmt.Errorf("the answer is larger than %d bytes", answerMax)
	}
	answer := &Answer{Status: response.StatusCode, Header: response.Header, Body: body}
	if answer.Status >= http.StatusMultipleChoices && answer.Status != http.StatusNotModified {
		return nil, failureOf(answer)
	}
	return answer, nil
}

// send sends a request. The caller closes the body of the answer.
func (c *Client) send(
	ctx context.Context, request *Request, credential string,
) (*http.Response, error) {
	out, err := http.NewRequestWithContext(ctx, request.Method, c.Server+request.Path,
		bytes.NewReader(request.Body))
	if err != nil {
		return nil, err
	}
	for name, values := range request.Header {
		out.Header[name] = values
	}
	out.Header.Set("User-Agent", c.UserAgent)
	if request.Key != "" {
		out.Header.Set("Idempotency-Key", request.Key)
	}
	if credential != "" {
		out.Header.Set("Authorization", "Bearer "+credential)
	}
	response, err := c.http.Do(out)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	return response, nil
}

// unreachable is the error of an exchange without an answer; it is the context's own if that has
// ended.
func (c *Client) unreachable(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var from *url.Error
	if errors.As(cause, &from) {
		cause = from.Err
	}
	return &UnreachableError{Server: c.Server, Cause: cause}
}

// Data returns the member data of an answer's envelope.
func (a *Answer) Data() (jsontext.Value, error) {
	var envelope struct {
		Data jsontext.Value `json:"data"`
	}
	if err := json.Unmarshal(a.Body, &envelope); err != nil {
		return nil, fmt.Errorf("the answer is no JSON of the service: %w", err)
	}
	return envelope.Data, nil
}

// Call sends input as JSON, none if it is nil, and decodes the data of the answer into output,
// unless that is nil. Posts carry an Idempotency-Key. Errors: those of Do.
func (c *Client) Call(ctx context.Context, method, path string, input, output any) error {
	request := &Request{Method: method, Path: path}
	if input != nil {
		body, err := json.Marshal(input)
		if err != nil {
			return err
		}
		request.Body = body
		request.Header = http.Header{"Content-Type": {"application/json"}}
	}
	if method == http.MethodPost {
		request.Key = NewIdempotencyKey()
	}
	answer, err := c.Do(ctx, request)
	if err != nil || output == nil {
		return err
	}
	data, err := answer.Data()
	if err != nil {
		return err
	}
	return json.Unmarshal(data, output)
}
