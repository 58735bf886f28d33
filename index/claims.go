package index

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// OwnClaim is a claim of an agent: its task, the project of the task, and when the claim expires,
// in Unix milliseconds.
type OwnClaim struct {
	Task, Project id.ID
	Until         int64
}

// Claims leads from agents to the claims that they hold. It does not know who may read what. It is
// safe for concurrent use.
type Claims struct {
	mu struct {
		sync.RWMutex
		// of holds the claims of each agent by task, expired ones until their expiry is recorded.
		of map[id.ID]map[id.ID]OwnClaim
	}
}

// NewClaims makes an empty index.
func NewClaims() *Claims {
	c := new(Claims)
	c.mu.of = map[id.ID]map[id.ID]OwnClaim{}
	return c
}

// Of returns the claims that an agent holds at a time, in the order of their tasks.
func (c *Claims) Of(agent id.ID, now int64) (held []OwnClaim) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, one := range c.mu.of[agent] {
		if now < one.Until {
			held = append(held, one)
		}
	}
	slices.SortFunc(held, func(a, b OwnClaim) int { return a.Task.Compare(b.Task) })
	return held
}

// ByExpiry returns the claims that an agent holds at a time, the one that expires first is the
// first.
func (c *Claims) ByExpiry(agent id.ID, now int64) []OwnClaim {
	held := c.Of(agent, now)
	slices.SortStableFunc(held, func(a, b OwnClaim) int { return cmp.Compare(a.Until, b.Until) })
	return held
}

func (c *Claims) add(agent id.ID, one OwnClaim) {
	if c.mu.of[agent] == nil {
		c.mu.of[agent] = map[id.ID]OwnClaim{}
	}
	c.mu.of[agent][one.Task] = one
}

func (c *Claims) remove(agent, task id.ID) {
	delete(c.mu.of[agent], task)
	if len(c.mu.of[agent]) == 0 {
		delete(c.mu.of, agent)
	}
}

// drop removes the claims of a project.
func (c *Claims) drop(p *work.Project) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.ClaimedTasks(work.AsStored, func(t *work.Task) bool {
		c.remove(t.Claim.Agent, t.ID)
		return true
	})
}

// Kinds implements Projection.
func (c *Claims) Kinds() []work.Kind {
	return kindsOf(
		new(work.TaskUpdated), new(work.TaskClaimed), new(work.ClaimRenewed),
		new(work.TaskReleased), new(work.TaskClaimExpired),
	)
}

// Update implements Projection.
func (c *Claims) Update(before, next *work.Project, events []work.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before == nil {
		next.ClaimedTasks(work.AsStored, func(t *work.Task) bool {
			c.add(t.Claim.Agent, OwnClaim{t.ID, next.ID, t.Claim.ExpiresAt})
			return true
		})
		return
	}
	for _, event := range events {
		task, ok := work.TaskOf(event)
		if !ok {
			continue
		}
		if was, known := before.Task(task, work.AsStored); known && was.Claim != nil {
			c.remove(was.Claim.Agent, task)
		}
		if is, _ := next.Task(task, work.AsStored); is.Claim != nil {
			c.add(is.Claim.Agent, OwnClaim{task, next.ID, is.Claim.ExpiresAt})
		}
	}
}

// Append implements Projection:
//
//	claims  until the end, in the order of their expiry, each: 16 bytes task, 16 bytes agent,
//	        uvarint Unix milliseconds of the expiry
func (c *Claims) Append(out []byte, p *work.Project) []byte {
	p.ClaimedTasks(work.AsStored, func(t *work.Task) bool {
		out = append(append(out, t.ID[:]...), t.Claim.Agent[:]...)
		out = binary.AppendUvarint(out, uint64(t.Claim.ExpiresAt))
		return true
	})
	return out
}

// Restore implements Projection.
func (c *Claims) Restore(card *Card, part *disk.Reader) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for part.Len() > 0 {
		task, agent := id.ID(part.Fixed(16)), id.ID(part.Fixed(16))
		until := int64(part.Uvarint())
		if part.Failed() {
			return errPart
		}
		if until <= 0 {
			return errors.New("a claim without an end")
		}
		c.add(agent, OwnClaim{task, card.Project, until})
	}
	return nil
}
