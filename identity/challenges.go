package identity

import (
	"bytes"
	"cmp"
	"fmt"

	"pws/internal/id"
	"pws/internal/sorted"
)

// Anybody can request a challenge, and each is stored until it expires. Two bounds keep requests of
// strangers from using up the room for others. Neither refuses a request; the oldest challenge goes
// instead, so an attacker has to keep sending to displace a challenge before it is answered.
//
//   - A public key can have 5 challenges that wait for its signature, an agent 20 for new keys.
//   - Registrations have a room of their own, so that they cannot displace sign-ins. The challenges
//     in the other room belong to keys and agents that exist. A challenge of a full room leaves it
//     only after as many later ones, and the limits for requests from one network are far lower.

// challenges are all challenges with their indexes. Copies share their nodes.
type challenges struct {
	idTree[*Challenge] // challenge IDs grow with their expiry
	// rooms hold the IDs for agents that exist and those for registrations.
	rooms [2]idTree[struct{}]
	// waiting holds those that are not completed, by who they wait for.
	waiting sorted.Set[waitingEntry]
}

// waitingEntry is a challenge of a public key, or of an agent that adds a key.
type waitingEntry struct {
	purpose   Purpose
	owner     [32]byte
	challenge id.ID
}

func lessWaiting(a, b waitingEntry) bool {
	order := cmp.Or(cmp.Compare(a.purpose, b.purpose), bytes.Compare(a.owner[:], b.owner[:]))
	return order < 0 || order == 0 && lessID(&a.challenge, &b.challenge)
}

func newChallenges() challenges {
	return challenges{
		idTree:  newIDTree[*Challenge](),
		rooms:   [2]idTree[struct{}]{newIDTree[struct{}](), newIDTree[struct{}]()},
		waiting: sorted.By(lessWaiting, sorted.Degree).New(),
	}
}

func (c challenges) clone() challenges {
	return challenges{
		idTree: c.idTree.clone(), waiting: c.waiting.Copy(),
		rooms: [2]idTree[struct{}]{c.rooms[0].clone(), c.rooms[1].clone()},
	}
}

func (c challenges) set(challengeID id.ID, challenge *Challenge) {
	c.idTree.set(challengeID, challenge)
	c.rooms[challenge.room()].set(challengeID, struct{}{})
	if challenge.Completion == nil {
		c.waiting.Set(challenge.waitingEntry())
	} else {
		c.waiting.Delete(challenge.waitingEntry())
	}
}

func (c challenges) delete(challenge *Challenge) {
	c.idTree.delete(challenge.ID)
	c.rooms[challenge.room()].delete(challenge.ID)
	c.waiting.Delete(challenge.waitingEntry())
}

// room is 1 for registrations.
func (c *Challenge) room() int {
	if c.Purpose == PurposeRegister {
		return 1
	}
	return 0
}

func (c *Challenge) waitingEntry() waitingEntry {
	entry := waitingEntry{purpose: c.Purpose, owner: c.PublicKey, challenge: c.ID}
	if c.Purpose == PurposeAddKey {
		entry.owner = [32]byte{}
		copy(entry.owner[:], c.AgentID[:])
	}
	return entry
}

// waitingMax is how many challenges may wait for the same key or agent.
func (c *Challenge) waitingMax() int {
	if c.Purpose == PurposeAddKey {
		return KeysActiveMax
	}
	return ChallengesPerKeyMax
}

// displaced returns the challenges that go for a new one, the oldest first: a limited number of
// those for the same key or agent, or else one of its room.
func (c challenges) displaced(by *Challenge) (ids []id.ID) {
	wanted := by.waitingEntry()
	first := wanted
	first.challenge = id.ID{}
	c.waiting.Ascend(first, func(entry waitingEntry) bool {
		if entry.purpose != wanted.purpose || entry.owner != wanted.owner {
			return false
		}
		ids = append(ids, entry.challenge)
		return len(ids) < by.waitingMax()+challengesSweptMax
	})
	ids = ids[:max(0, len(ids)-by.waitingMax()+1)]
	if room := c.rooms[by.room()]; len(ids) == 0 && room.len() >= ChallengesMax {
		oldest, _, _ := room.min()
		ids = append(ids, oldest)
	}
	return ids
}

// ChallengeDropped drops a challenge that has not expired. The challenge that displaces it follows
// in the same entry.
type ChallengeDropped struct {
	Challenge id.ID `cbor:"1,keyasint,omitzero"`
}

// Kind implements Event.
func (*ChallengeDropped) Kind() Kind { return KindChallengeDropped }

func (*ChallengeDropped) touched() (id.ID, bool) { return id.ID{}, true }

func (e *ChallengeDropped) apply(s *State, _ int64) {
	challenge, ok := s.challenges.get(e.Challenge)
	if !ok {
		panic(fmt.Sprintf("identity: no challenge %s", e.Challenge.Format(id.Challenge)))
	}
	s.challenges.delete(challenge)
}
