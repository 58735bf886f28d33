package client

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Request is one call. Empty fields are not sent.
type Request struct {
	Method         string
	Path           string
	Host           string
	Credential     string
	IdempotencyKey string
	// Lines are additional header lines, each a name, a colon and a value.
	Lines []string
	Body  []byte
	// Sent is called AFTER the request has been sent and BEFORE its response is read.
	Sent func()
}

// Append appends the bytes of the request.
func (r *Request) Append(dst []byte) []byte {
	dst = append(dst, r.Method...)
	dst = append(dst, ' ')
	dst = append(dst, r.Path...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, r.Host...)
	if r.Credential != "" {
		dst = append(dst, "\r\nAuthorization: Bearer "...)
		dst = append(dst, r.Credential...)
	}
	if r.IdempotencyKey != "" {
		dst = append(dst, "\r\nIdempotency-Key: "...)
		dst = append(dst, r.IdempotencyKey...)
	}
	for _, line := range r.Lines {
		dst = append(dst, "\r\n"...)
		dst = append(dst, line...)
	}
	if r.Body != nil {
		dst = append(dst, "\r\nContent-Type: application/json\r\nContent-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(r.Body)), 10)
	}
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, r.Body...)
}

// EscapePath percent-encodes each segment of a file path and leaves the slashes.
func EscapePath(path string) string {
	const hex = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(path) {
		b := path[i]
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9',
			strings.IndexByte("-._~/", b) >= 0:
			out.WriteByte(b)
		default:
			out.WriteByte('%')
			out.WriteByte(hex[b>>4])
			out.WriteByte(hex[b&15])
		}
	}
	return out.String()
}

// EncodeJSON encodes without escaping the characters that matter only in HTML.
func EncodeJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
