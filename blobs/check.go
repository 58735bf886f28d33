package blobs

import "errors"

// Unread is a blob that an Add has found in a pack, while nothing has read it there for long: the
// copy may be damaged, and the cache has the content only until it leaves.
type Unread struct {
	Hash     Hash
	position uint64
}

// unreadMax bounds the blobs that wait for a Check. Others are not checked.
const unreadMax = 64

// Unread yields what may be worth a Check.
func (s *Store) Unread() <-chan Unread { return s.unread }

// offer never waits.
func (s *Store) offer(position uint64, h Hash) {
	select {
	case s.unread <- Unread{h, position}:
	default:
	}
}

// Check reads the packed copy of a blob, past the cache, and reports whether it is damaged.
func (s *Store) Check(u Unread) (damaged bool) {
	l := s.list.Load()
	_, err := readSound(l.all(), &u.Hash)
	if !errors.Is(err, ErrCorrupt) {
		return false
	}
	s.noteDamage(&u.Hash, l, err)
	return s.Damaged(u.Hash)
}

// Keep stores a damaged blob again if the cache has it, and reports whether it has. The next Pack
// writes it. Nobody may forget or drop the blob until Keep returns.
func (s *Store) Keep(u Unread) bool {
	content, cached := s.shard(&u.Hash).get(&u.Hash)
	if cached {
		s.AddCopy(u.position, u.Hash, content)
	}
	return cached
}
