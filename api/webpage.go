package api

import "pws/identity"

// WebPage is an answer for a browser.
type WebPage struct {
	Body []byte
	// ContentType is that of HTML if it is empty. Lasting answers have an address of their own for
	// each content, so browsers need not ask again.
	ContentType string
	Lasting     bool
	// Location is where the browser goes instead, empty if it stays.
	Location string
	// Credential is the new one of the browser: nil leaves it as it is, empty takes it away.
	Credential *string
}

// JSONSchema permits any value, because a page has no envelope.
func (WebPage) JSONSchema() map[string]any { return map[string]any{} }

// WebFailure is a refusal as a page shows it.
type WebFailure struct {
	Status            int
	Code, Message     string
	RequestID         string
	RetryAfterSeconds int
}

// AuthenticateWeb is Authenticate for the credentials of browsers, which nothing else accepts.
// Errors: SESSION_INVALID, SESSION_EXPIRED.
func (s *Service) AuthenticateWeb(credential string, now int64) (*identity.Session, error) {
	return s.authenticate(credential, now, true)
}

// CallerHandle is the handle of the caller, empty for an anonymous one.
func (c *Call) CallerHandle() string {
	if c.Session == nil {
		return ""
	}
	return c.handle(c.Agent)
}
