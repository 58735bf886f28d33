package api

import (
	"sync"

	"pws/index"
	"pws/internal/id"
	"pws/work"
)

// claimLocks makes the claims of one agent wait for each other. It holds only agents with a running
// request.
type claimLocks struct {
	mu      sync.Mutex
	waiting map[id.ID]*claimLock
}

type claimLock struct {
	sync.Mutex
	// users counts the requests that hold the lock or wait for it.
	users int
}

// lock waits until no other claim of an agent is being decided; the result ends that.
func (l *claimLocks) lock(agent id.ID) (unlock func()) {
	l.mu.Lock()
	if l.waiting == nil {
		l.waiting = map[id.ID]*claimLock{}
	}
	one := l.waiting[agent]
	if one == nil {
		one = new(claimLock)
		l.waiting[agent] = one
	}
	one.users++
	l.mu.Unlock()
	one.Lock()
	return func() {
		one.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(l.waiting, agent)
		}
	}
}

// claiming gives a command that claims a task. For a caller that is not a member, give is called
// with the number of its claims in other projects, and no other claim of the caller is decided
// until give returns. That number cannot grow until the claim is published, so claims in several
// projects at once do not exceed the quota for all projects.
func (c *Call) claiming(
	project id.ID, give func(elsewhere int) (Reply, error),
) (Reply, error) {
	guest, err := c.isGuest(project)
	if err != nil {
		return Reply{}, err
	}
	if !guest {
		return give(0)
	}
	defer c.Service.claims.lock(c.Agent)()
	elsewhere, err := c.claimsElsewhere(project)
	if err != nil {
		return Reply{}, err
	}
	return give(elsewhere)
}

// isGuest reports whether the caller may read a project and is not a member.
func (c *Call) isGuest(project id.ID) (bool, error) {
	if readable, err := Intact(c.Service.Engine.Readable(project, c.Agent)); err != nil || !readable {
		return false, err
	}
	summary, err := Intact(c.Service.Engine.Summary(project))
	return summary != nil && !summary.IsMember(c.Agent), err
}

// claimsElsewhere counts the live claims of the caller in other projects of which it is not a
// member, up to the quota.
func (c *Call) claimsElsewhere(project id.ID) (count int, err error) {
	err = c.guestClaims(func(one index.OwnClaim) bool {
		if one.Project != project {
			count++
		}
		return count < work.GuestClaimsInAllMax
	})
	return count, err
}

// guestClaims yields the live claims of the caller in projects of which it is not a member.
func (c *Call) guestClaims(yield func(one index.OwnClaim) bool) (err error) {
	engine := c.Service.Engine
	guestIn := map[id.ID]bool{}
	for _, one := range engine.Indexes(index.ForClaims).Claims.Of(c.Agent, engine.Now()) {
		guest, known := guestIn[one.Project]
		if !known {
			if guest, err = c.isGuest(one.Project); err != nil {
				return err
			}
			guestIn[one.Project] = guest
		}
		if guest && !yield(one) {
			return nil
		}
	}
	return nil
}

// claimQuotas returns the quota of live claims in all projects of which the caller is not a member,
// and that in a project if it is one of these. A nil project is none.
func (c *Call) claimQuotas(p *work.Project) (all Quota, here []Quota, err error) {
	all = claimQuota(work.QuotaClaimsInAll, work.GuestClaimsInAllMax)
	in := claimQuota(work.QuotaClaimsInProject, work.GuestClaimsMax)
	err = c.guestClaims(func(one index.OwnClaim) bool {
		all.claimed(one)
		if p != nil && one.Project == p.ID {
			in.claimed(one)
		}
		return true
	})
	if p != nil && !p.IsMember(c.Agent) {
		here = []Quota{in}
	}
	return all, here, err
}

func claimQuota(name string, limit int64) Quota {
	return Quota{Name: name, Scope: scopeAgent, Limit: limit, Remaining: limit}
}

// claimed counts a claim, which ends on its own if it is not renewed. An agent that has left a
// project may hold more claims than the quota.
func (q *Quota) claimed(one index.OwnClaim) {
	if q.Remaining > 0 {
		q.Used++
		q.Remaining--
	}
	if until := Time(one.Until); q.ResetAt == nil || *q.ResetAt < until {
		q.ResetAt = &until
	}
}
