package api

import (
	"net/url"
	"slices"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
	"pws/work/path"
)

// A refusal says what to do next. What it says is made of pieces of advice: sentences that name
// operations of the table between angle brackets. Advice is given only where every operation that
// it names exists for the caller: over MCP as a tool that its profile lists, with parameters that
// are known, and permitted to the caller by the state of the project.

// Client says how a caller reaches the service, which determines the names of operations.
type Client struct {
	// MCP callers call tools; others send requests.
	MCP bool
	// Core callers were shown only the core tools.
	Core bool
	// Base is the address of the service as the caller knows it.
	Base string
}

// Step is the recommended next step after an error.
type Step struct {
	Text string
	// Calls are the operations that the text names, in the order of the text.
	Calls []StepCall
}

// StepCall is an operation of a step with the path parameters that are known. Only the path of a
// file may be missing, because the caller chooses it.
type StepCall struct {
	Operation *Operation
	Params    map[string]string
}

// advice is a sentence with a condition.
type advice struct {
	text string
	// when is the condition; nil means always.
	when func(s *situation) bool
}

// Next returns the recommended step after an error of this call. It reveals nothing of the state
// that the caller may not read.
func (c *Call) Next(refusal *fault.Error, client Client) Step {
	s := &situation{call: c, refusal: refusal, client: client}
	list := adviceByCode[refusal.Code]
	if step, found := s.first(list); found {
		return step
	}
	if client.Core {
		s.client.Core = false
		if step, found := s.first(list); found && len(step.Calls) > 0 {
			return Step{Text: "The next step needs tools that the profile core does not list. " +
				"Connect to " + client.Base + "/mcp to have all of them."}
		}
	}
	return Step{Text: stepByStatus[fault.Lookup(refusal.Code).Status]}
}

// The keys of details that hold the next step if it consists of calls.
const (
	nextStepKey  = "next_step"
	nextCallsKey = "next_calls"
)

// namesCalls reports whether the next step for a code may name operations.
func namesCalls(code fault.Code) bool {
	own := strings.NewReplacer("<base>", "", "<"+sameRequest+">", "")
	return slices.ContainsFunc(adviceByCode[code], func(one advice) bool {
		return strings.Contains(own.Replace(one.text), "<")
	})
}

// situation is an error with everything known about it.
type situation struct {
	call    *Call
	refusal *fault.Error
	client  Client
	// sent is nil if nothing is known of it.
	sent *Sent

	looked bool
	// project is nil if the error is not about a project that the caller may read. The other
	// fields are parts of it.
	project      *work.Project
	task         *work.Task
	workspace    *work.Workspace
	contribution *work.Contribution
}

// first returns the first advice that applies.
func (s *situation) first(list []advice) (Step, bool) {
	for i := range list {
		if one := &list[i]; one.when == nil || one.when(s) {
			if step, fits := s.render(one.text); fits {
				return step, true
			}
		}
	}
	return Step{}, false
}

// render replaces the operations in a text with their names in the caller's protocol. It fails
// if an operation is not available to the caller.
func (s *situation) render(text string) (step Step, fits bool) {
	var out strings.Builder
	for {
		before, rest, more := strings.Cut(text, "<")
		out.WriteString(before)
		if !more {
			break
		}
		name, after, _ := strings.Cut(rest, ">")
		switch name {
		case "base":
			out.WriteString(s.client.Base)
		case sameRequest:
			out.WriteString(s.request())
		default:
			call, known := s.named(name)
			if !known {
				return Step{}, false
			}
			step.Calls = append(step.Calls, call)
			out.WriteString(s.nameOf(&call))
		}
		text = after
	}
	step.Text = out.String()
	return step, true
}

// sameRequest names the refused call as a request of HTTP.
const sameRequest = "request"

// request returns the refused call as a request of HTTP, without its body.
func (s *situation) request() string {
	call := StepCall{Operation: s.call.Operation, Params: map[string]string{}}
	for _, one := range call.Operation.pathParams() {
		if text, err := url.PathUnescape(s.own(one.Name)); err == nil && text != "" {
			call.Params[one.Name] = text
		}
	}
	same := NextCall{StepCall: call, Query: s.call.Query}
	return call.Operation.Method + " " + s.client.Base + same.Target()
}

// nameOf returns the name of an operation in the caller's protocol.
func (s *situation) nameOf(call *StepCall) string {
	if s.client.MCP {
		return call.Operation.Tool
	}
	return call.Operation.Method + " " + call.Target()
}

// Target returns the path of the request, in which the path of a file can still be a parameter.
func (c *StepCall) Target() string {
	target := c.Operation.Path
	for _, one := range c.Operation.pathParams() {
		place := "{" + one.Name + "}"
		if one.tail {
			place = "{" + one.Name + "*}"
		}
		value, known := c.Params[one.Name]
		if known {
			value = escapePath(value)
		} else {
			value = "{" + one.Name + "}"
		}
		target = strings.Replace(target, place, value, 1)
	}
	return target
}

// escapePath percent-encodes a text, except slashes and characters that need no encoding in any
// part of a path.
func escapePath(text string) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
	const hex = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(text) {
		if c := text[i]; strings.IndexByte(plain, c) >= 0 {
			out.WriteByte(c)
		} else {
			out.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return out.String()
}

// readAgain names the operation that reads the entity of the failed request.
const readAgain = "read"

// named finds an operation that is available to the caller: it exists in the caller's protocol
// and profile, its parameters are known, and the caller may call it.
func (s *situation) named(name string) (StepCall, bool) {
	op := s.available(name)
	if op == nil {
		return StepCall{}, false
	}
	call := StepCall{Operation: op, Params: map[string]string{}}
	for _, one := range op.pathParams() {
		value := s.param(one.Name)
		if value == "" && !one.tail {
			return StepCall{}, false
		}
		if value != "" {
			call.Params[one.Name] = value
		}
	}
	return call, true
}

// available returns the operation of a name if it exists in the caller's protocol and profile and
// the caller may call it, nil otherwise.
func (s *situation) available(name string) *Operation {
	op := operationNamed(name)
	if name == readAgain {
		op = s.reading()
	}
	if op == nil || s.client.MCP && (op.Tool == "" || s.client.Core && !op.Core) || !s.may(op) {
		return nil
	}
	return op
}

func operationNamed(name string) *Operation {
	for _, op := range Table {
		if op.Name == name {
			return op
		}
	}
	return nil
}

// reading returns the operation that reads the entity in the call's path; nil if there is none.
func (s *situation) reading() *Operation {
	if s.call.Operation == nil {
		return nil
	}
	for _, op := range Table {
		if op.Method == "GET" && op.Path == s.call.Operation.Path {
			return op
		}
	}
	return nil
}

// param returns the value of a path parameter for the next step, empty if it is unknown.
func (s *situation) param(name string) string {
	if uploads, named := s.refusal.Details["upload_ids"].([]string); named && name == "upload" {
		return uploads[0]
	}
	s.look()
	if s.project == nil {
		return ""
	}
	detail := func(name string) string {
		text, _ := s.refusal.Details[name].(string)
		return text
	}
	switch name {
	case "project":
		return s.project.ID.Format(id.Project)
	case "task":
		if s.task != nil {
			return s.task.ID.Format(id.Task)
		}
	case "workspace":
		if s.workspace != nil {
			return s.workspace.ID.Format(id.Workspace)
		}
	case "contribution":
		if s.contribution != nil {
			return s.contribution.ID.Format(id.Contribution)
		}
	case "revision":
		return detail("current_revision_id")
	case "path":
		if text := detail("path"); text != "" {
			return text
		}
		decoded, problem := path.Decode(s.own("path"))
		if problem == "" {
			return decoded
		}
	case "session", "artifact", "discussion":
		return s.own(name)
	}
	return ""
}

// own returns a path parameter of the failed call, empty if it has none of that name.
func (s *situation) own(name string) string {
	for i, one := range s.call.Operation.pathParams() {
		if one.Name == name && i < len(s.call.Params) {
			return s.call.Params[i]
		}
	}
	return ""
}

// look finds the project and the records in it that the error is about. It finds nothing if the
// error occurred before the caller was known to have access to the project.
func (s *situation) look() {
	if s.looked {
		return
	}
	s.looked = true
	c := s.call
	if c.Operation == nil || c.Service == nil || c.Service.Engine == nil {
		return
	}
	kind, entity, known := c.about()
	status := fault.Lookup(s.refusal.Code).Status
	late := status == 403 || status == 404 || status == 409 || status == 412 ||
		s.refusal.Code == fault.NothingToSubmit
	if !known || !late || kindOfCode[s.refusal.Code] == kind {
		return
	}
	view, err := s.holder(kind, entity)
	if err != nil || view == nil || !view.Readable(c.Agent) {
		return
	}
	s.project = view
	s.lookInside()
}

// about returns what the path of the call names first, else the project that its body names.
func (c *Call) about() (kind id.Prefix, entity id.ID, known bool) {
	if len(c.Params) == 0 {
		return id.Project, c.named, !c.named.IsZero()
	}
	if kind, known = kindOf[c.Operation.pathParams()[0].Name]; known {
		entity, known = id.Parse(kind, c.Params[0])
	}
	return kind, entity, known
}

func (s *situation) holder(kind id.Prefix, entity id.ID) (*work.Project, error) {
	if kind == id.Project {
		return s.call.Service.Engine.ProjectFor(entity, s.call.Agent)
	}
	return s.call.Service.Engine.Owner(kind, entity, s.call.Agent)
}

// lookInside finds the records of the project that the error is about: by the path, then by the
// details.
func (s *situation) lookInside() {
	c := s.call
	find := func(kind id.Prefix, param, detail string) (id.ID, bool) {
		text := s.own(param)
		if text == "" {
			text, _ = s.refusal.Details[detail].(string)
		}
		return id.Parse(kind, text)
	}
	if task, ok := find(id.Task, "task", "task_id"); ok {
		s.task, _ = s.project.Task(task, c.Now)
	}
	if contribution, ok := find(id.Contribution, "contribution", "contribution_id"); ok {
		s.contribution, _ = s.project.Contribution(contribution)
	}
	workspace, ok := find(id.Workspace, "workspace", "workspace_id")
	if !ok && s.contribution != nil {
		workspace, ok = s.contribution.Workspace, true
	}
	if !ok && s.inTurn() {
		s.workspace = s.project.CommunityWorkspace(c.Agent, c.Now)
	}
	if !ok {
		return
	}
	if found, known := s.project.WorkspaceAt(workspace, c.Now); known && found.Agent == c.Agent {
		s.workspace = found
		if s.contribution == nil {
			s.contribution, _ = s.project.Contribution(found.Contribution)
		}
	}
}
