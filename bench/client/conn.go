package client

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"
)

// bufferBytes is the initial size of a connection's buffer, which grows with the responses.
const bufferBytes = 16 << 10

// responseBytesMax bounds the size of one response.
const responseBytesMax = 256 << 20

// Conn is one keep-alive connection that carries one request at a time. It is not safe for
// concurrent use. After an error it is closed and cannot be used.
type Conn struct {
	net net.Conn
	buf []byte
}

// Response is the answer to one request. Head and Body are valid until the next exchange.
type Response struct {
	Status int
	Head   []byte
	Body   []byte
	// Close means that the server closes the connection after this response.
	Close bool
}

// Dial connects to host:port.
func Dial(address string) (*Conn, error) { return DialFrom("", address) }

// DialFrom is Dial from a local IP address; the system chooses one if it is empty.
func DialFrom(local, address string) (*Conn, error) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	if local != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(local)}
	}
	conn, err := dialer.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &Conn{net: conn, buf: make([]byte, bufferBytes)}, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.net.Close() }

// Deadline bounds all further I/O on the connection. It is set once for many exchanges, because
// setting it costs a large part of an exchange.
func (c *Conn) Deadline(at time.Time) error { return c.net.SetDeadline(at) }

// Exchange writes the bytes of one request and reads its response.
func (c *Conn) Exchange(request []byte) (Response, error) {
	if err := c.Send(request); err != nil {
		return Response{}, err
	}
	return c.Receive()
}

// sendBytes is how much of a request is sent at one time. The kernel does not interrupt one large
// write for other processes.
const sendBytes = 64 << 10

// Send writes the bytes of one request.
func (c *Conn) Send(request []byte) error {
	for part := range slices.Chunk(request, sendBytes) {
		if _, err := c.net.Write(part); err != nil {
			c.net.Close()
			return fmt.Errorf("write request: %w", err)
		}
	}
	return nil
}

// Receive reads the response to the last request.
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
	for have := 0; ; {
		if have == len(c.buf) {
			c.buf = append(c.buf, make([]byte, len(c.buf))...)
		}
		n, err := c.net.Read(c.buf[have:])
		if err != nil {
			return Response{}, err
		}
		have += n
		response, complete, err := Parse(c.buf[:have])
		if err != nil || complete {
			return response, err
		}
	}
}

// Parse reads one response from the bytes received so far and reports whether it is complete.
// Nothing may follow it, because the next request has not been sent. Head and Body are slices of
// the bytes; a chunked body is joined in place.
func Parse(have []byte) (Response, bool, error) {
	if len(have) > responseBytesMax {
		return Response{}, false, fmt.Errorf("%w: larger than %d bytes", errMalformed,
			responseBytesMax)
	}
	end := bytes.Index(have, []byte("\r\n\r\n"))
	if end < 0 {
		return Response{}, false, nil
	}
	rest := have[end+4:]
	response := Response{Head: have[:end+4]}
	framing, err := response.parseHead()
	if err != nil {
		return Response{}, false, err
	}
	switch {
	case framing.chunked:
		complete := false
		response.Body, complete, err = joinChunks(rest)
		return response, complete, err
	case len(rest) > framing.length:
		return Response{}, false, fmt.Errorf("%w: %d bytes after the body", errMalformed,
			len(rest)-framing.length)
	}
	response.Body = rest
	return response, len(rest) == framing.length, nil
}

// joinChunks joins the chunks of a complete body at the place of the first. An incomplete body is
// left unchanged. Trailers are dropped.
func joinChunks(text []byte) ([]byte, bool, error) {
	// The first pass only checks whether the body is complete, the second one moves the chunks.
	for _, move := range []bool{false, true} {
		at, length := 0, 0
		for {
			line, found := lineAt(text, at)
			if !found {
				return nil, false, nil
			}
			digits, _, _ := bytes.Cut(line, []byte(";"))
			size, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 28)
			if err != nil {
				return nil, false, fmt.Errorf("%w: chunk size %q", errMalformed, digits)
			}
			at += len(line) + 2
			if size == 0 {
				break
			}
			if at+int(size)+2 > len(text) {
				return nil, false, nil
			}
			if move {
				copy(text[length:], text[at:at+int(size)])
			}
			length += int(size)
			at += int(size) + 2
		}
		for {
			line, found := lineAt(text, at)
			if !found {
				return nil, false, nil
			}
			at += len(line) + 2
			if len(line) == 0 {
				break
			}
		}
		if move {
			return text[:length], true, nil
		}
	}
	return nil, false, nil
}

func lineAt(text []byte, at int) ([]byte, bool) {
	end := bytes.Index(text[at:], []byte("\r\n"))
	if end < 0 {
		return nil, false
	}
	return text[at : at+end], true
}

// framing is how the end of a body is found.
type framing struct {
	length  int
	chunked bool
}

// parseHead reads the status line and the headers that frame the body.
func (r *Response) parseHead() (framing, error) {
	raw := r.Head
	if len(raw) < len("HTTP/1.1 200 \r\n") || !bytes.HasPrefix(raw, []byte("HTTP/1.")) {
		return framing{}, fmt.Errorf("%w: %.40q", errMalformed, raw)
	}
	status, err := strconv.Atoi(string(raw[9:12]))
	if err != nil {
		return framing{}, fmt.Errorf("%w: status %q", errMalformed, raw[9:12])
	}
	r.Status = status
	var out framing
	rest := raw[bytes.IndexByte(raw, '\n')+1:]
	for len(rest) > 2 {
		end := bytes.IndexByte(rest, '\n')
		line := bytes.TrimRight(rest[:end], "\r")
		rest = rest[end+1:]
		colon := bytes.IndexByte(line, ':')
		if colon < len("connection") {
			continue
		}
		name, value := line[:colon], bytes.TrimSpace(line[colon+1:])
		switch {
		case foldEqual(name, "content-length"):
			if out.length, err = strconv.Atoi(string(value)); err != nil || out.length < 0 {
				return framing{}, fmt.Errorf("%w: %q", errMalformed, line)
			}
		case foldEqual(name, "transfer-encoding"):
			out.chunked = true
		case foldEqual(name, "connection"):
			r.Close = foldEqual(value, "close")
		}
	}
	return out, nil
}

// foldEqual compares without regard to case; lower must be in lower case.
func foldEqual(text []byte, lower string) bool {
	if len(text) != len(lower) {
		return false
	}
	for i := range text {
		if text[i]|0x20 != lower[i]|0x20 {
			return false
		}
	}
	return true
}

// Header returns a header of the response, empty if it is absent. The name is in lower case.
func (r Response) Header(name string) string {
	for line := range bytes.SplitSeq(r.Head, []byte("\r\n")) {
		key, value, found := bytes.Cut(line, []byte(":"))
		if found && foldEqual(key, name) {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}
