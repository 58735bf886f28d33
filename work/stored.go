package work

import (
	"errors"

	"pws/internal/fault"
	"pws/internal/id"
)

// StoredBytes is what the requests of one agent have stored in a project: the sizes of their events
// and contents in the log.
type StoredBytes struct {
	Agent id.ID `cbor:"1,keyasint"`
	Bytes int64 `cbor:"2,keyasint"`
}

var byStorer = inOrder(func(a, b StoredBytes) bool { return a.Agent.Compare(b.Agent) < 0 })

// The rooms of agents that are not members, as parts of the limit of a project. Together they may
// store as much as the members, so that neither uses up the room of the other.
const (
	// guestStoredPart is the part that one of them may store.
	guestStoredPart = 8
	// newcomerStoredPart is the part above which one of them cannot use the last tenth, so that a
	// few agents cannot use up the room of all later ones.
	newcomerStoredPart = 256
)

// CountStored counts the bytes that a request of an agent has stored, AFTER its events are applied.
func (p *Project) CountStored(agent id.ID, bytes int64) {
	p.stored.set(StoredBytes{Agent: agent, Bytes: p.StoredBy(agent) + bytes}, byStorer)
	p.storedAll += bytes
}

// StoredAll returns what all requests have stored in the project, in bytes.
func (p *Project) StoredAll() int64 { return p.storedAll }

// StoredBy returns what the requests of an agent have stored in the project, in bytes.
func (p *Project) StoredBy(agent id.ID) int64 {
	found, _ := p.stored.get(StoredBytes{Agent: agent}, byStorer)
	return found.Bytes
}

// StoredByAgents returns what the requests of each agent have stored, in the order of the IDs.
func (p *Project) StoredByAgents() (all []StoredBytes) {
	p.stored.scan(func(one StoredBytes) bool { all = append(all, one); return true })
	return all
}

// StoredByGuests returns what agents that are not members now have stored, in bytes.
func (p *Project) StoredByGuests() int64 {
	guests := p.storedAll - p.StoredBy(id.ID{})
	for i := range p.saved.Members {
		guests -= p.StoredBy(p.saved.Members[i].Agent)
	}
	return guests
}

// StoredByMembers returns what the agents that are members now have stored, in bytes.
func (p *Project) StoredByMembers() int64 {
	return p.storedAll - p.StoredBy(id.ID{}) - p.StoredByGuests()
}

// StoredGuestMax returns what one agent that is not a member may store in a project with a limit.
func StoredGuestMax(limit int64) int64 { return limit / guestStoredPart }

// RequireStored checks the limit of the project for what a request stores: QUOTA_EXCEEDED. Members
// have one room, all other agents another one of the same size. A limit of 0 is none. The project
// may be nil.
func (p *Project) RequireStored(agent id.ID, more, limit int64) error {
	switch {
	case limit == 0 || agent.IsZero():
		return nil
	case p == nil:
		if more > limit {
			return ErrStored("stored_bytes_of_project", limit)
		}
		return nil
	case p.storedAll+more <= limit/guestStoredPart:
		return nil
	}
	guests := p.StoredByGuests()
	if p.IsMember(agent) {
		if members := p.storedAll - p.StoredBy(id.ID{}) - guests; members+more > limit {
			return ErrStored("stored_bytes_of_project", limit)
		}
		return nil
	}
	own := p.StoredBy(agent)
	if own+more > StoredGuestMax(limit) {
		return ErrStored("stored_bytes_of_guest", StoredGuestMax(limit))
	}
	if guests+more > limit ||
		own > limit/newcomerStoredPart && guests+more > limit-limit/10 {
		return ErrStored("stored_bytes_of_guests", limit)
	}
	return nil
}

// ErrStored is the error for a limit of stored bytes: QUOTA_EXCEEDED.
func ErrStored(quota string, limit int64) *fault.Error {
	return fault.New(fault.QuotaExceeded, "The request would store more bytes than the quota allows.").
		With("quota", quota).With("limit", limit)
}

// EndsOnly reports whether a command ends, withdraws or deletes something, or changes who may do
// what. Such commands are accepted where a quota of stored bytes is used up, so that an owner can
// still make a project private and an agent can still release what it holds.
func EndsOnly(command Command) bool {
	switch command.(type) {
	case *UpdateProject, *ChangeMember, *RemoveMember, *ReleaseTask, *ReleaseAll, *ExpireClaims,
		*EndWorkSession, *CloseWorkspace, *WithdrawContribution, *RejectContribution,
		*SetDiscussion, *DeleteDiscussion, *DeleteComment, *DeleteHandoff, *DeleteVerification,
		*DeleteReview, *DeleteContribution, *UnwatchProject, *EndTurn, *BlockAgent, *UnblockAgent,
		*DeleteProject, *RestoreProject:
		return true
	}
	return false
}

// restoreStored restores what agents have stored.
func (p *Project) restoreStored(saved []StoredBytes) error {
	for i, one := range saved {
		if one.Bytes < 0 || i > 0 && !byStorer.Less(saved[i-1], one) {
			return errors.New("project head: stored bytes that cannot be")
		}
		p.stored.set(one, byStorer)
		p.storedAll += one.Bytes
	}
	return nil
}
