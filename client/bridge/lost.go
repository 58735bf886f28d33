package bridge

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"time"
)

const (
	// unansweredFor is how long a call is remembered that ended without an answer, and
	// unansweredMax how many of them are.
	unansweredFor = 10 * time.Minute
	unansweredMax = 256
)

// lostCalls are the keys of calls without an answer, in the order of their ends. Equal calls have
// one each: every repeat takes the place of one of them.
type lostCalls []lostCall

type lostCall struct {
	key string
	at  time.Time
	// same and target are those of the message, and replaces says that the call only sets or removes
	// what is there.
	same, target [sha256.Size]byte
	replaces     bool
}

// take removes the first of the calls that are the same and returns its key. It returns false if
// there is none.
func (l *lostCalls) take(same [sha256.Size]byte) (key string, found bool) {
	l.expire()
	at := slices.IndexFunc(*l, func(lost lostCall) bool { return lost.same == same })
	if at < 0 {
		return "", false
	}
	key = (*l)[at].key
	*l = slices.Delete(*l, at, at+1)
	return key, true
}

// add notes a call. At most one has a key. If there are too many, the first ones are dropped: their
// repeat is the least likely.
func (l *lostCalls) add(lost lostCall) {
	l.expire()
	*l = slices.DeleteFunc(*l, func(other lostCall) bool { return other.key == lost.key })
	*l = append(*l, lost)
	*l = slices.Delete(*l, 0, max(len(*l)-unansweredMax, 0))
}

func (l *lostCalls) expire() {
	*l = slices.DeleteFunc(*l, func(lost lostCall) bool {
		return time.Since(lost.at) >= unansweredFor
	})
}

// keyOf is the Idempotency-Key of a call: that of its arguments, or that of the same call if it has
// ended without an answer, or one of its own. A repeat of its message has the same one. It is empty
// if the arguments have a key that no header can have. It says whether the agent may know of an
// earlier call with the key.
func (b *Bridge) keyOf(m *message) (key string, repeats bool) {
	if m.ownKey {
		return m.key, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if key, found := b.mu.lostCalls.take(m.same); found {
		return key, true
	}
	sum := sha256.Sum256(append([]byte(b.process), m.line...))
	return base64.RawURLEncoding.EncodeToString(sum[:]), false
}

// remember notes the key of a call without an answer, unless the agent has given it.
func (b *Bridge) remember(m *message, key string) {
	if key == "" || m.ownKey {
		return
	}
	lost := lostCall{
		key: key, at: time.Now(), same: m.same, target: m.target,
		replaces: b.hintsOf(m.tool).replaces(m.tool),
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.lostCalls.add(lost)
}

// forget drops the keys of unanswered calls that only set or remove what a call has changed AFTER
// them. Their repeat is meant to replace that, and the answer of before would leave it as it is.
// Calls that add something, or change a part of what is there, keep their keys: their repeat would
// have an effect twice.
func (b *Bridge) forget(m *message) {
	b.mu.Lock()
	some := len(b.mu.lostCalls) > 0
	b.mu.Unlock()
	if !some || !b.hintsOf(m.tool).Destructive {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.lostCalls = slices.DeleteFunc(b.mu.lostCalls, func(lost lostCall) bool {
		return lost.replaces && lost.target == m.target
	})
}
