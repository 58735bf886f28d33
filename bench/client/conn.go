package client

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// bufferBytes is where the buffer of a connection starts; it grows with the responses.
const bufferBytes = 16 << 10

// responseBytesMax bounds what is read of one response.
const responseBytesMax = 256 << 20

// Conn is one keep-alive connection on which requests are sent one after the other. It is not safe
// for concurrent use. After an error it is closed and of no more use.
type Conn struct {
	net net.Conn
	buf []byte
	// body collects a chunked response.
	body []byte
}

// Response is the answer to one request. Head and Body are valid until the next exchange.
type Response struct {
	Status int
	Head   []byte
	Body   []byte
	// Close says that the server closes the connection behind this response.
	Close bool
}

// Dial connects to host:port.
func Dial(address string) (*Conn, error) {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &Conn{net: conn, buf: make([]byte, bufferBytes)}, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.net.Close() }

// Deadline bounds everything that is still to happen on the connection. It is set once for many
// exchanges, because setting it costs as much as a good part of an exchange.
func (c *Conn) Deadline(at time.Time) error { return c.net.SetDeadline(at) }

// Exchange writes the bytes of one request and reads its response.
func (c *Conn) Exchange(request []byte) (Response, error) {
	if err := c.Send(request); err != nil {
		return Response{}, err
	}
	return c.Receive()
}

// Send writes the bytes of one request.
func (c *Conn) Send(request []byte) error {
	if _, err := c.net.Write(request); err != nil {
		c.net.Close()
		return fmt.Errorf("write request: %w", err)
	}
	return nil
}

// Receive reads the response to the request that was sent.
func (c *Conn) Receive() (Response, error) {
	response, err := c.receive()
	if err != nil {
		c.net.Close()
		return Response{}, fmt.Errorf("read response: %w", err)
	}
	return response, nil
}

var errMalformed = errors.New("malformed response")

func (c *Conn) receive() (Response, error) {
	have, headEnd := 0, -1
	for headEnd < 0 {
		n, err := c.fill(have)
		if err != nil {
			return Response{}, err
		}
		// The blank line may straddle two reads.
		from := max(0, have-3)
		have += n
		if at := bytes.Index(c.buf[from:have], []byte("\r\n\r\n")); at >= 0 {
			headEnd = from + at + 4
		}
	}
	head, err := parseHead(c.buf[:headEnd])
	if err != nil {
		return Response{}, err
	}
	if head.chunked {
		return c.receiveChunked(head, headEnd, have)
	}
	end := headEnd + head.length
	if have > end {
		return Response{}, fmt.Errorf("%w: %d bytes behind the body", errMalformed, have-end)
	}
	for have < end {
		n, err := c.fill(have)
		if err != nil {
			return Response{}, err
		}
		have += n
	}
	return Response{
		Status: head.status, Head: c.buf[:headEnd], Body: c.buf[headEnd:end], Close: head.close,
	}, nil
}

// fill reads behind the bytes that are there, and makes room for them first.
func (c *Conn) fill(have int) (int, error) {
	if have > responseBytesMax {
		return 0, fmt.Errorf("%w: larger than %d bytes", errMalformed, responseBytesMax)
	}
	if have == len(c.buf) {
		c.buf = append(c.buf, make([]byte, len(c.buf))...)
	}
	return c.net.Read(c.buf[have:])
}

// receiveChunked reads a body in the chunked coding; trailers are read and dropped.
func (c *Conn) receiveChunked(head head, at, have int) (Response, error) {
	c.body = c.body[:0]
	need := func(until int) error {
		for have < until {
			n, err := c.fill(have)
			if err != nil {
				return err
			}
			have += n
		}
		return nil
	}
	line := func() ([]byte, error) {
		for {
			if end := bytes.Index(c.buf[at:have], []byte("\r\n")); end >= 0 {
				text := c.buf[at : at+end]
				at += end + 2
				return text, nil
			}
			if err := need(have + 1); err != nil {
				return nil, err
			}
		}
	}
	for {
		text, err := line()
		if err != nil {
			return Response{}, err
		}
		text, _, _ = bytes.Cut(text, []byte(";"))
		size, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 16, 28)
		if err != nil {
			return Response{}, fmt.Errorf("%w: chunk size %q", errMalformed, text)
		}
		if size == 0 {
			break
		}
		if err := need(at + int(size) + 2); err != nil {
			return Response{}, err
		}
		c.body = append(c.body, c.buf[at:at+int(size)]...)
		at += int(size) + 2
	}
	for {
		text, err := line()
		if err != nil {
			return Response{}, err
		}
		if len(text) == 0 {
			return Response{
				Status: head.status, Head: head.raw, Body: c.body, Close: head.close,
			}, nil
		}
	}
}

type head struct {
	raw     []byte
	status  int
	length  int
	chunked bool
	close   bool
}

// parseHead reads the status line and the fields that frame the body.
func parseHead(raw []byte) (head, error) {
	if len(raw) < len("HTTP/1.1 200 \r\n") || !bytes.HasPrefix(raw, []byte("HTTP/1.")) {
		return head{}, fmt.Errorf("%w: %.40q", errMalformed, raw)
	}
	status, err := strconv.Atoi(string(raw[9:12]))
	if err != nil {
		return head{}, fmt.Errorf("%w: status %q", errMalformed, raw[9:12])
	}
	out := head{raw: raw, status: status}
	rest := raw[bytes.IndexByte(raw, '\n')+1:]
	for len(rest) > 2 {
		end := bytes.IndexByte(rest, '\n')
		line := bytes.TrimRight(rest[:end], "\r")
		rest = rest[end+1:]
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case foldEqual(name, "content-length"):
			if out.length, err = strconv.Atoi(string(value)); err != nil || out.length < 0 {
				return head{}, fmt.Errorf("%w: %q", errMalformed, line)
			}
		case foldEqual(name, "transfer-encoding"):
			out.chunked = true
		case foldEqual(name, "connection"):
			out.close = foldEqual(value, "close")
		}
	}
	return out, nil
}

// foldEqual compares without regard to case; lower is in lower case already.
func foldEqual(text []byte, lower string) bool {
	if len(text) != len(lower) {
		return false
	}
	for at := range text {
		if text[at]|0x20 != lower[at]|0x20 {
			return false
		}
	}
	return true
}

// Header finds a header of the response, empty where it is absent. Name is in lower case.
func (r Response) Header(name string) string {
	for line := range bytes.SplitSeq(r.Head, []byte("\r\n")) {
		key, value, found := bytes.Cut(line, []byte(":"))
		if found && foldEqual(key, name) {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}
