package http

import (
	"pws/api"
	"pws/internal/fault"
)

// checkKey checks the Idempotency-Key if the operation supports one. Errors:
// IDEMPOTENCY_KEY_REQUIRED, IDEMPOTENCY_KEY_INVALID.
func (in *input) checkKey(op *api.Operation) error {
	if op.Idempotency == api.NoKey {
		return nil
	}
	if in.keys == 0 {
		if op.Idempotency == api.KeyRequired {
			return fault.New(fault.IdempotencyKeyRequired,
				"The operation needs the header Idempotency-Key.").
				With("header", "Idempotency-Key")
		}
		return nil
	}
	if in.keys > 1 || !api.ValidIdempotencyKey(in.key) {
		return fault.New(fault.IdempotencyKeyInvalid,
			"An Idempotency-Key is 1 to 255 visible ASCII characters, sent once.").
			With("header", "Idempotency-Key").With("max_bytes", api.IdempotencyKeyMax)
	}
	return nil
}

// hasKey reports whether the input has a key that its operation takes.
func (in *input) hasKey(op *api.Operation) bool {
	return op.Idempotency != api.NoKey && in.keys > 0
}

// idempotencyKey returns the hashes of the key of a valid input, nil if there is none. It
// outlives the exchange, because the engine stores it.
func (x *exchange) idempotencyKey(found *route, in *input) *api.IdempotencyKey {
	if !in.hasKey(found.operation) {
		return nil
	}
	asked := api.KeyedRequest{
		Operation: found.operation, Agent: x.call.Agent, Key: in.key, Path: in.path,
		Query: in.query, Body: in.body, MergePatch: x.mergePatch, Scratch: x.scratch,
	}
	if found.project >= 0 {
		asked.Project = x.call.Params[found.project]
	}
	key := asked.Hash()
	x.scratch = asked.Scratch
	return key
}
