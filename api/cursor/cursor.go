// Package cursor makes the opaque cursors of lists: a payload that only this service can have
// written, for one list with one set of filters.
//
// The text is unpadded base64url of
//
//	version 1 byte | payload 0..512 bytes | tag 16 bytes
//
// The tag is HMAC-SHA-256, cut to 16 bytes, over version, length of the binding, binding and
// payload. The binding names route, path parameters and filters; it is not in the text. Base64 is
// read strictly, so that one cursor has one text.
package cursor

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"strings"
	"sync"

	"pws/internal/fault"
)

const (
	version = 1
	tagLen  = 16
	// PayloadMax bounds what a cursor can carry, in bytes.
	PayloadMax = 512
)

var encoding = base64.RawURLEncoding.Strict()

// Codec makes and reads cursors under one secret. It is safe for concurrent use.
type Codec struct {
	macs sync.Pool
}

// New makes a codec. The key is derived from the secret, which may serve other purposes too.
func New(secret []byte) *Codec {
	derive := hmac.New(sha256.New, secret)
	derive.Write([]byte("pws cursor key 1"))
	key := derive.Sum(nil)
	return &Codec{macs: sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

// Encode makes the cursor of a payload for a binding. A payload above PayloadMax is a bug and
// panics.
func (c *Codec) Encode(binding string, payload []byte) string {
	if len(payload) > PayloadMax {
		panic("cursor: payload too large")
	}
	raw := make([]byte, 0, 1+PayloadMax+sha256.Size)
	raw = append(append(raw, version), payload...)
	raw = c.appendTag(raw, binding)
	return encoding.EncodeToString(raw)
}

// appendTag writes the tag of version and payload behind them.
func (c *Codec) appendTag(raw []byte, binding string) []byte {
	mac, ok := c.macs.Get().(hash.Hash)
	if !ok {
		panic("cursor: foreign value in the pool")
	}
	mac.Reset()
	var head [9]byte
	head[0] = raw[0]
	binary.BigEndian.PutUint64(head[1:], uint64(len(binding)))
	mac.Write(head[:])
	mac.Write([]byte(binding))
	mac.Write(raw[1:])
	var sum [sha256.Size]byte
	tag := mac.Sum(sum[:0])
	c.macs.Put(mac)
	return append(raw, tag[:tagLen]...)
}

// Decode is the payload of a cursor that Encode made for this binding. Errors:
// PAGINATION_CURSOR_INVALID.
func (c *Codec) Decode(binding, text string) ([]byte, error) {
	if len(text) > encoding.EncodedLen(1+PayloadMax+tagLen) || strings.ContainsAny(text, "\r\n") {
		return nil, invalid()
	}
	raw, err := encoding.DecodeString(text)
	if err != nil || len(raw) < 1+tagLen || raw[0] != version {
		return nil, invalid()
	}
	signed := len(raw) - tagLen
	var room [1 + PayloadMax + tagLen]byte
	want := c.appendTag(append(room[:0], raw[:signed]...), binding)
	if !hmac.Equal(want[signed:], raw[signed:]) {
		return nil, invalid()
	}
	return raw[1:signed:signed], nil
}

func invalid() error {
	return fault.New(fault.PaginationCursorInvalid,
		"The cursor was not issued by this service for this list and these filters.").
		With("reason", "not issued for this list")
}
