package actors

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"pws/index/feed"
	"pws/internal/id"
)

// eventIDs makes the public IDs of activities. An ID leads back to the time and the position that
// it was made of, and does not reveal how much has happened in between: the time is followed by 80
// bits that are a permutation of
//
//	position of the entry 48 bits | number in the entry 16 bits | partition 8 bits | zero 8 bits
//
// under a key that comes from the server's secret. The permutation is a Feistel network of four
// rounds, with AES as the round function and the time as a tweak: another time is another
// permutation. The zeros identify IDs made here. The partition is reserved for logs of several
// parts, each with positions of its own. Now there is one, number 0.
type eventIDs struct {
	block cipher.Block
}

// newEventIDs derives the key from a secret, which may serve other purposes too.
func newEventIDs(secret []byte) eventIDs {
	derive := hmac.New(sha256.New, secret)
	derive.Write([]byte("pws event id key 1"))
	block, err := aes.NewCipher(derive.Sum(nil)[:16])
	if err != nil {
		panic(err)
	}
	return eventIDs{block: block}
}

// eventIDPartitions is how many parts the log has.
const eventIDPartitions = 1

// eventIDRounds is even, and eventIDHalf is the width of each side of the network.
const (
	eventIDRounds   = 4
	eventIDHalf     = 40
	eventIDHalfMask = 1<<eventIDHalf - 1
)

// make is the ID of an activity of an entry of that time, in Unix milliseconds.
func (ids eventIDs) make(at feed.Position, millis int64) id.ID {
	left := at.Entry >> 8 & eventIDHalfMask
	return ids.seal(left, at.Entry&0xff<<32|uint64(at.Nth)<<16, millis)
}

// seal permutes the two sides of an ID.
func (ids eventIDs) seal(left, right uint64, millis int64) id.ID {
	out := id.New(millis, [10]byte{})
	for round := range eventIDRounds {
		left, right = right, left^ids.round(&out, round, right)
	}
	putUint40(out[6:], left)
	putUint40(out[11:], right)
	return out
}

// read is the opposite of make; ok is false for what it has not made.
func (ids eventIDs) read(evt id.ID) (at feed.Position, millis int64, ok bool) {
	left, right := uint40(evt[6:]), uint40(evt[11:])
	for round := eventIDRounds - 1; round >= 0; round-- {
		left, right = right^ids.round(&evt, round, left), left
	}
	if partition, zeros := right>>8&0xff, right&0xff; partition >= eventIDPartitions || zeros != 0 {
		return feed.Position{}, 0, false
	}
	at = feed.Position{Entry: left<<8 | right>>32, Nth: uint16(right >> 16)}
	return at, evt.Millis(), true
}

// round is 40 bits of the AES of time, number of the round and one side.
func (ids eventIDs) round(of *id.ID, round int, side uint64) uint64 {
	var in, out [aes.BlockSize]byte
	copy(in[:6], of[:6])
	in[6] = byte(round)
	putUint40(in[11:], side)
	ids.block.Encrypt(out[:], in[:])
	return uint40(out[:])
}

func putUint40(to []byte, value uint64) {
	to[0] = byte(value >> 32)
	binary.BigEndian.PutUint32(to[1:], uint32(value))
}

func uint40(from []byte) uint64 {
	return uint64(from[0])<<32 | uint64(binary.BigEndian.Uint32(from[1:]))
}

// EventID implements api.Engine.
func (e *Engine) EventID(at feed.Position, millis int64) id.ID {
	return e.eventIDs.make(at, millis)
}

// EventPosition implements api.Engine.
func (e *Engine) EventPosition(evt id.ID) (at feed.Position, millis int64, ok bool) {
	return e.eventIDs.read(evt)
}
