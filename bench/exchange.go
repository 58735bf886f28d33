package bench

// exchange is one client's side of a request-response protocol.
type exchange interface {
	// next returns the bytes of the next request, valid until its response is complete; nil when
	// there are no more requests.
	next() []byte
	// complete examines all bytes received so far and reports whether the response is whole. The
	// outcome is empty for success and names the error otherwise.
	complete(have []byte) (whole bool, outcome string, err error)
}
