package api

import (
	"sync"

	"pws/internal/id"
)

// claimsUnderWay counts the requests for the best task of all projects that are claiming in each
// project now. The views that other such requests read still show the tasks which these will get.
// It is safe for concurrent use.
type claimsUnderWay struct {
	mu sync.Mutex
	in map[id.ID]int
}

// enter counts a request until leave is called, and returns how many are ahead of it.
func (c *claimsUnderWay) enter(project id.ID) (ahead int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.in == nil {
		c.in = map[id.ID]int{}
	}
	c.in[project]++
	return c.in[project] - 1
}

func (c *claimsUnderWay) leave(project id.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.in[project]--; c.in[project] == 0 {
		delete(c.in, project)
	}
}

// busy reports whether some request is claiming in a project.
func (c *claimsUnderWay) busy(project id.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.in[project] > 0
}
