package main

import (
	"maps"
	"slices"
	"sync"

	"pws/api"
	"pws/internal/fault"
)

// untried are the codes that no script can cause on a healthy server, with the reason.
var untried = map[fault.Code]string{
	fault.BlobCorrupt:           "needs damage to a pack behind a running server",
	fault.DependencyUnavailable: "needs a failed part of the service",
}

// untriedBy are such codes of single operations.
var untriedBy = map[string]string{
	"upload.finish UPLOAD_NOT_OPEN":              "needs an import that runs; tested in actors",
	"upload.delete UPLOAD_NOT_OPEN":              "needs an import that runs; tested in actors",
	"key.add_complete CHALLENGE_REPLAY_MISMATCH": "needs a second valid signature of one payload",

	"turn.take PROJECT_MOVED":           "needs a head that moves whenever a merge was planned",
	"turn.submit PROJECT_MOVED":         "needs a head that moves whenever a merge was planned",
	"workspace.refresh PROJECT_MOVED":   "needs a head that moves whenever a merge was planned",
	"contribution.accept PROJECT_MOVED": "needs a head that moves whenever a merge was planned",

	"changeset.revert PROJECT_MOVED":    "needs a head that moves whenever a merge was planned",
	"file.edit PROJECT_MOVED":           "needs a file that changes whenever it was edited",
	"workspace.file.edit PROJECT_MOVED": "needs a file that changes whenever it was edited",

	"changeset.revert FILE_LIMIT_REACHED": "needs thousands of files that were created since",

	"turn.submit FILE_LIMIT_REACHED": "needs thousands of files that are published meanwhile",
}

// coverage is what all scripts together have covered.
type coverage struct {
	mu struct {
		sync.Mutex
		scripts   int
		successes map[string]bool
		failures  map[string]bool
		// advised are the writes that refusals name as the next step; carried are those that a
		// script has carried out.
		advised, carried map[string]bool
	}
}

func newCoverage() *coverage {
	c := &coverage{}
	c.mu.successes, c.mu.failures = map[string]bool{}, map[string]bool{}
	c.mu.advised, c.mu.carried = map[string]bool{}, map[string]bool{}
	return c
}

// advise records a write that a refusal names as the next step; carry records one that was carried
// out.
func (c *coverage) advise(step string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.advised[step] = true
}

func (c *coverage) carry(step string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.carried[step] = true
}

func (c *coverage) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.scripts++
}

func (c *coverage) scripts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.scripts
}

func (c *coverage) success(op *api.Operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.successes[op.Name] = true
}

// failure records an error code, both alone and with its operation.
func (c *coverage) failure(op *api.Operation, code fault.Code) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.failures[string(code)] = true
	if op != nil {
		c.mu.failures[op.Name+" "+string(code)] = true
	}
}

// everywhere are the codes of no operation or of many operations. Each must occur in one script.
var everywhere = []fault.Code{
	fault.ValidationFailed, fault.InvalidJSON, fault.UnsupportedContentType, fault.BodyTooLarge,
	fault.RateLimited, fault.HeadersTooLarge, fault.AuthenticationRequired, fault.SessionInvalid,
	fault.SessionExpired, fault.IdempotencyKeyRequired, fault.IdempotencyKeyInvalid,
	fault.IdempotencyKeyReused, fault.RouteNotFound, fault.MethodNotAllowed,
}

// missing lists what no script has covered.
func (c *coverage) missing() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := map[string]bool{}
	for _, op := range api.Table {
		if !c.mu.successes[op.Name] {
			lines["no script has "+op.Name+" succeed"] = true
		}
		for _, code := range op.Errors {
			name := op.Name + " " + string(code)
			if untried[code] == "" && untriedBy[name] == "" && !c.mu.failures[name] {
				lines["no script has "+op.Name+" fail with "+string(code)] = true
			}
		}
	}
	for step := range c.mu.advised {
		if !c.mu.carried[step] {
			lines["no script carries out the next step "+step] = true
		}
	}
	for _, code := range everywhere {
		if !c.mu.failures[string(code)] {
			lines["no script provokes "+string(code)] = true
		}
	}
	return slices.Sorted(maps.Keys(lines))
}
