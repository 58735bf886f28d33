package api

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"pws/api/cursor"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

// Auth says who may call an operation at all; what a caller may do there is for the rules.
type Auth uint8

const (
	// Anonymous operations do not ask who calls. A credential that is sent must be valid all the same.
	Anonymous Auth = iota
	// Optional operations take anonymous callers, and answer by the caller where there is one.
	Optional
	// Bearer operations need a live session.
	Bearer
)

// Idempotency says whether an operation takes the Idempotency-Key header.
type Idempotency uint8

const (
	// NoKey operations ignore the header.
	NoKey Idempotency = iota
	// KeyOptional operations honour it.
	KeyOptional
	// KeyRequired operations refuse a request without it.
	KeyRequired
)

// Category is the rate-limit class of an operation.
type Category string

// The categories, each with limits of its own.
const (
	CategoryRead         Category = "read"
	CategoryWrite        Category = "write"
	CategoryRegistration Category = "registration"
	// CategoryRegistrationStart is asking for the challenge of a registration, which registers nobody.
	CategoryRegistrationStart Category = "registration-start"

	CategoryCreation Category = "creation"
	CategorySearch   Category = "search"
	CategoryReport   Category = "report"
	// CategoryProbe requests count against no limit.
	CategoryProbe Category = "probe"
)

// Param is one path or query parameter. Check uses the words of the check tag.
type Param struct {
	Name    string
	Doc     string
	Check   string
	Integer bool
	// Default is the value of an integer that is absent.
	Default int
	// Raw values may be other bytes than UTF-8; the operation judges them.
	Raw bool
}

// schema is the JSON Schema of its value.
func (p *Param) schema() jsonschema.Object {
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
	// Errors are the codes the handler and its rules may answer with; those that follow from
	// authentication, idempotency, body and rate limits are added by Codes.
	Errors []fault.Code
	// Params describes the path parameters, Query the query parameters; others are refused.
	Params []Param
	Query  []Param
	// Conditional says that If-Match (writes) or If-None-Match (reads) is honoured.
	Conditional bool
	// Streams says that Accept: text/event-stream is honoured.
	Streams bool
	// Media are the content types of an answer that is a Document, without an envelope, the usual one
	// first. Response is then the type of the whole body where it is JSON. The call has the Host.
	Media []string
	// BodyMax is the largest body in bytes, declared where the checks of the body keep it well below
	// what the service takes at all. See BodyLimit.
	BodyMax int
	// BodyOptional says that an absent body counts as an empty object.
	BodyOptional bool
	// Request is the type of the body, nil where there is none; Response the type of data.
	Request  reflect.Type
	Response reflect.Type
	Tag      string
	Summary  string
	// Doc is one to three sentences: when to use it, what it returns, what expires.
	Doc string
	// Tool is the dotted name by which MCP has the operation; empty where it is no tool. Core tools
	// are those of an ordinary day, and ToolDoc stands for Doc where that says what is not for them.
	Tool    string
	Core    bool
	ToolDoc string
	// Overwrites says that the operation may replace or take away what stands there, which PUT and
	// DELETE do anyway.
	Overwrites bool

	newRequest func() any
	handle     func(c *Call, body any) (Reply, error)
	// form judges the form of a request; see Form.
	form func(c *Call, body any) []error
}

// The sizes of bodies, for BodyMax. A character takes up to twelve bytes where it is escaped.
const (
	// bodySmall is for names, keys and roles.
	bodySmall = 16 << 10
	// bodyText is for one text of 4,000 characters.
	bodyText = 64 << 10
	// bodyLists is for lists of names.
	bodyLists = 512 << 10
	// bodyNone bounds the body of an operation that takes none. GET ignores it; the others take an
	// empty object.
	bodyNone = 64 << 10
)

// BodyLimit is the largest body in bytes, of a service that takes no more than most.
func (o *Operation) BodyLimit(most int) int {
	switch {
	case o.BodyMax > 0:
		return min(o.BodyMax, most)
	case o.Request == nil:
		return min(bodyNone, most)
	}
	return most
}

// None is the body of operations that take none.
type None struct{}

// Reply is what a handler answers on success.
type Reply struct {
	// Status is one of the declared statuses; zero means the first of them.
	Status int
	// Data becomes the envelope's data. Where it implements Appender that is used.
	Data any
	// ETag is the strong entity tag, quotes included, empty where there is none.
	ETag string
	// Replayed says that Data is the original result of an earlier request with the same key.
	Replayed bool
}

// Appender is implemented by hot wire types that write their own JSON.
type Appender interface {
	AppendJSON(dst []byte) []byte
}

// Raw is data that is JSON already.
type Raw []byte

// AppendJSON copies the text.
func (r Raw) AppendJSON(dst []byte) []byte { return append(dst, r...) }

// MarshalJSON is for Raw inside of other types.
func (r Raw) MarshalJSON() ([]byte, error) { return r, nil }

// JSONSchema permits any value.
func (Raw) JSONSchema() map[string]any { return map[string]any{} }

// Document is data that is sent as it stands, without an envelope.
type Document struct {
	ContentType string
	Body        []byte
	// Varies says that another Accept may be answered otherwise.
	Varies bool
}

// JSONSchema permits any value, for a document is none of the envelope's.
func (Document) JSONSchema() map[string]any { return map[string]any{} }

// Declare makes an operation outside of the table, for services built around other operations.
func Declare[Req, Res any](op Operation, handle func(*Call, *Req) (Reply, error)) *Operation {
	return declare[Req, Res](op, handle)
}

// declare binds a handler to the types of its body and of its data.
func declare[Req, Res any](op Operation, handle func(*Call, *Req) (Reply, error)) *Operation {
	if reflect.TypeFor[Req]() != reflect.TypeFor[None]() {
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
	return &op
}

// judging adds to an operation what else its handler judges of the form of a request.
func judging[Req any](op *Operation, form func(body *Req, c *Call) []error) *Operation {
	op.form = func(c *Call, body any) []error {
		typed, ok := body.(*Req)
		if !ok {
			panic(fmt.Sprintf("%s: body is %T", op.Name, body))
		}
		return form(typed, c)
	}
	return op
}

// NewRequest makes an empty body to decode into; it is *None where the operation takes none.
func (o *Operation) NewRequest() any { return o.newRequest() }

// Run answers one call. Body comes from NewRequest and has been decoded and checked.
func (o *Operation) Run(c *Call, body any) (Reply, error) {
	reply, err := o.handle(c, body)
	if err != nil {
		o.explainKind(c, body, err)
		return reply, err
	}
	if reply.Status == 0 {
		reply.Status = o.Statuses[0]
	}
	return reply, nil
}

// Form is what is wrong with the form of a request beyond what the checks of its members say. It is
// asked for where these have refused the request already, so that one answer names all faults: the
// handler does not run then. Members of the body may be out of their bounds or empty.
func (o *Operation) Form(c *Call, body any) []error {
	var faults []error
	if o.form != nil {
		faults = append(faults, o.form(c, body)...)
	}
	if strings.HasSuffix(o.Path, "*}") || strings.Contains(o.Path, "*}/") {
		if _, err := c.pathOf(); err != nil {
			faults = append(faults, err)
		}
	}
	if text, sent := c.Query["cursor"]; sent {
		// Whose cursor it is depends on the other parameters, which may be at fault.
		if err := cursor.Check(text); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}

// Codes are all codes that the operation may answer with: those it declares, and those that follow
// from its authentication, its idempotency, its body and the limits.
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
	if o.Writes() {
		codes = append(codes, fault.StorageUnavailable)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// Writes reports whether the operation changes anything.
func (o *Operation) Writes() bool { return o.Method != "GET" && o.Category != CategoryRead }

// Table lists all operations. A name or a route that stands twice is a bug and panics.
var Table = tableOf(
	metaOperations,
	identityOperations,
	profileOperations,
	projectOperations,
	forkOperations,
	memberOperations,
	fileOperations,
	changesetOperations,
	stateOperations,
	manifestOperations,
	resumeOperations,
	handoffOperations,
	checkpointOperations,
	workSessionOperations,
	taskOperations,
	claimOperations,
	workspaceOperations,
	workspaceFileOperations,
	turnOperations,
	contributionOperations,
	revisionOperations,
	reviewOperations,
	verificationOperations,
	relationOperations,
	artifactOperations,
	importOperations,
	provenanceOperations,
	bundleOperations,
	opportunityOperations,
	searchOperations,
	discussionOperations,
	commentOperations,
	moderationOperations,
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
