package http

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"pws/api"
	"pws/internal/fault"
)

// keyMax is the largest Idempotency-Key in bytes.
const keyMax = 255

// creationScope is the scope of all operations that create a project.
const creationScope = "creation"

// checkKey checks the Idempotency-Key if the operation supports one. Errors:
// IDEMPOTENCY_KEY_REQUIRED, IDEMPOTENCY_KEY_INVALID.
func (in *input) checkKey(op *api.Operation) error {
	if op.Idempotency == api.NoKey {
		return nil
	}
	if in.keys == 0 {
		if op.Idempotency == api.KeyRequired {
			return fault.New(fault.IdempotencyKeyRequired,
				"The operation needs the header Idempotency-Key.").
				With("header", "Idempotency-Key")
		}
		return nil
	}
	if in.keys > 1 || !validKey(in.key) {
		return fault.New(fault.IdempotencyKeyInvalid,
			"An Idempotency-Key is 1 to 255 visible ASCII characters, sent once.").
			With("header", "Idempotency-Key").With("max_bytes", keyMax)
	}
	return nil
}

// hasKey reports whether the input has a key that its operation takes.
func (in *input) hasKey(op *api.Operation) bool {
	return op.Idempotency != api.NoKey && in.keys > 0
}

// idempotencyKey returns the hashes of the key of a valid input, nil if there is none. It
// outlives the exchange, because the engine stores it.
func (x *exchange) idempotencyKey(found *route, in *input) *api.IdempotencyKey {
	if !in.hasKey(found.operation) {
		return nil
	}
	return &api.IdempotencyKey{
		Hash: x.keyHash(found, in.key), Fingerprint: x.fingerprint(found.operation.Method, in),
	}
}

func validKey(key []byte) bool {
	if len(key) == 0 || len(key) > keyMax {
		return false
	}
	for _, c := range key {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

// keyHash covers the agent, the scope of the operation, its project, and the key. Operations that
// create a project share one scope without a project, so that a repeat finds the project that the
// first request created.
func (x *exchange) keyHash(found *route, key []byte) [16]byte {
	scope, project := found.operation.Name, ""
	if found.operation.Category == api.CategoryCreation {
		scope = creationScope
	} else if found.project >= 0 {
		project = x.call.Params[found.project]
	}
	var d digest
	d.start("key")
	d.part(x.call.Agent[:])
	d.text(scope)
	d.text(project)
	d.part(key)
	return d.sum()
}

// fingerprint covers what makes two requests equal: method, path, sorted query, and the body in its
// canonical form (RFC 8785).
func (x *exchange) fingerprint(method string, in *input) [16]byte {
	var d digest
	d.start("request")
	d.text(method)
	d.text(in.path)
	pairs := strings.Split(in.query, "&")
	slices.Sort(pairs)
	d.text(strings.Join(pairs, "&"))
	x.scratch = append(x.scratch[:0], in.body...)
	canonical := jsontext.Value(x.scratch)
	if len(canonical) == 0 {
		// An absent body equals an empty object.
		canonical = append(canonical, "{}"...)
	}
	if err := canonical.Canonicalize(); err != nil {
		canonical = in.body
	}
	d.part(canonical)
	return d.sum()
}

// digest hashes parts with their lengths, so that different lists of parts have different input.
type digest struct{ hash hash.Hash }

var digests = sync.Pool{New: func() any { return sha256.New() }}

func (d *digest) start(purpose string) {
	pooled, ok := digests.Get().(hash.Hash)
	if !ok {
		panic("http: foreign value in the pool")
	}
	d.hash = pooled
	d.hash.Reset()
	d.text("pws idempotency 1 " + purpose)
}

func (d *digest) part(part []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(part)))
	d.hash.Write(length[:])
	d.hash.Write(part)
}

func (d *digest) text(part string) { d.part([]byte(part)) }

func (d *digest) sum() [16]byte {
	var whole [sha256.Size]byte
	d.hash.Sum(whole[:0])
	digests.Put(d.hash)
	return [16]byte(whole[:16])
}
