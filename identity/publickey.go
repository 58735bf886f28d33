package identity

import (
	"math/big"
	"slices"

	"pws/internal/fault"
)

// Algorithm is the only supported signature algorithm.
const Algorithm = "Ed25519"

// The field and curve of Ed25519 (RFC 8032, 5.1): -x² + y² = 1 + d·x²·y² modulo p.
var (
	fieldPrime = decimal(
		"57896044618658097711785492504343953926634992332820282019728792003956564819949")
	curveD = decimal(
		"37095705934669439343138083508754565189542113879843219016388785533085940283555")
	bigOne = big.NewInt(1)
	// orderEightY is the y coordinate of the four points of order eight, up to its sign: a root
	// of d·y⁴ + 2·y² = 1.
	orderEightY = decimal(
		"2707385501144840649318225287225658788936804267575313519463743609750303402022")
)

func decimal(text string) *big.Int {
	value, ok := new(big.Int).SetString(text, 10)
	if !ok {
		panic("identity: not a number: " + text)
	}
	return value
}

// parsePublicKey decodes a raw key and appends the errors of its text.
func parsePublicKey(
	fields []fault.Field, text, algorithm string,
) ([32]byte, []fault.Field) {
	var key [32]byte
	problem := ""
	if !decodeBase64(key[:], text) {
		problem = "must be a raw 32-byte key in unpadded base64url, 43 characters"
	} else {
		problem = pointProblem(key)
	}
	if problem != "" {
		fields = append(fields, fault.Field{Field: "public_key", Problem: problem})
	}
	if algorithm != Algorithm {
		fields = append(fields, fault.Field{Field: "algorithm", Problem: "must be " + Algorithm})
	}
	return key, fields
}

// pointProblem rejects keys that are not the canonical encoding of a point of the curve, and the
// eight points of small order, for which one signature is valid for many messages.
func pointProblem(key [32]byte) string {
	raw := key
	raw[31] &= 0x7f
	slices.Reverse(raw[:])
	y := new(big.Int).SetBytes(raw[:])
	if y.Cmp(fieldPrime) >= 0 {
		return "must be a canonical Ed25519 point"
	}
	negated := new(big.Int).Sub(fieldPrime, y)
	for _, small := range []*big.Int{new(big.Int), bigOne, orderEightY} {
		if y.Cmp(small) == 0 || negated.Cmp(small) == 0 {
			return "must not be a point of small order"
		}
	}
	// x² = (y²-1) / (d·y²+1) has a root exactly if the product of numerator and denominator has
	// one.
	square := new(big.Int).Mul(y, y)
	square.Mod(square, fieldPrime)
	numerator := new(big.Int).Sub(square, bigOne)
	denominator := new(big.Int).Mul(square, curveD)
	denominator.Add(denominator, bigOne)
	product := numerator.Mul(numerator, denominator)
	if big.Jacobi(product.Mod(product, fieldPrime), fieldPrime) != 1 {
		return "must be a point of the Ed25519 curve"
	}
	return ""
}
