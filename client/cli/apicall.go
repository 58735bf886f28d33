package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// The media types of bodies.
const (
	mediaJSON  = "application/json"
	mediaBytes = "application/octet-stream"
)

// APICommand calls any operation.
type APICommand struct {
	Common
	Method string   `arg:"" help:"GET, POST, PUT, PATCH, DELETE."`
	Path   string   `arg:"" help:"Path of the operation; without a slash before it, below /api/v1/."`
	Field  []string `short:"f" sep:"none" help:"A text of the body or, for GET, of the query." placeholder:"NAME=TEXT"`
	Value  []string `short:"F" sep:"none" help:"A member of the body that is JSON." placeholder:"NAME=JSON"`
	Input  string   `help:"Take the body from this file, - for standard input." placeholder:"FILE"`
	Header []string `short:"H" sep:"none" help:"A header." placeholder:"'NAME: VALUE'"`
	Key    string   `help:"The Idempotency-Key; a new one by default." placeholder:"KEY"`
}

// Run sends the request and prints the data of the answer as JSON. An answer without the envelope,
// such as a file, is printed as it is.
func (c *APICommand) Run(ctx context.Context, env *Env) error {
	request, err := c.request(env)
	if err != nil {
		return err
	}
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	if request.Method == http.MethodGet {
		return c.read(ctx, env, caller, request)
	}
	// Some operations that post need no session.
	send := caller.write
	if request.Method == http.MethodHead {
		send = caller.Client.Do
	}
	answer, err := send(ctx, request)
	if err != nil {
		return err
	}
	return c.printAnswer(ctx, env, answer)
}

// read prints the answer of a request that reads. An answer that is no JSON is printed as it
// arrives: it may be large, or a stream.
func (c *APICommand) read(
	ctx context.Context, env *Env, caller *account, request *client.Request,
) (err error) {
	answer, err := caller.Download(ctx, request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	if !isJSON(answer.Header) {
		_, err := io.Copy(env.foreign(), answer.Body)
		return err
	}
	body, err := client.ReadAnswer(answer.Body)
	if err != nil {
		return err
	}
	return c.printAnswer(ctx, env, &client.Answer{Header: answer.Header, Body: body})
}

// printAnswer prints the data of an answer, or a JSON document without an envelope as it is.
func (c *APICommand) printAnswer(ctx context.Context, env *Env, answer *client.Answer) error {
	data, err := answer.Data()
	if err != nil || len(data) == 0 || !isJSON(answer.Header) {
		_, err = env.foreign().Write(answer.Body)
		return err
	}
	if c.JQ == "" {
		c.JSON = true
	}
	return c.print(ctx, env, data, nil)
}

func isJSON(header http.Header) bool {
	return strings.HasPrefix(header.Get("Content-Type"), mediaJSON)
}

func (c *APICommand) request(env *Env) (*client.Request, error) {
	request := &client.Request{
		Method: strings.ToUpper(c.Method), Path: c.Path, Key: c.Key, Header: http.Header{},
	}
	if !strings.HasPrefix(c.Path, "/") {
		request.Path = "/api/v1/" + c.Path
	}
	for _, header := range c.Header {
		name, value, found := strings.Cut(header, ":")
		if !found {
			return nil, usagef("%q is not a header 'NAME: VALUE'", header)
		}
		request.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if request.Method == http.MethodGet || request.Method == http.MethodHead {
		return request, c.query(request)
	}
	return request, c.body(env, request)
}

// query adds the fields to the query.
func (c *APICommand) query(request *client.Request) error {
	if len(c.Value) > 0 || c.Input != "" {
		return usagef("%s has no body: use -f", request.Method)
	}
	for _, field := range c.Field {
		name, value, found := strings.Cut(field, "=")
		if !found {
			return usagef("%q is no NAME=TEXT", field)
		}
		separator := "?"
		if strings.Contains(request.Path, "?") {
			separator = "&"
		}
		request.Path += separator + url.QueryEscape(name) + "=" + url.QueryEscape(value)
	}
	return nil
}

// body makes the body: the input, or an object of the fields.
func (c *APICommand) body(env *Env, request *client.Request) (err error) {
	fields := len(c.Field) + len(c.Value)
	switch {
	case c.Input != "" && fields > 0:
		return usagef("the body is either --input or fields")
	case c.Input != "":
		request.Body, err = env.readInput(c.Input, bodyMax)
	case fields > 0:
		request.Body, err = c.object()
	}
	if len(request.Body) > 0 && request.Header.Get("Content-Type") == "" {
		media := mediaJSON
		if !jsontext.Value(request.Body).IsValid() {
			media = mediaBytes
		}
		request.Header.Set("Content-Type", media)
	}
	return err
}

// object is the body of the fields.
func (c *APICommand) object() ([]byte, error) {
	members := map[string]jsontext.Value{}
	for _, field := range c.Field {
		name, text, found := strings.Cut(field, "=")
		if !found {
			return nil, usagef("%q is no NAME=TEXT", field)
		}
		value, err := json.Marshal(text)
		if err != nil {
			return nil, UsageError{fmt.Errorf("%s: %w", name, err)}
		}
		members[name] = value
	}
	for _, field := range c.Value {
		name, value, found := strings.Cut(field, "=")
		if !found || !jsontext.Value(value).IsValid() {
			return nil, usagef("%q is no NAME=JSON", field)
		}
		members[name] = jsontext.Value(value)
	}
	return json.Marshal(members, json.Deterministic(true))
}
