package client

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// Download is the beginning of an answer whose body is read by the caller, who closes it.
type Download struct {
	Header http.Header
	// Size is the size of the body, -1 if the server has not said it.
	Size int64
	Body io.ReadCloser
}

// Download sends a request that reads, and returns its answer before its body has arrived. It is
// for answers that are too large for Do. A body that ends too early is an *UnreachableError of
// Read.
//
// Errors: those of Do.
func (c *Client) Download(ctx context.Context, request *Request) (*Download, error) {
	var response *http.Response
	from := ""
	err := c.repeated(ctx, request, func(next target) error {
		from = next.to
		return c.withCredential(ctx, func(credential string) (err error) {
			response, err = c.send(ctx, next, request, credential)
			if err == nil && response.StatusCode >= http.StatusMultipleChoices {
				err = readFailure(ctx, next.to, response)
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return &Download{
		Header: response.Header, Size: response.ContentLength,
		Body: &downloadBody{ReadCloser: response.Body, ctx: ctx, from: from},
	}, nil
}

// readFailure reads an answer of an address that is not one of success.
func readFailure(ctx context.Context, from string, response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, eventBytesMax))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return unreachable(ctx, from, err)
	}
	return failureOf(&Answer{Status: response.StatusCode, Header: response.Header, Body: body})
}

// downloadBody names the server in the errors of reading.
type downloadBody struct {
	io.ReadCloser
	ctx context.Context
	// from is the address.
	from string
}

// Read implements io.Reader.
func (b *downloadBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		err = unreachable(b.ctx, b.from, err)
	}
	return n, err
}
