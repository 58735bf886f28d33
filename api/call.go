package api

import (
	"strings"

	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Call is one request as the operations see it: decoded, authenticated, counted against its limits.
type Call struct {
	Service   *Service
	Operation *Operation
	RequestID string
	// Now is the service's time at arrival, in Unix milliseconds.
	Now int64
	// Session is nil for an anonymous caller, and Agent is then the zero ID.
	Session *identity.Session
	Agent   id.ID
	// Query holds the declared query parameters that were sent.
	Query map[string]string
	// Meter tells how the rate limits stand for the caller; nil where nothing is counted.
	Meter Meter
	// Params holds the path parameters in the order of the template, as sent and not decoded.
	Params []string
	// Idempotency is nil without an Idempotency-Key.
	Idempotency *IdempotencyKey
	// IfMatch and IfNoneMatch are the header values, empty where they were not sent.
	IfMatch     string
	IfNoneMatch string
	// Streams says that the caller prefers Server-Sent Events, of an operation that has them, and
	// LastEventID is the header, by which a stream goes on.
	Streams     bool
	LastEventID string
	// Host is the header, which nobody has judged, and PrefersJSON says that the caller asks for JSON
	// rather than for text, both of an operation that has Media. Secure says that the caller uses
	// https, as far as a trusted proxy knows.
	Host        string
	Secure      bool
	PrefersJSON bool

	// firstAt is when the request was answered that this one repeats.
	firstAt int64
}

// FirstAt is when the request was answered that this one repeats, in Unix milliseconds; zero where
// it repeats none. It is known after the call was run.
func (c *Call) FirstAt() int64 { return c.firstAt }

// IdempotencyKey is what is kept of an Idempotency-Key header: hashes, never the key.
type IdempotencyKey struct {
	// Hash covers the agent, the scope of the operation and the key.
	Hash [16]byte
	// Fingerprint covers method, path and canonical body.
	Fingerprint [16]byte
}

// Param is the path parameter of that name, as sent.
func (c *Call) Param(name string) string {
	at := 0
	rest := c.Operation.Path
	for {
		open := strings.IndexByte(rest, '{')
		if open < 0 {
			panic(c.Operation.Name + " has no path parameter " + name)
		}
		end := open + strings.IndexByte(rest[open:], '}')
		if strings.TrimSuffix(rest[open+1:end], "*") == name {
			return c.Params[at]
		}
		rest = rest[end+1:]
		at++
	}
}

// owner finds the thing whose ID a path parameter gives, and the project that has it; missing makes
// the error where there is none. It does not authorize.
func (c *Call) owner(
	kind id.Prefix, param string, missing func() error,
) (project *work.Project, thing id.ID, err error) {
	thing, ok := id.Parse(kind, c.Param(param))
	if ok {
		project, err = c.Service.Engine.Owner(kind, thing)
	}
	if project == nil && err == nil {
		err = missing()
	}
	return project, thing, err
}

// projectID reads the project path parameter; what is no project ID names no project.
func (c *Call) projectID() (id.ID, error) {
	project, ok := id.Parse(id.Project, c.Param("project"))
	if !ok {
		return id.ID{}, errProjectNotFound()
	}
	return project, nil
}

func errProjectNotFound() error {
	return fault.New(fault.ProjectNotFound, "There is no such project.")
}
