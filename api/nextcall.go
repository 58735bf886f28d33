package api

import (
	"bytes"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/internal/fault"
	"pws/internal/id"
)

// Sent is what a caller sent to an operation that refused it, as far as it is known.
type Sent struct {
	// Query holds the parameters of the query, also invalid ones.
	Query map[string]string
	// Body is the body, empty if there is none.
	Body []byte
	// Key is the Idempotency-Key, empty if there is none.
	Key string
	// Loose means that Query does not tell how the parameters were written: one of them twice, or
	// as a text where it is a number.
	Loose bool
}

// NextCall is a complete call that the caller of a refused one can make as it is: the refused
// request with its faults corrected, or another call by which the caller gets on.
type NextCall struct {
	StepCall
	Query map[string]string
	// Body has the members of the body, nil if there is none.
	Body map[string]any
	// Key is the Idempotency-Key, empty if the call needs none.
	Key string
	// Anonymous calls are made without the credential, which is not valid.
	Anonymous bool
}

// NextCallKey is the member of a refusal that holds the next call.
const NextCallKey = "next_call"

// Target returns the path of the request with its query.
func (n *NextCall) Target() string {
	target := n.StepCall.Target()
	if len(n.Query) == 0 {
		return target
	}
	values := url.Values{}
	for name, value := range n.Query {
		values.Set(name, value)
	}
	return target + "?" + values.Encode()
}

// BodyText returns the body as JSON, nil if there is none.
func (n *NextCall) BodyText() jsontext.Value {
	if n.Body == nil {
		return nil
	}
	return jsonOf(n.Body)
}

// Arguments returns the arguments of the tool as a JSON object.
func (n *NextCall) Arguments() jsontext.Value {
	arguments := map[string]any{}
	for name, value := range n.Params {
		arguments[name] = value
	}
	for name, value := range n.Query {
		arguments[name] = n.Operation.argumentOf(name, value)
	}
	maps.Copy(arguments, n.Body)
	if n.Key != "" {
		arguments[KeyArgument] = n.Key
	}
	return jsonOf(arguments)
}

// argumentOf returns a parameter of the query as an argument of the tool.
func (o *Operation) argumentOf(name, value string) any {
	at := slices.IndexFunc(o.Query, func(one Param) bool { return one.Name == name })
	if at >= 0 && o.Query[at].Integer {
		if number, err := strconv.Atoi(value); err == nil {
			return number
		}
	}
	if at >= 0 && o.Query[at].Check == booleanCheck && (value == "true" || value == "false") {
		return value == "true"
	}
	return value
}

// jsonOf encodes a tree of JSON values, which cannot fail.
func jsonOf(value any) jsontext.Value {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		panic("api: " + err.Error())
	}
	return text
}

// NextCall returns the complete call that the caller of a refused request should make next, nil if
// there is none. Like Next it reveals nothing that the caller may not read. It costs nothing unless
// a request is refused.
func (c *Call) NextCall(refusal *fault.Error, client Client, sent *Sent) *NextCall {
	if c.Operation == nil || c.Service == nil || c.Service.Engine == nil {
		return nil
	}
	s := &situation{call: c, refusal: refusal, client: client, sent: sent}
	if next := s.repaired(); next != nil && !s.repeats(next) {
		return next
	}
	if next := s.identified(); next != nil && !s.repeats(next) {
		return next
	}
	for i := range callsByCode[refusal.Code] {
		next := s.planned(&callsByCode[refusal.Code][i])
		if next != nil && !s.repeats(next) {
			return next
		}
	}
	if next := s.fallback(); next != nil && !s.repeats(next) {
		return next
	}
	return nil
}

// repeats reports whether a call is the refused one, which would be refused again.
func (s *situation) repeats(next *NextCall) bool {
	g := s.given()
	if g == nil || s.sent.Loose || next.Anonymous || next.Operation != s.call.Operation ||
		next.Key != g.key || !maps.Equal(next.Query, g.query) {
		return false
	}
	for i, one := range next.Operation.pathParams() {
		// A path with an encoded slash is another one.
		if i < len(s.call.Params) && strings.Count(s.call.Params[i], "/") !=
			strings.Count(next.Params[one.Name], "/") {
			return false
		}
	}
	return maps.Equal(next.Params, g.path) &&
		bytes.Equal(jsonOf(next.Body), jsonOf(g.body))
}

// callPlan is a call that helps after an error: an operation whose path parameters are known, its
// query and its body. An empty value of the query is filled by a function.
type callPlan struct {
	operation string
	query     map[string]string
	body      map[string]any
	when      func(s *situation) bool
	// fill completes the call, and reports whether it could; nil for nothing to complete.
	fill func(s *situation, next *NextCall) bool
}

// planned makes the call of a plan, nil if it is not available to the caller.
func (s *situation) planned(plan *callPlan) *NextCall {
	if plan.when != nil && !plan.when(s) {
		return nil
	}
	op := s.available(plan.operation)
	if op == nil {
		return nil
	}
	call := StepCall{Operation: op, Params: map[string]string{}}
	for _, one := range op.pathParams() {
		call.Params[one.Name] = s.param(one.Name)
	}
	next := &NextCall{StepCall: call, Query: maps.Clone(plan.query), Body: maps.Clone(plan.body)}
	if plan.fill != nil && !plan.fill(s, next) {
		return nil
	}
	for _, one := range call.Operation.pathParams() {
		if next.Params[one.Name] == "" {
			return nil
		}
	}
	if call.Operation.Idempotency == KeyRequired {
		next.Key = s.call.RequestID
	}
	next.Anonymous = fault.Lookup(s.refusal.Code).Status == 401
	return next
}

// plans are calls without conditions, of which the first that is available is made.
func plans(operations ...string) []callPlan {
	list := make([]callPlan, len(operations))
	for i, name := range operations {
		list[i].operation = name
	}
	return list
}

var (
	freeTasks = callPlan{
		operation: "task.list", query: map[string]string{"status": "OPEN", "claimed": "false"},
	}
	copyProject = callPlan{
		operation: "project.fork", body: map[string]any{"visibility": "PRIVATE"},
	}
	resumeWork = callPlan{operation: "resume.read", query: map[string]string{"max_chars": "4000"}}
)

// callsByCode are the calls that help after an error of a code, in the order in which they are
// tried.
var callsByCode = map[fault.Code][]callPlan{
	fault.ProjectMoved: {{
		operation: "resume.read", query: map[string]string{"max_chars": "4000"},
		fill: detailInQuery("base_changeset_id", "since_changeset"),
	}, resumeWork},
	fault.StateConflict: slices.Concat(plans("state.read"), []callPlan{resumeWork}),
	fault.EditNotFound: {
		{operation: "workspace.file.read", fill: nearestLines},
		{operation: "file.read", fill: nearestLines},
	},
	fault.EditAmbiguous: {
		{operation: "workspace.file.read", fill: foundLines},
		{operation: "file.read", fill: foundLines},
	},
	fault.FileNotFound: {
		{operation: "file.read", fill: nearPath}, {operation: "file.raw", fill: nearPath},
		{operation: "workspace.files"}, {operation: "file.paths"},
	},
	fault.FileExists:   plans("workspace.file.read", "file.read"),
	fault.FileChanged:  plans("workspace.file.read", "file.read"),
	fault.PathConflict: {{operation: "file.paths"}},
	fault.TaskAlreadyClaimed: {
		{operation: "task.renew", when: (*situation).holds},
		{operation: "agent.overview", when: (*situation).holds}, freeTasks,
	},
	fault.TaskNotClaimable:  {freeTasks},
	fault.DependenciesUnmet: {freeTasks},
	fault.ClaimLost: {
		{operation: "task.claim", when: (*situation).free}, freeTasks,
	},
	fault.RoleRequired: slices.Concat([]callPlan{
		{operation: "workspace.open", when: writesFiles}, {operation: "turn.take", when: writesFiles},
	}, plans("contribution.read", "member.list"), []callPlan{resumeWork}),
	fault.OwnerRequired: slices.Concat(plans("member.list"), []callPlan{resumeWork}),
	fault.SelfReview:    slices.Concat(plans("contribution.read"), []callPlan{freeTasks}),
	fault.ProjectIsCommunity: slices.Concat(plans("turn.take"),
		[]callPlan{copyProject, resumeWork}),
	fault.ProjectNotCommunity: slices.Concat(plans("workspace.open"), []callPlan{resumeWork}),
	fault.TurnHeld:            {resumeWork},
	fault.TurnLost:            slices.Concat(plans("turn.take"), []callPlan{copyProject, resumeWork}),
	fault.ProjectArchived: {
		{operation: "project.update", body: map[string]any{"status": "ACTIVE"}},
		copyProject, resumeWork,
	},
	fault.ReuseNotPermitted: slices.Concat(plans("manifest.read"), []callPlan{resumeWork}),
	fault.WorkspaceClosed: slices.Concat(plans("workspace.open", "turn.take"),
		[]callPlan{copyProject, resumeWork}),
	fault.NothingToSubmit: slices.Concat(plans("contribution.read", "workspace.files", "file.paths"),
		[]callPlan{resumeWork}),
	fault.ApprovalPending:    plans("contribution.read", "inbox.read"),
	fault.RevisionSuperseded: plans("contribution.diff", "contribution.read", "inbox.read"),
	fault.ContributionClosed: plans("contribution.read", "inbox.read"),
	fault.ContributionConflict: slices.Concat(plans("workspace.refresh", "contribution.read"),
		[]callPlan{resumeWork}),
	fault.ChangesetConflict:  plans("file.paths"),
	fault.MemberExists:       slices.Concat(plans("member.list"), []callPlan{resumeWork}),
	fault.PreconditionFailed: slices.Concat(plans(readAgain), []callPlan{resumeWork}),
	fault.LastActiveKey:      plans("key.list"),
	fault.QuotaExceeded: {
		// Its files can be read one by one.
		{operation: "file.paths", when: isLargeAnswer},
		{operation: "quota.list"}, {operation: "agent.overview"},
	},
	fault.BodyTooLarge:    plans("meta.capabilities"),
	fault.FileTooLarge:    plans("meta.capabilities"),
	fault.HeadersTooLarge: plans("meta.capabilities"),
	fault.KeyAlreadyRegistered: {
		{operation: "auth.challenge", fill: detailsInBody("agent_id", "key_id")},
	},
	fault.AuthenticationRequired: plans("document.registration"),
	fault.SessionInvalid:         plans("document.registration"),
	fault.SessionExpired:         plans("document.registration"),
	fault.InvalidJSON:            {{operation: "schema.read", fill: ownSchema}},
	fault.ValidationFailed:       {{operation: "schema.read", fill: ownSchema}},
	fault.EmptyChangeset:         {{operation: "schema.read", fill: ownSchema}},
	fault.UnsupportedContentType: {{operation: "schema.read", fill: ownSchema}},
}

// free reports whether nobody holds the task that the refusal is about.
func (s *situation) free() bool {
	s.look()
	return s.task != nil && s.task.Claim == nil
}

func detailInQuery(detail, param string) func(s *situation, next *NextCall) bool {
	return func(s *situation, next *NextCall) bool {
		text, _ := s.refusal.Details[detail].(string)
		next.Query[param] = text
		return text != ""
	}
}

func detailsInBody(details ...string) func(s *situation, next *NextCall) bool {
	return func(s *situation, next *NextCall) bool {
		next.Body = map[string]any{}
		for _, name := range details {
			text, _ := s.refusal.Details[name].(string)
			if next.Body[name] = text; text == "" {
				return false
			}
		}
		return true
	}
}

// fallback is a read for tools, which have no schemas to read: the project that the call names, or
// the list that has the ID that is missing. Other arguments can only be chosen by the caller.
func (s *situation) fallback() *NextCall {
	if !s.client.MCP || fault.Lookup(s.refusal.Code).Status != 400 {
		return nil
	}
	if s.own("project") != "" {
		if _, fits := id.Parse(id.Project, s.own("project")); fits {
			return &NextCall{
				StepCall: StepCall{operationNamed("resume.read"), map[string]string{
					"project": s.own("project"),
				}},
				Query: map[string]string{"max_chars": "4000"},
			}
		}
	}
	for _, one := range s.refusal.Fields() {
		name := strings.TrimSuffix(one.Field, "_id")
		for kind, param := range paramOf {
			if param == name && one.Problem == "is required" {
				return s.list(kind)
			}
		}
	}
	return nil
}

// ownSchema names the schema of the body of the refused request.
func ownSchema(s *situation, next *NextCall) bool {
	name := s.call.Operation.RequestSchema()
	next.Params["schema"] = name
	return name != ""
}
