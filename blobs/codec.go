package blobs

import (
	"crypto/sha256"
	"encoding/hex"
)

// Hash is the SHA-256 of a blob's content.
type Hash [sha256.Size]byte

// Sum is the hash of content.
func Sum(content []byte) Hash { return sha256.Sum256(content) }

// String is the lower-case hexadecimal form.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }
