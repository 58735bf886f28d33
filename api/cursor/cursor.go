// Package cursor makes the opaque cursors of lists: a payload that only this service can have
// written, for one list with one set of filters, and that only this service can read. Two cursors
// with the same payload look unrelated, so a cursor does not reveal how many entries of a list the
// caller may not see.
//
// The text is unpadded base64url of
//
//	version 1 byte | nonce 16 bytes | payload 0..1280 bytes | tag 16 bytes
//
// The nonce is random, and the first counter of AES-128-CTR, by which the payload is encrypted. The
// tag is HMAC-SHA-256, cut to 16 bytes, over version, length of the binding, binding, nonce and the
// encrypted payload. The binding names route, path parameters and filters; it is not in the text.
// Base64 is read strictly, so that a text is either a cursor as it was issued or none.
//
// The version says how the payload is to be read, too, and the tag covers it. A list that orders
// its entries in another way, such as the events of a log of several parts, needs a version of its
// own beside this one; cursors of version 2 are read for ever.
package cursor

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"strings"
	"sync"

	"pws/internal/fault"
)

const (
	version  = 2
	nonceLen = aes.BlockSize
	tagLen   = 16
	// headLen is the length of all in front of the payload.
	headLen = 1 + nonceLen
	// PayloadMax bounds what a cursor can carry, in bytes.
	PayloadMax = 1280
)

var encoding = base64.RawURLEncoding.Strict()

// Codec makes and reads cursors under one secret. It is safe for concurrent use.
type Codec struct {
	macs  sync.Pool
	block cipher.Block
}

// New makes a codec. The keys are derived from the secret, which may serve other purposes too.
func New(secret []byte) *Codec {
	derive := func(purpose string) []byte {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(purpose))
		return mac.Sum(nil)
	}
	key := derive("pws cursor key 1")
	block, err := aes.NewCipher(derive("pws cursor cipher 1")[:16])
	if err != nil {
		panic(err)
	}
	return &Codec{
		macs:  sync.Pool{New: func() any { return hmac.New(sha256.New, key) }},
		block: block,
	}
}

// Encode makes the cursor of a payload for a binding. A payload above PayloadMax is a bug and
// panics.
func (c *Codec) Encode(binding string, payload []byte) string {
	if len(payload) > PayloadMax {
		panic("cursor: payload too large")
	}
	raw := make([]byte, headLen+len(payload), headLen+len(payload)+sha256.Size)
	raw[0] = version
	rand.Read(raw[1:headLen])
	c.crypt(raw[headLen:], payload, raw[1:headLen])
	raw = c.appendTag(raw, binding)
	return encoding.EncodeToString(raw)
}

// crypt encrypts, or decrypts, with the key stream of a nonce.
func (c *Codec) crypt(to, from, nonce []byte) {
	cipher.NewCTR(c.block, nonce).XORKeyStream(to, from)
}

// appendTag writes the tag of version, nonce and encrypted payload behind them.
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
	raw, err := decode(text)
	if err != nil {
		return nil, err
	}
	signed := len(raw) - tagLen
	var room [headLen + PayloadMax + sha256.Size]byte
	want := c.appendTag(append(room[:0], raw[:signed]...), binding)
	if !hmac.Equal(want[signed:], raw[signed:]) {
		return nil, invalid()
	}
	payload := raw[headLen:signed:signed]
	c.crypt(payload, payload, raw[1:headLen])
	return payload, nil
}

// Check refuses a text that is no cursor of any binding. Errors: PAGINATION_CURSOR_INVALID.
func Check(text string) error {
	_, err := decode(text)
	return err
}

// decode is what a cursor consists of, its tag unchecked. Errors: PAGINATION_CURSOR_INVALID.
func decode(text string) ([]byte, error) {
	if len(text) > encoding.EncodedLen(headLen+PayloadMax+tagLen) ||
		strings.ContainsAny(text, "\r\n") {
		return nil, invalid()
	}
	raw, err := encoding.DecodeString(text)
	if err != nil || len(raw) < headLen+tagLen || raw[0] != version {
		return nil, invalid()
	}
	return raw, nil
}

func invalid() error {
	return fault.New(fault.PaginationCursorInvalid,
		"The cursor was not issued by this service for this list and these filters.").
		With("reason", "not issued for this list")
}
