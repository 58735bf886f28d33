package api

import "pws/internal/fault"

// Reads says whether views that were loaded are the newest ones.
type Reads interface {
	// BeginRead is called BEFORE anything is read for a request, and EndRead with its mark AFTER
	// that, BEFORE the request is answered. Without errors, everything that was answered BEFORE
	// BeginRead is in what was read. Errors: STORAGE_UNAVAILABLE.
	BeginRead() (ReadMark, error)
	EndRead(mark ReadMark) error
	// ReadsWait reports whether BeginRead waits for other servers now.
	ReadsWait() bool
}

// The reasons of STORAGE_UNAVAILABLE where several servers are one service.
const (
	// ReasonNotLeading: another server accepts writes, or none does. Nothing was changed.
	ReasonNotLeading = "NOT_LEADING"
	// ReasonOutcomeUnknown: the request may have taken effect.
	ReasonOutcomeUnknown = "OUTCOME_UNKNOWN"
)

// ReadMark is the moment of a BeginRead.
type ReadMark uint64

// ErrOutcomeUnknown is the error for a write of which the server does not know whether it took
// effect.
func ErrOutcomeUnknown() error {
	return fault.New(fault.StorageUnavailable, "It is unknown whether the request took effect: the "+
		"server that accepts writes was lost, or another one has taken its place. Repeat it with the "+
		"same Idempotency-Key.").
		With("reason", ReasonOutcomeUnknown).With("retry_after_seconds", 1)
}

// stale is the error for an answer of a handler that rests on what was not the newest. A refusal
// rests on what was read, too, and a write that has changed nothing. What the journal has said of a
// write stays: above all, that its outcome is unknown.
func (o *Operation) stale(c *Call, answer error) error {
	if o.DescribesService() || fault.CodeOf(answer) == fault.StorageUnavailable {
		return nil
	}
	stale := c.Fresh()
	if stale != nil && answer == nil && o.Writes() {
		return ErrOutcomeUnknown()
	}
	return stale
}

// BeginRead notes that the call reads from now on. Its error is that of Fresh.
func (c *Call) BeginRead() {
	if c.Service.Engine != nil {
		c.readMark, c.readFault = c.Service.Engine.BeginRead()
	}
}

// Fresh checks that what the call has read since BeginRead was the newest. Services around other
// operations have no engine. Errors: STORAGE_UNAVAILABLE.
func (c *Call) Fresh() error {
	if c.readFault != nil || c.Service.Engine == nil {
		return c.readFault
	}
	return c.Service.Engine.EndRead(c.readMark)
}
