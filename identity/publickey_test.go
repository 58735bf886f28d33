package identity

import (
	"crypto/ed25519"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestOrderEightIsARoot(t *testing.T) {
	square := new(big.Int).Exp(orderEightY, big.NewInt(2), fieldPrime)
	sum := new(big.Int).Mul(curveD, new(big.Int).Mul(square, square))
	sum.Add(sum, new(big.Int).Add(square, square))
	if sum.Mod(sum, fieldPrime).Cmp(bigOne) != 0 {
		t.Fatalf("d·y⁴ + 2·y² = %v, want 1", sum)
	}
}

func TestEveryGeneratedKeyIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed")
		key := rawPublic(ed25519.NewKeyFromSeed(seed))
		if problem := pointProblem(key); problem != "" {
			t.Fatalf("%x %s", key, problem)
		}
	})
}

func TestInvalidPointsAreRejected(t *testing.T) {
	const curve, order = "must be a point of the Ed25519 curve",
		"must not be a point of small order"
	const canonical = "must be a canonical Ed25519 point"
	shifted := func(value *big.Int, add int64) *big.Int {
		return new(big.Int).Add(value, big.NewInt(add))
	}
	for _, c := range []struct {
		name string
		y    *big.Int
		want string
	}{
		{"zero", new(big.Int), order},
		{"one", bigOne, order},
		{"minus one", shifted(fieldPrime, -1), order},
		{"order eight", orderEightY, order},
		{"minus order eight", new(big.Int).Sub(fieldPrime, orderEightY), order},
		{"p", fieldPrime, canonical},
		{"p+1", shifted(fieldPrime, 1), canonical},
		{"all bits", shifted(fieldPrime, 18), canonical},
		{"off the curve", big.NewInt(2), curve},
		{"on the curve", big.NewInt(3), ""},
	} {
		var key [32]byte
		c.y.FillBytes(key[:])
		for i := range 16 {
			key[i], key[31-i] = key[31-i], key[i]
		}
		for _, sign := range []byte{0, 0x80} {
			key[31] = key[31]&0x7f | sign
			if got := pointProblem(key); got != c.want {
				t.Errorf("%s, sign %x: %q, want %q", c.name, sign, got, c.want)
			}
		}
	}
}
