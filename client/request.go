package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Client sends requests to one service. Its methods may be called by several goroutines.
type Client struct {
	// Server is the base URL without a slash at its end, or several with commas between them.
	Server string
	// AlsoKnown are further addresses of the service, which its challenges may name.
	AlsoKnown string
	// Credentials gives the credential of each request; nil sends none.
	Credentials Credentials
	// UserAgent names the program and its version.
	UserAgent string
	// RetryFor is how long a request is repeated; zero means that it is sent once, with several
	// addresses once to each.
	RetryFor time.Duration
	// Attempts is how often a request is answered by one address at most within that time.
	Attempts int

	// http takes as long as the longest poll, prompt leaves a server early that does not answer.
	http, prompt *http.Client
	addresses    *addresses
	// wait is time passing, now the time; tests replace them.
	wait func(context.Context, time.Duration) error
	now  func() time.Time
}

// The bounds of one exchange. An answer may take as long as the longest poll of the service.
const (
	dialTimeout = 5 * time.Second
	// dialTimeoutSeveral is for a server with another address.
	dialTimeoutSeveral = 2 * time.Second

	headerTimeout = 60 * time.Second
	// promptTimeout is for a request that another address may answer instead.
	promptTimeout = 10 * time.Second

	answerMax = 256 << 20
)

// New makes a client of a server, which repeats for RetryUsually. The server is a base URL, or
// several with commas between them, which are one service.
func New(server string, credentials Credentials) *Client {
	to, connect := newAddresses(server), dialTimeout
	if to.several() {
		connect = dialTimeoutSeveral
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connect}).DialContext,
		TLSHandshakeTimeout:   connect,
		ResponseHeaderTimeout: headerTimeout,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       30 * time.Second,
	}
	prompt := transport.Clone()
	prompt.ResponseHeaderTimeout = promptTimeout
	return &Client{
		Server:      JoinAddresses(to.all),
		Credentials: credentials,
		UserAgent:   "pws-client",
		RetryFor:    RetryUsually,
		Attempts:    attemptsMax,
		http:        &http.Client{Transport: transport, CheckRedirect: refuseRedirect},
		prompt:      &http.Client{Transport: prompt, CheckRedirect: refuseRedirect},
		addresses:   to,
		wait:        Pause,
		now:         time.Now,
	}
}

// refuseRedirect keeps the credential from other servers. The service never redirects its
// interface.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Close ends the idle connections.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	c.prompt.CloseIdleConnections()
}

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
	// Slow says that the server may wait before it answers, as it does for a GET with wait.
	Slow bool
	// Begun is when its caller began to wait. The time in which it is repeated begins then, zero:
	// when it is sent.
	Begun time.Time
	// Moved is called, by several goroutines, when bytes of the body or of its answer went on, unless
	// it is nil.
	Moved func()
	// Refusal reads the refusal in a body whose status is one of success, nil if it has none. With
	// several addresses, one that another server may not give is the failure of the request.
	Refusal func(body []byte) *Failure
}

// Answer is an answer of any status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// repeatable reports whether a second execution has no other effect than the first. With several
// servers a PUT may still be on its way over one of them, and come AFTER what others have written.
// The condition of a PUT holds no more once it was carried out: a repetition would be refused.
func (r *Request) repeatable(several bool) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return true
	case http.MethodPut:
		conditional := r.Header.Get("If-Match") != "" || r.Header.Get("If-None-Match") != ""
		return r.Key != "" || r.Harmless || !several && !conditional
	}
	return r.Key != "" || r.Harmless
}

// mayBeSlow reports whether the server may wait before it answers.
func (r *Request) mayBeSlow() bool {
	_, query, _ := strings.Cut(r.Path, "?")
	values, err := url.ParseQuery(query)
	return r.Slow || err != nil || values.Has("wait")
}

// target is where an attempt goes: the base URL of an address, and what sends it there.
type target struct {
	to  string
	via *http.Client
}

// signed sends a request with the credential.
func (c *Client) signed(
	ctx context.Context, next target, request *Request,
) (answer *Answer, err error) {
	err = c.withCredential(ctx, func(credential string) error {
		answer, err = c.once(ctx, next, request, credential)
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
		return &unsentError{err}
	}
	err = send(credential)
	if credential == "" || !IsCode(err, codeSessionInvalid, codeSessionExpired) {
		return err
	}
	other, renewErr := c.Credentials.Renew(ctx, credential)
	if renewErr != nil {
		return &unsentError{renewErr}
	}
	if other == credential {
		return err
	}
	return send(other)
}

var errAnswerSize = fmt.Errorf("the answer is larger than %d bytes", answerMax)

// ReadAnswer reads the body of an answer, up to the size of the largest one that is kept in memory.
func ReadAnswer(body io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(body, answerMax+1))
	if err == nil && len(text) > answerMax {
		err = errAnswerSize
	}
	return text, err
}

// once sends a request to an address and reads its answer.
func (c *Client) once(
	ctx context.Context, next target, request *Request, credential string,
) (*Answer, error) {
	response, err := c.send(ctx, next, request, credential)
	if err != nil {
		return nil, err
	}
	body, err := ReadAnswer(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil && !errors.Is(err, errAnswerSize) {
		err = unreachable(ctx, next.to, err)
	}
	if err != nil {
		return nil, err
	}
	answer := &Answer{Status: response.StatusCode, Header: response.Header, Body: body}
	if answer.Status >= http.StatusMultipleChoices && answer.Status != http.StatusNotModified {
		return nil, failureOf(answer)
	}
	if request.Refusal != nil && c.addresses.several() {
		if refused := request.Refusal(body); refused != nil && refused.ofServer() {
			refused.Status, refused.Answer = http.StatusServiceUnavailable, answer
			refused.RetryAfter = retryAfter(answer.Header)
			return nil, refused
		}
	}
	return answer, nil
}

// send sends a request to an address. The caller closes the body of the answer.
func (c *Client) send(
	ctx context.Context, next target, request *Request, credential string,
) (*http.Response, error) {
	limit := headerTimeout
	if next.via == c.prompt {
		limit = promptTimeout
	}
	silence := newSilence(ctx, limit)
	silence.moved = request.Moved
	out, err := http.NewRequestWithContext(silence.traced(), request.Method, next.to+request.Path,
		bytes.NewReader(request.Body))
	if err != nil {
		silence.end(nil)
		return nil, err
	}
	silence.send(out, request.Body)
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
	response, err := next.via.Do(out)
	if err != nil {
		silence.timer.Stop()
		err = unreachable(ctx, next.to, silence.cause(err))
		silence.end(nil)
		var lost *UnreachableError
		switch {
		case errors.As(err, &lost):
			lost.unsent = !silence.connected.Load()
		case !silence.connected.Load():
			err = &unsentError{err}
		}
		return nil, err
	}
	if to, err := response.Location(); err == nil {
		// The address may be relative.
		response.Header.Set("Location", to.String())
	}
	// What has begun to answer may be slow.
	response.Body = &watched{response.Body, silence, headerTimeout, true}
	return response, nil
}

// unreachable is the error of an exchange without an answer; it is the context's own if that has
// ended.
func unreachable(ctx context.Context, address string, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var from *url.Error
	if errors.As(cause, &from) {
		cause = from.Err
	}
	return &UnreachableError{Server: address, Cause: cause}
}

// Data returns the member data of an answer's envelope. Errors: *Failure with CodeNoAnswer.
func (a *Answer) Data() (jsontext.Value, error) {
	var envelope struct {
		Data jsontext.Value `json:"data"`
	}
	if err := json.Unmarshal(a.Body, &envelope); err != nil {
		return nil, &Failure{
			Status: a.Status, Code: CodeNoAnswer,
			Message: fmt.Sprintf("The answer has status %d and is not an answer of the service: %v.",
				a.Status, err),
		}
	}
	return envelope.Data, nil
}

// Call sends input as JSON, none if it is nil, and decodes the data of the answer into output,
// unless that is nil. What is no read carries an Idempotency-Key: an operation that takes none goes
// through DoInto. Errors: those of Do.
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
	if method != http.MethodGet && method != http.MethodHead {
		request.Key = NewIdempotencyKey()
	}
	return c.DoInto(ctx, request, output)
}

// DoInto is Do, and decodes the data of the answer into output, unless that is nil.
func (c *Client) DoInto(ctx context.Context, request *Request, output any) error {
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
