package main

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// seedOf is the seed of a random test: a new one, or that of PWS_SEED.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("PWS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("PWS_SEED=%d", seed)
	return seed
}
