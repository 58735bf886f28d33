package api

import "io"

// Stream is data that is too large to be held: it writes its JSON piece by piece while the answer
// is sent, AFTER the call is over. What it needs of the call it has kept in a detached one. An
// error breaks the answer off, so that nobody takes a part for the whole. A client that has gone
// away is an error of w.
type Stream func(w io.Writer) error

// detached is what may be kept of a call when it is over: who asked, when, and of what service.
func (c *Call) detached() *Call {
	return &Call{
		Service: c.Service, Operation: c.Operation, RequestID: c.RequestID, Now: c.Now,
		Session: c.Session, Agent: c.Agent,
	}
}
