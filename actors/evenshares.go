package actors

import (
	"sync"
	"time"

	"pws/internal/id"
)

// evenShares divides memory that all parties use, so that those who hold little are not refused
// because others hold much. A party may hold more only while a part of the memory stays free, and
// this part grows with what the party holds:
//
//	up to 1/4096 of the memory   nothing
//	beyond                       a quarter of what it holds, up to 1/16 of the memory, and
//	                             a hundred times what it holds, up to 3/16 of the memory
//
// One party alone gets three quarters. AFTER a hundred parties have taken what they can get, one
// after the other, a newcomer still gets 1/1400 of the memory.
//
// A party that is refused, because others took their part before, counts as waiting for a short
// time, in which those who hold more than it asked for are refused. So what they hold can leave
// memory.
type evenShares struct {
	// max bounds what all hold together, in bytes; 0 means no bound.
	max int64
	mu  struct {
		sync.Mutex
		total int64
		held  map[id.ID]int64
		// awaited is the least that a party would hold which waits, until a time.
		awaited int64
		until   time.Time
	}
}

// The parts of the memory that stay free for others.
const (
	smallShare                  = 4096
	largeFree, largeFreeMost    = 4, 16
	othersMost                  = 100
	othersFreeNum, othersFreeOf = 3, 16
	// awaitedFor is how long a party counts as waiting AFTER it was refused. It is asked to come back
	// after a second.
	awaitedFor = 2 * time.Second
)

func newEvenShares(max int64) *evenShares {
	s := &evenShares{max: max}
	s.mu.held = map[id.ID]int64{}
	return s
}

// free is what has to stay free for a party to hold an amount.
func (s *evenShares) free(held int64) int64 {
	if held <= s.max/smallShare {
		return 0
	}
	others := s.max / othersFreeOf * othersFreeNum
	return min(held/largeFree, s.max/largeFreeMost) + min(held, others/othersMost)*othersMost
}

// allows reports whether a party may hold more than it does. The lock is held.
func (s *evenShares) allows(party id.ID, more int64) bool {
	if s.max == 0 {
		return true
	}
	held := s.mu.held[party] + more
	if s.mu.awaited > 0 && held > s.mu.awaited {
		if time.Now().Before(s.mu.until) {
			return false
		}
		s.mu.awaited = 0
	}
	return s.mu.total+more+s.free(held) <= s.max
}

// fits reports whether a party may hold more than it does.
func (s *evenShares) fits(party id.ID, more int64) bool {
	if s.max == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.allows(party, more)
}

// take gives more to a party if it may hold it.
func (s *evenShares) take(party id.ID, more int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.allows(party, more) {
		return false
	}
	s.addLocked(party, more)
	return true
}

// add changes what a party holds.
func (s *evenShares) add(party id.ID, more int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLocked(party, more)
}

// addLocked keeps no entry of zero, so that the map is as large as what is held.
func (s *evenShares) addLocked(party id.ID, more int64) {
	s.mu.total += more
	if held := s.mu.held[party] + more; held != 0 {
		s.mu.held[party] = held
	} else {
		delete(s.mu.held, party)
	}
}

// await notes that a party was refused, because no more fits.
func (s *evenShares) await(party id.ID, more int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, held := time.Now(), s.mu.held[party]+more
	if s.mu.awaited > 0 && s.mu.awaited < held && now.Before(s.mu.until) {
		return
	}
	s.mu.awaited, s.mu.until = held, now.Add(awaitedFor)
}

// total is what all parties hold.
func (s *evenShares) total() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.total
}

// of is what a party holds.
func (s *evenShares) of(party id.ID) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.held[party]
}
