package http

import (
	"pws/api"
	"pws/internal/fault"
)

// credentialMax bounds what is hashed on behalf of strangers.
const credentialMax = 512

// admit resolves the caller and counts the request. A request without a credential is counted for
// its address before anything else is done; one with a credential for its agent and session, which
// takes a hash and a look into the published sessions to know, and for its address where the
// credential is not valid. Errors: RATE_LIMITED, VALIDATION_FAILED, AUTHENTICATION_REQUIRED,
// SESSION_INVALID, SESSION_EXPIRED.
func (s *Server) admit(x *exchange) error {
	var authErr error
	if x.headers.authorizations > 0 {
		authErr = s.authenticate(x)
	}
	return s.admitAs(x, authErr)
}

// admitAs is admit for a caller who has been looked for. A credential that is not valid is refused
// by every operation, for whoever sends one means to be somebody.
func (s *Server) admitAs(x *exchange, authErr error) error {
	if err := s.limiter.charge(x, s.limiter.of(x)); err != nil {
		return err
	}
	if authErr == nil && x.call.Agent.IsZero() && x.route.operation.Auth == api.Bearer {
		return needsBearer()
	}
	return authErr
}

func needsBearer() error {
	return fault.New(fault.AuthenticationRequired,
		"The operation needs the header Authorization: Bearer with a session credential.")
}

// authenticate fills the call with the session of the credential. Errors: VALIDATION_FAILED,
// SESSION_INVALID, SESSION_EXPIRED.
func (s *Server) authenticate(x *exchange) error {
	if x.headers.authorizations > 1 {
		return fault.Invalid(fault.Field{Field: "Authorization", Problem: "must be sent once"})
	}
	credential, ok := bearer(x.headers.authorization)
	if !ok {
		return fault.New(fault.SessionInvalid,
			"The Authorization header is not of the form Bearer and a credential.")
	}
	return s.resolve(x, credential)
}

// bearer is the credential of an Authorization header. The scheme is compared without case.
func bearer(value []byte) ([]byte, bool) {
	const scheme = "bearer "
	if len(value) <= len(scheme) || len(value) > len(scheme)+credentialMax {
		return nil, false
	}
	for i := range len(scheme) {
		if value[i] != scheme[i] && value[i]|0x20 != scheme[i] {
			return nil, false
		}
	}
	token := value[len(scheme):]
	for len(token) > 0 && token[0] == ' ' {
		token = token[1:]
	}
	if len(token) == 0 {
		return nil, false
	}
	for _, c := range token {
		if !tokenByte(c) {
			return nil, false
		}
	}
	return token, true
}

func tokenByte(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	switch c {
	case '-', '.', '_', '~', '+', '/', '=':
		return true
	}
	return false
}
