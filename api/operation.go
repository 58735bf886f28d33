package api

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"pws/api/cursor"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

// Auth says who may call an operation at all; the rules decide what a caller may do.
type Auth uint8

const (
	// Anonymous operations ignore who the caller is. A credential that is sent must still be
	// valid.
	Anonymous Auth = iota
	// Optional operations accept anonymous callers; the answer depends on the caller if there is
	// one.
	Optional
	// Bearer operations require a live session.
	Bearer
)

// Idempotency says whether an operation supports the Idempotency-Key header.
type Idempotency uint8

const (
	// NoKey operations ignore the header.
	NoKey Idempotency = iota
	// KeyOptional operations support it.
	KeyOptional
	// KeyRequired operations return an error without it.
	KeyRequired
)

// Category is the rate-limit class of an operation.
type Category string

// The categories, each with its own limits.
const (
	CategoryRead         Category = "read"
	CategoryWrite        Category = "write"
	CategoryRegistration Category = "registration"
	// CategoryRegistrationStart is for requests of a challenge for a registration, which do not
	// register an agent.
	CategoryRegistrationStart Category = "registration-start"

	CategoryCreation Category = "creation"
	CategorySearch   Category = "search"
	CategoryReport   Category = "report"
	// CategorySecurity is for what ends a session or a key. No limit of the agent counts it, so that
	// whoever has stolen a session cannot keep its owner from ending it.
	CategorySecurity Category = "security"
	// CategoryPage is for the pages of the web page.
	CategoryPage Category = "page"
	// CategoryExpensive is for limits only. It covers the operations that are Expensive, which have
	// another category, too.
	CategoryExpensive Category = "expensive"
	// CategoryProbe requests count against no limit.
	CategoryProbe Category = "probe"
)

// Param is one path or query parameter. Check uses the words of the check tag.
type Param struct {
	Name    string
	Doc     string
	Check   string
	Integer bool
	// Default is the value of an absent integer.
	Default int
	// Raw values may be any bytes; the operation validates them.
	Raw bool
	// HTTPOnly parameters are no arguments of the tool.
	HTTPOnly bool
}

// Schema returns the JSON Schema of its value.
func (p *Param) Schema() jsonschema.Object {
	return jsonschema.CompileCheck(p.Check).Schema(p.Integer)
}

// Operation is one declaration of the table.
type Operation struct {
	// Name is noun.verb, unique, and the operationId of the published documents.
	Name   string
	Method string
	// Path is a template: {name} matches one segment, {name*} the rest of the path as sent.
	Path        string
	Auth        Auth
	Idempotency Idempotency
	Category    Category
	// Statuses are the success statuses, the usual one first.
	Statuses []int
	// Errors are the codes that the handler and its rules may return. Codes adds those of
	// authentication, idempotency, body and rate limits.
	Errors []fault.Code
	// Params describes the path parameters, Query the query parameters; others are errors.
	Params []Param
	Query  []Param
	// Conditional means that If-Match (writes) or If-None-Match (reads) is supported.
	Conditional bool
	// MatchRequired means that a request without If-Match is refused.
	MatchRequired bool
	// Ranges means that the header Range is supported: an answer with 206 is one range of bytes.
	Ranges bool
	// OnLeader means that a read is of what the server alone has that accepts writes.
	OnLeader bool
	// Streams means that Accept: text/event-stream is supported.
	Streams bool
	// Page marks a page for people. The caller's session is that of a cookie, refusals are pages, and
	// what is sent by the pages of others is refused. See WebPage.
	Page bool
	// AnyQuery accepts parameters that are not declared, and does not read them.
	AnyQuery bool
	// Linked means that the answer contains the address of the service; the call has the Host.
	Linked bool
	// Media are the content types of an answer that is a Document, without an envelope, the
	// usual one first. If it is JSON, Response is the type of the whole body. The call has the
	// Host.
	Media []string
	// BodyMax is the maximum size of the body in bytes, where it is less than what the checks of
	// the body permit. See BodyLimit.
	BodyMax int
	// BodyOptional means that an absent body counts as an empty object.
	BodyOptional bool
	// Request is the type of the body, nil if there is none; Response the type of data.
	Request  reflect.Type
	Response reflect.Type
	Tag      string
	Summary  string
	// Doc is one to three sentences: when to use it, what it returns, what expires.
	Doc string
	// Tool is the dotted name of the MCP tool, empty if there is none. Core tools are those for
	// everyday work. ToolDoc replaces Doc if Doc contains something that does not apply to
	// tools.
	Tool    string
	Core    bool
	ToolDoc string
	// ToolPage is the page of a tool that lists if the caller names no limit; zero means the usual
	// one.
	ToolPage int
	// ToolBriefs are members of the body that the tool lists without their members, because others
	// have the same ones.
	ToolBriefs []string
	// Overwrites means that the operation can replace or delete something; PUT and DELETE always
	// do.
	Overwrites bool

	// Unmetered means that a write is accepted where all quotas of stored bytes are used up: it is of
	// an identity, or only ends something and stores little (work.EndsOnly).
	Unmetered bool

	// Kept are members of the entities in the data that a minimal answer has too, because the caller
	// does not know them. See Minimal.
	Kept []string

	// Expensive means that one call may take thousands of times the processor time of another. A few
	// such operations run at one time, and their time is charged to the caller.
	Expensive bool

	// RawMedia are the content types of a body that is not JSON, the usual one first; nil for JSON.
	// The handler gets a RawBody.
	RawMedia []string

	// MergePatch is the same operation for a body that is a merge patch (RFC 7396), nil if there is
	// none. It differs in Request alone.
	MergePatch *Operation

	newRequest func() any
	handle     func(c *Call, body any) (Reply, error)
	// validate validates a request; see Validate.
	validate func(c *Call, body any) []error
	// minimal is the filter of Minimal, nil if the operation writes nothing.
	minimal func() *jsonschema.Filter
}

// The sizes of bodies, for BodyMax.
const (
	// bodySmall is the least of all bodies: a text that is somewhat too long is refused by the check
	// that names it.
	bodySmall = 64 << 10
	// bodyNone limits the body of an operation without one. GET ignores the body; the others
	// accept an empty object.
	bodyNone = 64 << 10
)

// BodyLimit returns the maximum size of the body in bytes, given the limit of the service. It is
// what the checks of the body permit with every character escaped, at least 64 KiB, unless BodyMax
// is less. Bodies that contain files have the limit of the service.
func (o *Operation) BodyLimit(most int) int {
	if o.RawMedia != nil {
		return min(o.BodyMax, most)
	}
	if o.Request == nil {
		return min(bodyNone, most)
	}
	limit := max(jsonschema.MaxBytes(o.Request, most), bodySmall)
	if o.BodyMax > 0 {
		limit = min(limit, o.BodyMax)
	}
	return min(limit, most)
}

// None is the body of operations without one.
type None struct{}

// Reply is the result of a handler on success.
type Reply struct {
	// Status is one of the declared statuses; zero means the first of them.
	Status int
	// Data becomes the envelope's data. If it implements Appender, that is used.
	Data any
	// ETag is the strong entity tag, quotes included, empty if there is none.
	ETag string
	// Replayed means that Data is the original result of an earlier request with the same key.
	Replayed bool
}

// Appender is implemented by hot wire types that write their own JSON.
type Appender interface {
	AppendJSON(dst []byte) []byte
}

// Sized is an Appender that knows about how many bytes it appends. Memory is reserved BEFORE that.
type Sized interface {
	JSONBytes() int
}

// Raw is data that is already JSON.
type Raw []byte

// JSONBytes implements Sized.
func (r Raw) JSONBytes() int { return len(r) }

// AppendJSON copies the text.
func (r Raw) AppendJSON(dst []byte) []byte { return append(dst, r...) }

// MarshalJSON is for Raw inside of other types.
func (r Raw) MarshalJSON() ([]byte, error) { return r, nil }

// JSONSchema permits any value.
func (Raw) JSONSchema() map[string]any { return map[string]any{} }

// Document is data that is sent unchanged, without an envelope.
type Document struct {
	ContentType string
	Body        []byte
	// Varies means that the answer depends on the Accept header.
	Varies bool
	// Location is where the client goes instead, empty if it stays.
	Location string
	// Foreign documents are written by agents. Browsers do not run what is in them.
	Foreign bool
}

// JSONSchema permits any value, because a document has no envelope.
func (Document) JSONSchema() map[string]any { return map[string]any{} }

// Declare makes an operation outside of the table, for services built around other operations.
func Declare[Req, Res any](op Operation, handle func(*Call, *Req) (Reply, error)) *Operation {
	return declare[Req, Res](op, handle)
}

// declare binds a handler to the types of its body and of its data.
func declare[Req, Res any](op Operation, handle func(*Call, *Req) (Reply, error)) *Operation {
	if request := reflect.TypeFor[Req](); request != reflect.TypeFor[None]() &&
		request != reflect.TypeFor[RawBody]() {
		op.Request = reflect.TypeFor[Req]()
	}
	op.Response = reflect.TypeFor[Res]()
	op.newRequest = func() any { return new(Req) }
	op.handle = func(c *Call, body any) (Reply, error) {
		typed, ok := body.(*Req)
		if !ok {
			return Reply{}, fmt.Errorf("%s: body is %T", op.Name, body)
		}
		return handle(c, typed)
	}
	if op.Writes() {
		op.minimal = sync.OnceValue(op.newMinimal)
	}
	return &op
}

// withValidation sets the function that validates a request beyond the checks of its members.
func withValidation[Req any](op *Operation, form func(body *Req, c *Call) []error) *Operation {
	op.validate = func(c *Call, body any) []error {
		typed, ok := body.(*Req)
		if !ok {
			panic(fmt.Sprintf("%s: body is %T", op.Name, body))
		}
		return form(typed, c)
	}
	return op
}

// withMergePatch adds the handler for a body that is a merge patch.
func withMergePatch[Patch any](
	op *Operation, handle func(*Call, *Patch) (Reply, error),
) *Operation {
	patch := declare[Patch, None](*op, handle)
	patch.Response = op.Response
	op.MergePatch = patch
	return op
}

// NewRequest returns an empty body to decode into; it is *None if the operation has no body.
func (o *Operation) NewRequest() any { return o.newRequest() }

// Run answers one call. Body comes from NewRequest and has been decoded and checked.
func (o *Operation) Run(c *Call, body any) (Reply, error) {
	if err := o.requireNoTag(c); err != nil {
		return Reply{}, err
	}
	reply, err := o.handle(c, body)
	if stale := o.stale(c, err); stale != nil {
		return Reply{}, stale
	}
	if err != nil {
		o.explainKind(c, body, err)
		return reply, err
	}
	if reply.Status == 0 {
		reply.Status = o.Statuses[0]
	}
	return reply, nil
}

// Validate returns the errors of a request beyond the checks of its members. It is called
// instead of the handler if those checks failed, so that one answer lists all errors. Members of
// the body may violate their checks or be empty.
func (o *Operation) Validate(c *Call, body any) []error {
	var faults []error
	if o.validate != nil {
		faults = append(faults, o.validate(c, body)...)
	}
	if strings.Contains(o.Path, "{path*}") {
		if _, err := c.pathOf(); err != nil {
			faults = append(faults, err)
		}
	}
	if text, sent := c.Query["cursor"]; sent {
		// Which operation and filters a cursor belongs to cannot be checked here, because the
		// other parameters may be invalid.
		if err := cursor.Check(text); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}

// changesUntagged reports whether the operation changes something that has no ETag.
func (o *Operation) changesUntagged() bool {
	return !o.Conditional && slices.Contains([]string{"PUT", "PATCH", "DELETE"}, o.Method)
}

// requireNoTag refuses a condition for a change of something that has no ETag: no tag can be its
// own. Errors: PRECONDITION_FAILED, and those of a project that the caller may not see.
func (o *Operation) requireNoTag(c *Call) error {
	if c.IfMatch == "" || c.IfMatch == "*" || !o.changesUntagged() {
		return nil
	}
	if strings.Contains(o.Path, "{project}") {
		if _, err := c.readable(); err != nil {
			return err
		}
	}
	return fault.New(fault.PreconditionFailed,
		"What this request changes has no ETag: no If-Match but * holds.").With("current_etag", nil)
}

// Codes returns all codes that the operation may return: those it declares, and those of its
// authentication, its idempotency, its body, the limits and the storage.
func (o *Operation) Codes() []fault.Code {
	codes := append([]fault.Code{
		fault.ValidationFailed, fault.InvalidJSON, fault.UnsupportedContentType,
		fault.BodyTooLarge, fault.RateLimited, fault.RequestTimeout, fault.HeadersTooLarge,
		fault.Internal, fault.ShuttingDown, fault.SessionInvalid, fault.SessionExpired,
	}, o.Errors...)
	if o.Auth == Bearer {
		codes = append(codes, fault.AuthenticationRequired)
	}
	if o.Idempotency != NoKey {
		codes = append(codes, fault.IdempotencyKeyInvalid, fault.IdempotencyKeyReused,
			fault.IdempotencyInProgress)
	}
	if o.Idempotency == KeyRequired {
		codes = append(codes, fault.IdempotencyKeyRequired)
	}
	if o.changesUntagged() {
		codes = append(codes, fault.PreconditionFailed)
	}
	if o.StoresBytes() {
		codes = append(codes, fault.QuotaExceeded)
	}
	if !o.DescribesService() {
		codes = append(codes, fault.Forbidden, fault.StorageUnavailable)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// DescribesService reports whether the operation reads what describes the service and has no data
// of agents. Web pages of all origins may read that.
func (o *Operation) DescribesService() bool {
	return o.Method == "GET" && o.Auth == Anonymous &&
		(len(o.Media) > 0 || strings.HasPrefix(o.Name, "meta."))
}

// pageSignIn are the operations that the page of the sign-in uses in a browser with a key.
var pageSignIn = []string{
	"agent.register_start", "agent.register_complete", "agent.read", "auth.challenge",
	"auth.session", "auth.web_code", "auth.end_session",
}

// ForPages reports whether the operation is served at an address that is for pages alone: it is a
// page, describes the service, or is needed to sign in there.
func (o *Operation) ForPages() bool {
	return o.Page || o.DescribesService() || slices.Contains(pageSignIn, o.Name)
}

// Writes reports whether the operation changes anything.
func (o *Operation) Writes() bool { return o.Method != "GET" && o.Category != CategoryRead }

// Table lists all operations. It panics if a name or a route is duplicate, which is a bug.
var Table = tableOf(
	metaOperations,
	identityOperations,
	webCodeOperations,
	profileOperations,
	projectOperations,
	projectEndOperations,
	projectDaysOperations,
	mineOperations,
	undecidedOperations,
	overviewOperations,
	activityOperations,
	forkOperations,
	memberOperations,
	blockOperations,
	fileOperations,
	filePathOperations,
	rawFileOperations,
	archiveOperations,
	grepOperations,
	editOperations,
	changesetOperations,
	revertOperations,
	stateOperations,
	stateHistoryOperations,
	manifestOperations,
	resumeOperations,
	handoffOperations,
	checkpointOperations,
	workSessionOperations,
	taskOperations,
	claimOperations,
	workspaceOperations,
	workspaceFileOperations,
	workspaceEditOperations,
	turnOperations,
	contributionOperations,
	revisionOperations,
	mergeOperations,
	reviewOperations,
	verificationOperations,
	relationOperations,
	artifactOperations,
	importOperations,
	provenanceOperations,
	bundleOperations,
	uploadOperations,
	opportunityOperations,
	searchOperations,
	discussionOperations,
	commentOperations,
	moderationOperations,
	deletionOperations,
	workspaceEndOperations,
	watchOperations,
	eventOperations,
	inboxOperations,
	reportOperations,
	quotaOperations,
	schemaOperations,
	documentOperations,
)

func tableOf(groups ...[]*Operation) []*Operation {
	var table []*Operation
	seen := map[string]bool{}
	for _, group := range groups {
		for _, op := range group {
			route := op.Method + " " + op.Path
			if seen[op.Name] || seen[route] {
				panic("declared twice: " + op.Name + " " + route)
			}
			seen[op.Name], seen[route] = true, true
			if len(op.Statuses) == 0 || op.Tag == "" || op.Summary == "" || op.Doc == "" {
				panic("declared in part: " + op.Name)
			}
			table = append(table, op)
		}
	}
	return table
}
