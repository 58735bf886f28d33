package api

import (
	"io"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Stream is data that is too large for memory: it writes its JSON piece by piece while the
// answer is sent, AFTER the call ends, so it uses a detached call. An error aborts the answer,
// so that a part is never taken for the whole. A client that has disconnected is an error of w.
type Stream func(w io.Writer) error

// detached returns the parts of a call that may be used after it ends: the caller, the time and
// the service.
func (c *Call) detached() *Call {
	return &Call{
		Service: c.Service, Operation: c.Operation, RequestID: c.RequestID, Now: c.Now,
		Session: c.Session, Agent: c.Agent,
	}
}

// mayStillExport checks between the pieces of a copy of a project that the caller may read on. One
// whose session has only expired may: it was live when the copy began. Errors: SESSION_INVALID,
// PROJECT_NOT_FOUND, REUSE_NOT_PERMITTED.
func (c *Call) mayStillExport(project id.ID) error {
	engine := c.Service.Engine
	if c.Session != nil {
		_, err := engine.Identity().Authenticate(c.Session.Hash, engine.Now())
		if err != nil && !isCode(err, fault.SessionExpired) {
			return err
		}
	}
	now, err := engine.Summary(project)
	if err != nil {
		return err
	}
	return work.MayExport.Require(now, c.Agent)
}
