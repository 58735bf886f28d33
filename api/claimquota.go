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
// meanwhile. That number cannot grow until the claim is published, so claims in several projects at
// once do not exceed the quota for all projects.
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

// isGuest reports whether a project exists and the caller is not a member.
func (c *Call) isGuest(project id.ID) (bool, error) {
	summary, err := c.Service.Engine.Summary(project)
	return summary != nil && summary.RoleOf(c.Agent) == work.NoRole, err
}

// claimsElsewhere counts the live claims of the caller in other projects of which it is not a
// member, up to the quota.
func (c *Call) claimsElsewhere(project id.ID) (count int, err error) {
	engine := c.Service.Engine
	guestIn := map[id.ID]bool{project: false}
	for _, one := range engine.Indexes(index.ForClaims).Claims.Of(c.Agent, engine.Now()) {
		guest, known := guestIn[one.Project]
		if !known {
			if guest, err = c.isGuest(one.Project); err != nil {
				return 0, err
			}
			guestIn[one.Project] = guest
		}
		if !guest {
			continue
		}
		if count++; count == work.GuestClaimsInAllMax {
			break
		}
	}
	return count, nil
}
