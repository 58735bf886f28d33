package api

import (
	"encoding/hex"

	"pws/work"
)

func hexHash(hash work.Hash) string { return hex.EncodeToString(hash[:]) }

// parseHash parses a blob hash in its wire form: 64 lower-case hexadecimal digits.
func parseHash(text string) (work.Hash, bool) {
	var hash work.Hash
	if len(text) != 2*len(hash) {
		return hash, false
	}
	for i := range len(text) {
		if c := text[i]; c >= 'A' && c <= 'F' {
			return hash, false
		}
	}
	_, err := hex.Decode(hash[:], []byte(text))
	return hash, err == nil
}
