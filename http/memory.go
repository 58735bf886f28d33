package http

import (
	"unsafe"

	"pws/internal/fault"
)

// smallBody is the size up to which a body or an answer is not counted, in bytes.
const smallBody = 64 << 10

// The parts of the memory for large bodies and answers that callers may hold: an address a quarter,
// a network three eighths, an agent an eighth. The last quarter of each is for agents only, so that
// anonymous callers cannot keep agents out.
const (
	memoryAddressPart = 4
	memoryAgentPart   = 8
	memoryAgentsOnly  = 4
)

// memoryBounds are the bounds of bodies and answers in memory, in bytes. One body of the largest
// size fits, also that of an anonymous caller.
func memoryBounds(total, bodyMax int64) bounds {
	least := min(total, (bodyMax+1)*memoryAgentsOnly/(memoryAgentsOnly-1)+1)
	return bounds{
		total: total, address: max(least, total/memoryAddressPart),
		network: max(least, total/memoryAgentPart*3), agent: max(least, total/memoryAgentPart),
		agentsOnly: memoryAgentsOnly,
	}
}

// account is what a request and its answer hold of the memory for large bodies and answers. It has
// one user at a time.
type account struct {
	of  *shares
	who party
	// bytes are given back by close.
	bytes int64
}

// growTo raises the account to an amount in bytes. Errors: RATE_LIMITED.
func (a *account) growTo(bytes int64) error {
	more := bytes - a.bytes
	if more <= 0 {
		return nil
	}
	reason, message := "BODY_MEMORY", "Too many large requests and answers at the same time."
	switch a.of.take(a.who, more) {
	case enough:
		a.bytes = bytes
		return nil
	case shortAddress:
		reason, message = "BODY_MEMORY_IP",
			"Too many large requests and answers of this address at the same time."
	case shortAgent:
		reason, message = "BODY_MEMORY_AGENT",
			"Too many large requests and answers of this agent at the same time."
	case shortTotal:
	}
	return fault.New(fault.RateLimited, message).With("reason", reason).
		With("retry_after_seconds", 1)
}

// forceTo raises the account even beyond the bounds. It is for the answer to a write that has been
// carried out: a refusal would say that it was not.
func (a *account) forceTo(bytes int64) {
	if more := bytes - a.bytes; more > 0 {
		a.of.force(a.who, more)
		a.bytes = bytes
	}
}

// shrinkTo gives back what is above an amount in bytes.
func (a *account) shrinkTo(bytes int64) {
	if less := a.bytes - bytes; less > 0 {
		a.of.giveBack(a.who, less)
		a.bytes = bytes
	}
}

func (a *account) close() { a.shrinkTo(0) }

// RequestMemory is what is reserved for large bodies and answers, in bytes.
func (s *Server) RequestMemory() int64 { return s.memory.used() }

// connectionMemory is what a connection takes beside the buffer of its headers and its stack: the
// buffer of answers, the request and the answer, and the memory of an exchange.
const connectionMemory = 12 << 10

// MemoryBytes estimates the memory of connections, of requests, and of rate limits, in bytes.
func (s *Server) MemoryBytes() (connections, limits int64) {
	s.conns.mu.Lock()
	open := int64(len(s.conns.mu.open))
	s.conns.mu.Unlock()
	cells := int64(s.limiter.cells + len(s.refusals.cells))
	return open*(connectionMemory+int64(s.cfg.HeaderMax)) + s.memory.used(),
		cells * int64(unsafe.Sizeof(cell{}))
}

// heldMemory is the account of the exchange.
func (x *exchange) heldMemory() *account {
	if x.account.of == nil {
		x.account = account{of: &x.server.memory, who: x.party()}
	}
	return &x.account
}

// HoldMemory implements api.Meter: it reserves memory until the answer is written. Errors:
// RATE_LIMITED.
func (x *exchange) HoldMemory(bytes int) error {
	if bytes <= smallBody {
		return nil
	}
	a := x.heldMemory()
	return a.growTo(a.bytes + int64(bytes))
}

// growAnswer reserves memory for an answer of that size in bytes. Errors: RATE_LIMITED, unless the
// request has been carried out.
func (x *exchange) growAnswer(bytes int64) error {
	a := x.heldMemory()
	err := a.growTo(bytes)
	if err != nil && x.carriedOut {
		a.forceTo(bytes)
		return nil
	}
	return err
}

// handOver returns the account of the exchange for an answer that outlives it.
func (x *exchange) handOver() account {
	a := *x.heldMemory()
	x.account = account{}
	return a
}
