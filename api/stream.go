package api

import "io"

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
