package api

import (
	"strings"

	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Call is one request as the operations see it: decoded, authenticated, and counted against its
// limits.
type Call struct {
	Service   *Service
	Operation *Operation
	RequestID string
	// Now is the service's time at the arrival of the request, in Unix milliseconds.
	Now int64
	// Session is nil for an anonymous caller, and Agent is then the zero ID.
	Session *identity.Session
	Agent   id.ID
	// Query holds the declared query parameters of the request.
	Query map[string]string
	// Meter accounts for the request; nil if nothing does.
	Meter Meter
	// Params holds the path parameters in the order of the template, as sent and not decoded.
	Params []string
	// Idempotency is nil without an Idempotency-Key.
	Idempotency *IdempotencyKey
	// IfMatch and IfNoneMatch are the header values, empty if the headers are absent.
	IfMatch     string
	IfNoneMatch string
	// Streams means that the caller prefers Server-Sent Events and the operation supports them.
	// LastEventID is the header that says where a stream resumes.
	Streams     bool
	LastEventID string
	// Host is the header, which is not validated. PrefersJSON means that the caller prefers JSON
	// to text, PrefersHTML that it is a browser. They are set only where an operation uses them.
	// Secure means that the caller uses https, according to a trusted proxy.
	Host        string
	Secure      bool
	PrefersJSON bool
	PrefersHTML bool
	// ByTool says that a tool is called: its answer has the data twice, once as a text.
	ByTool bool
	// OnPages says that the request came to an address that is for pages alone.
	OnPages bool
	// PassedFromPages says that another member of the group has passed the request on, and that it
	// came to such an address there.
	PassedFromPages bool
	// Target is the path with the query, as sent. Theme is what the browser chose for pages.
	Target string
	Theme  Theme
	// OnlyAsks says that the caller asks whether it may do this: a command changes nothing and ends
	// with ErrPermitted or a refusal.
	OnlyAsks bool

	// named is the project that the body names; zero if the path says what the call is about.
	named id.ID
	// readMark and readFault are the result of BeginRead.
	readMark  ReadMark
	readFault error
	// firstAt is when the original request was answered if this one is a repeat.
	firstAt int64
	// leavesOut makes recordText leave texts out, leftOut is whether it has. textFault is the first
	// error that it met.
	leavesOut, leftOut bool
	textFault          error
}

// FirstAt returns when the original request was answered if this one is a repeat, in Unix
// milliseconds; zero otherwise. It is valid after Run.
func (c *Call) FirstAt() int64 { return c.firstAt }

// IdempotencyKey holds the hashes of an Idempotency-Key header, never the key itself.
type IdempotencyKey struct {
	// Hash covers the agent, the scope of the operation and the key.
	Hash [16]byte
	// Fingerprint covers method, path and canonical body.
	Fingerprint [16]byte
}

// Param returns the path parameter of that name, as sent.
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

// owner finds the record whose ID is in the path parameter of a kind, and its project. The function
// missing makes the error if there is none. It does not authorize.
func (c *Call) owner(
	kind id.Prefix, missing func() error,
) (project *work.Project, record id.ID, err error) {
	record, ok := id.Parse(kind, c.Param(paramOf[kind]))
	if ok {
		project, err = c.Service.Engine.Owner(kind, record, c.Agent)
	}
	if project == nil && err == nil {
		err = missing()
	}
	return project, record, err
}

// projectID reads the project path parameter. An invalid ID is treated like that of an unknown
// project.
func (c *Call) projectID() (id.ID, error) {
	project, ok := id.Parse(id.Project, c.Param("project"))
	if !ok {
		return id.ID{}, fault.NoProject()
	}
	return project, nil
}

// readable returns the published view of the project in the path if the caller may see it.
func (c *Call) readable() (*work.Project, error) {
	project, err := c.projectID()
	if err != nil {
		return nil, err
	}
	return c.readableProject(project)
}

// readableProject returns the published view of a project if the caller may see it.
func (c *Call) readableProject(project id.ID) (*work.Project, error) {
	view, err := c.Service.Engine.ProjectFor(project, c.Agent)
	if view == nil && err == nil {
		err = fault.NoProject()
	}
	return view, err
}

// changesetOf returns the changeset in the path of a readable project: CHANGESET_NOT_FOUND.
func (c *Call) changesetOf(view *work.Project) (*work.Changeset, error) {
	return findChangeset(view, c.Param("changeset"))
}

// changesetWanted returns the changeset that the query names, or the head. Errors:
// CHANGESET_NOT_FOUND.
func (c *Call) changesetWanted(view *work.Project) (*work.Changeset, error) {
	if wanted := c.Query[changesetQuery.Name]; wanted != "" {
		return findChangeset(view, wanted)
	}
	return view.Head(), nil
}

func findChangeset(view *work.Project, text string) (*work.Changeset, error) {
	if wanted, ok := id.Parse(id.Changeset, text); ok {
		if changeset, found := view.Changeset(wanted); found {
			return changeset, nil
		}
	}
	return nil, fault.NoChangeset()
}
