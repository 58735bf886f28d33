package identity

import (
	"math/bits"
	"slices"
)

// sessionTrie is a persistent map of sessions by the hash of their credential: a hash array
// mapped trie (Bagwell, Ideal Hash Trees, 2001), 64 ways at each level. A search reads one line
// per level and compares once at its end, while a balanced tree would mispredict every second of
// its comparisons. A change copies the nodes on its path; copies of the trie share all others
// and can be changed independently.
type sessionTrie struct {
	root  *trieNode
	count int
}

// trieNode has one bit per digit in one of its two maps, and its children in the order of their
// digits. Sessions with a common prefix of digits share a node.
type trieNode struct {
	branches uint64
	leaves   uint64
	nodes    []*trieNode
	sessions []*Session
}

// trieDigit returns the digit of a level: the lower six bits of each byte, and then the upper
// two, so that all bits are used and different hashes diverge at some level.
func trieDigit(hash *[32]byte, depth int) uint {
	if depth < len(hash) {
		return uint(hash[depth] & 63)
	}
	return uint(hash[depth-len(hash)] >> 6)
}

// place returns the bit of a digit, and the index of its child among those of a map.
func place(bitmap uint64, digit uint) (bit uint64, at int) {
	bit = 1 << digit
	return bit, bits.OnesCount64(bitmap & (bit - 1))
}

func (t sessionTrie) get(hash *[32]byte) (*Session, bool) {
	node := t.root
	for depth := 0; node != nil; depth++ {
		digit := trieDigit(hash, depth)
		bit, at := place(node.leaves, digit)
		if node.leaves&bit != 0 {
			if session := node.sessions[at]; session.Hash == *hash {
				return session, true
			}
			return nil, false
		}
		if node.branches&bit == 0 {
			return nil, false
		}
		_, at = place(node.branches, digit)
		node = node.nodes[at]
	}
	return nil, false
}

// set stores a session by its hash and returns the one that it replaces.
func (t *sessionTrie) set(session *Session) *Session {
	root, old := t.root.with(session, 0)
	t.root = root
	if old == nil {
		t.count++
	}
	return old
}

// with returns a copy of the node with a session, and the session of the same hash that it
// replaces. The nil node is an empty one.
func (n *trieNode) with(session *Session, depth int) (*trieNode, *Session) {
	changed := &trieNode{}
	if n != nil {
		*changed = *n
	}
	digit := trieDigit(&session.Hash, depth)
	bit, at := place(changed.branches, digit)
	if changed.branches&bit != 0 {
		child, old := n.nodes[at].with(session, depth+1)
		changed.nodes = slices.Clone(n.nodes)
		changed.nodes[at] = child
		return changed, old
	}
	_, leafAt := place(changed.leaves, digit)
	if changed.leaves&bit == 0 {
		changed.leaves |= bit
		changed.sessions = inserted(changed.sessions, leafAt, session)
		return changed, nil
	}
	old := n.sessions[leafAt]
	if old.Hash == session.Hash {
		changed.sessions = slices.Clone(n.sessions)
		changed.sessions[leafAt] = session
		return changed, old
	}
	child, _ := (*trieNode)(nil).with(old, depth+1)
	child, _ = child.with(session, depth+1)
	changed.leaves &^= bit
	changed.sessions = removed(n.sessions, leafAt)
	changed.branches |= bit
	changed.nodes = inserted(changed.nodes, at, child)
	return changed, nil
}

// delete removes the session of a hash, if there is one.
func (t *sessionTrie) delete(hash *[32]byte) {
	if _, ok := t.get(hash); !ok {
		return
	}
	t.root = t.root.without(hash, 0)
	t.count--
}

// without returns a copy of the node without the session of a hash, which it contains; nil if it
// becomes empty. A child with a single session left is merged into its parent.
func (n *trieNode) without(hash *[32]byte, depth int) *trieNode {
	changed := *n
	digit := trieDigit(hash, depth)
	bit, at := place(n.leaves, digit)
	if n.leaves&bit != 0 {
		changed.leaves &^= bit
		changed.sessions = removed(n.sessions, at)
		if changed.leaves == 0 && changed.branches == 0 {
			return nil
		}
		return &changed
	}
	_, nodeAt := place(n.branches, digit)
	child := n.nodes[nodeAt].without(hash, depth+1)
	if child.branches == 0 && len(child.sessions) == 1 {
		changed.branches &^= bit
		changed.nodes = removed(n.nodes, nodeAt)
		changed.leaves |= bit
		changed.sessions = inserted(n.sessions, at, child.sessions[0])
		return &changed
	}
	changed.nodes = slices.Clone(n.nodes)
	changed.nodes[nodeAt] = child
	return &changed
}

// inserted returns a copy of exact length with one more value.
func inserted[T any](from []T, at int, value T) []T {
	out := make([]T, len(from)+1)
	copy(out, from[:at])
	out[at] = value
	copy(out[at+1:], from[at:])
	return out
}

// removed returns a copy of exact length with one value less.
func removed[T any](from []T, at int) []T {
	out := make([]T, len(from)-1)
	copy(out, from[:at])
	copy(out[at:], from[at+1:])
	return out
}
