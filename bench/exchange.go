package bench

// exchange is one client's side of a request-response protocol.
type exchange interface {
	// next returns the bytes of the next request, valid until its response is complete; nil when
	// there is nothing left to do.
	next() []byte
	// complete looks at all bytes received of a response and says whether it is whole. The outcome
	// is empty for success and names the refusal otherwise.
	complete(have []byte) (whole bool, outcome string, err error)
}
