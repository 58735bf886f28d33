package api

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"pws/internal/id"
)

// IdempotencyKeyMax is the largest Idempotency-Key in bytes.
const IdempotencyKeyMax = 255

// creationScope is the scope of all operations that create a project.
const creationScope = "creation"

// ValidIdempotencyKey reports whether a key is 1 to 255 visible ASCII characters.
func ValidIdempotencyKey[Text string | []byte](key Text) bool {
	if len(key) == 0 || len(key) > IdempotencyKeyMax {
		return false
	}
	for i := range len(key) {
		if c := key[i]; c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

// KeyedRequest is a request with an Idempotency-Key.
type KeyedRequest struct {
	Operation *Operation
	Agent     id.ID
	// Project is the path parameter, empty if the operation has none.
	Project string
	Key     []byte
	// Path, Query and Body are those of the request, as sent.
	Path, Query string
	Body        []byte
	// MergePatch says that the body is a merge patch: another request than the same body without.
	MergePatch bool
	// Scratch is memory that may be used.
	Scratch []byte
}

// Hash returns the hashes of the key. They outlive the request, because the engine stores them.
func (r *KeyedRequest) Hash() *IdempotencyKey {
	return &IdempotencyKey{Hash: r.keyHash(), Fingerprint: r.fingerprint()}
}

// keyHash covers the agent, the scope of the operation, its project, and the key. Operations that
// create a project share one scope without a project, so that a repeat finds the project that the
// first request created.
func (r *KeyedRequest) keyHash() [16]byte {
	scope, project := r.Operation.Name, r.Project
	if r.Operation.Category == CategoryCreation {
		scope, project = creationScope, ""
	}
	var d digest
	d.start("key")
	d.part(r.Agent[:])
	d.text(scope)
	d.text(project)
	d.part(r.Key)
	return d.sum()
}

// fingerprint covers what makes two requests equal: method, path, sorted query, and the body in its
// canonical form (RFC 8785), and whether it is a merge patch.
func (r *KeyedRequest) fingerprint() [16]byte {
	var d digest
	d.start("request")
	d.text(r.Operation.Method)
	d.text(r.Path)
	pairs := strings.Split(r.Query, "&")
	slices.Sort(pairs)
	d.text(strings.Join(pairs, "&"))
	r.Scratch = append(r.Scratch[:0], r.Body...)
	canonical := jsontext.Value(r.Scratch)
	if len(canonical) == 0 {
		// An absent body equals an empty object.
		canonical = append(canonical, "{}"...)
	}
	if err := canonical.Canonicalize(); err != nil {
		canonical = r.Body
	}
	d.part(canonical)
	if r.MergePatch {
		d.text(MergePatchType)
	}
	return d.sum()
}

// digest hashes parts with their lengths, so that different lists of parts have different input.
type digest struct{ hash hash.Hash }

var digests = sync.Pool{New: func() any { return sha256.New() }}

func (d *digest) start(purpose string) {
	pooled, ok := digests.Get().(hash.Hash)
	if !ok {
		panic("api: foreign value in the pool")
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
