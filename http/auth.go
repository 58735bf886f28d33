package http

import (
	"cmp"

	"pws/api"
	"pws/internal/fault"
	"pws/internal/id"
)

// credentialMax bounds what is hashed for unauthenticated callers, in bytes.
const credentialMax = 512

// sessionOf finds the session of a credential and enters it in a call. Without a credential the
// session is zero. Errors: VALIDATION_FAILED, SESSION_INVALID, SESSION_EXPIRED.
func (s *Server) sessionOf(h *headers, call *api.Call) (session id.ID, err error) {
	switch {
	case h.authorizations == 0:
		return session, nil
	case h.authorizations > 1:
		return session, fault.Invalid(fault.Field{
			Field: "Authorization", Problem: "must be sent once",
		})
	}
	credential, ok := bearer(h.authorization)
	if !ok {
		return session, fault.New(fault.SessionInvalid,
			"The Authorization header is not of the form Bearer and a credential.")
	}
	return s.resolve(call, credential)
}

// checkCaller returns the error for a caller with an invalid credential, or without one if the
// operation requires it. Errors: AUTHENTICATION_REQUIRED, STORAGE_UNAVAILABLE, and those of
// sessionOf.
func (x *exchange) checkCaller(denied error) error {
	if denied == nil && x.call.Agent.IsZero() && x.route.operation.Auth == api.Bearer {
		return fault.New(fault.AuthenticationRequired,
			"The operation needs the header Authorization: Bearer with a session credential.")
	}
	if denied == nil {
		return nil
	}
	return cmp.Or(x.call.Fresh(), denied)
}

// bearer returns the credential of an Authorization header. The case of the scheme does not
// matter.
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
