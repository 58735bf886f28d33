package http

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/fault"
)

// tool is an operation as the endpoint calls it.
type tool struct {
	*api.Tool
	route *route
	// byName leads from the name of an argument to it.
	byName map[string]*api.Argument
	// paths is how many arguments of the path there are.
	paths int
	// query are the compiled checks of the arguments of the query, by name.
	query map[string]*queryParam
}

func newTool(one *api.Tool, r *routes) *tool {
	t := &tool{Tool: one, byName: map[string]*api.Argument{}, query: map[string]*queryParam{}}
	for _, found := range r.all {
		if found.operation == one.Operation && found.method == one.Operation.Method {
			t.route = found
		}
	}
	for at := range one.Arguments {
		argument := &one.Arguments[at]
		t.byName[argument.Name] = argument
		switch argument.Place {
		case api.InPath:
			t.paths++
		case api.InQuery:
			t.query[argument.Name] = findParam(t.route.query, argument.Name)
		case api.InBody, api.InKey:
		}
	}
	return t
}

// callTool answers tools/call.
func (s *Server) callTool(x *exchange) error {
	m := &x.message
	called := s.mcp.tools[string(m.name)]
	problem := ""
	switch {
	case m.nameKind != '"':
		problem = "The parameters do not name a tool."
	case called == nil:
		problem = "There is no such tool; tools/list has all of them."
	case m.argumentsKind != 0 && m.argumentsKind != '{':
		problem = "The arguments are not an object."
	}
	if problem != "" {
		return &rpcError{status: fasthttp.StatusOK, code: rpcParams, message: problem}
	}
	m.plain = m.plain || called.Name != called.Plain && string(m.name) == called.Plain
	m.calling = true
	x.route = called.route
	x.call.Operation = called.Operation
	reply, err := s.runTool(x, called)
	if later, waits := reply.Data.(api.Later); waits && err == nil {
		reply, err = s.await(x, later)
	}
	if err != nil {
		return err
	}
	return x.result(called, &reply)
}

// runTool takes a call through the checks and the handler, as run does with a request.
func (s *Server) runTool(x *exchange, called *tool) (api.Reply, error) {
	if err := s.admitAs(x, nil); err != nil {
		return api.Reply{}, err
	}
	if err := x.holdArguments(); err != nil {
		return api.Reply{}, err
	}
	query, key := x.arrange(called), x.judgeKey()
	var body error
	op := called.Operation
	request := op.NewRequest()
	if op.Method != fasthttp.MethodGet {
		if len(x.body) > x.route.bodyMax {
			return api.Reply{}, bodyTooLarge(x.route.bodyMax)
		}
		body = x.decode(request)
	}
	if err := x.judgeForm(request, query, key, body); err != nil {
		return api.Reply{}, err
	}
	if op.Method != fasthttp.MethodGet {
		if x.headers.idempotencyKeys > 0 && op.Idempotency != api.NoKey {
			x.path, x.query = x.pathOf(), x.queryOf(called)
		}
		x.hashKey()
	}
	return op.Run(&x.call, request)
}

// holdArguments refuses more arguments than can be held. Errors: VALIDATION_FAILED, RATE_LIMITED.
func (x *exchange) holdArguments() error {
	if x.message.crowded {
		return fault.Invalid(fault.Field{Field: "arguments", Problem: "has too many members"})
	}
	if len(x.body) > smallBody {
		// What is sent stands beside the body that is made of it.
		return x.reserve(int64(len(x.body)))
	}
	return nil
}

// arrange makes of the arguments what the request of the operation would have: parameters of the
// path, percent-encoded, the query, the key, and the body with all others. Faults of path and query
// are named at once. Errors: VALIDATION_FAILED, PAGINATION_LIMIT_INVALID.
func (x *exchange) arrange(called *tool) error {
	var faults []fault.Field
	note := func(name, problem string) {
		const faultsMax = 20
		known := func(one fault.Field) bool { return one.Field == name }
		if len(faults) < faultsMax && !slices.ContainsFunc(faults, known) {
			faults = append(faults, fault.Field{Field: name, Problem: problem})
		}
	}
	x.call.Params = append(x.call.Params[:0], make([]string, called.paths)...)
	op := called.Operation
	x.made = append(x.made[:0], '{')
	for at := range x.message.arguments {
		one := &x.message.arguments[at]
		declared := called.byName[string(one.name)]
		if declared == nil && op.Request == nil {
			note(printable(string(one.name)), "is not an argument of this tool")
		} else if declared == nil {
			x.addMember(one)
		} else if problem := x.place(called, declared, one.value); problem != "" {
			note(declared.Name, problem)
		}
	}
	for at, one := range called.Arguments[:called.paths] {
		if x.call.Params[at] == "" {
			note(one.Name, "is required")
		}
	}
	x.made = append(x.made, '}')
	x.body, x.made = x.made, x.body
	if op.Request == nil {
		x.body = x.body[:0]
	}
	return x.judgeArguments(called, &faults, note)
}

// judgeArguments checks the query and names all faults.
func (x *exchange) judgeArguments(
	called *tool, faults *[]fault.Field, note func(name, problem string),
) error {
	if _, sent := x.params[limitParam]; called.Limit != "" && !sent {
		x.setParam(limitParam, called.Limit)
	}
	badLimit := x.checkParams(note)
	x.call.Query = x.params
	return refuseParams(*faults, badLimit)
}

// addMember adds an argument to the body as it was sent.
func (x *exchange) addMember(one *argument) {
	if len(x.made) > 1 {
		x.made = append(x.made, ',')
	}
	x.made = append(append(append(x.made, one.quoted...), ':'), one.value...)
}

// place puts an argument where its operation has it. It is the problem with its value, empty where
// there is none; null is as good as nothing.
func (x *exchange) place(called *tool, declared *api.Argument, value []byte) string {
	kind := jsontext.Value(value).Kind()
	if kind == 'n' {
		return ""
	}
	if declared.Place == api.InQuery {
		text, problem := queryText(declared, kind, value)
		if problem == "" {
			x.setParam(declared.Name, text)
		}
		return problem
	}
	if kind != '"' {
		return "must be a string"
	}
	text := unquoted(value)
	if declared.Place == api.InKey {
		return x.placeKey(text)
	}
	if len(text) == 0 {
		return "must not be empty"
	}
	at := slices.IndexFunc(called.Arguments[:called.paths], func(one api.Argument) bool {
		return one.Name == declared.Name
	})
	x.call.Params[at] = escaped(text, declared.Tail)
	return ""
}

// placeKey takes the key of the arguments, which must be that of the header where there are both.
func (x *exchange) placeKey(key []byte) string {
	h := &x.headers
	if h.idempotencyKeys > 0 && !bytes.Equal(h.idempotencyKey, key) {
		return "must be the same as the header Idempotency-Key"
	}
	if h.idempotencyKeys == 0 {
		h.idempotencyKey, h.idempotencyKeys = key, 1
	}
	return ""
}

// queryText is an argument as the query has it.
func queryText(declared *api.Argument, kind jsontext.Kind, value []byte) (text, problem string) {
	switch {
	case declared.Boolean:
		if kind != 't' && kind != 'f' {
			return "", "must be true or false"
		}
		return string(value), ""
	case declared.Integer:
		if kind != '0' {
			return "", "must be an integer"
		}
		return integerText(value), ""
	case kind != '"':
		return "", "must be a string"
	}
	return string(unquoted(value)), ""
}

// integerText is a number as an integer is written, where it is one.
func integerText(value []byte) string {
	if bytes.ContainsAny(value, ".eE") {
		number, err := strconv.ParseFloat(string(value), 64)
		const exact = 1 << 53
		if err == nil && number == float64(int64(number)) && number > -exact && number < exact {
			return strconv.FormatInt(int64(number), 10)
		}
	}
	return string(value)
}

// escaped is a text as a part of a path has it; a tail keeps its slashes.
func escaped(text []byte, tail bool) string {
	clean := true
	for _, c := range text {
		clean = clean && pathByte(c, tail)
	}
	if clean {
		return string(text)
	}
	const hex = "0123456789ABCDEF"
	out := make([]byte, 0, len(text)+16)
	for _, c := range text {
		if pathByte(c, tail) {
			out = append(out, c)
		} else {
			out = append(out, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(out)
}

// pathByte reports whether a byte stands for itself: the unreserved ones of RFC 3986.
func pathByte(c byte, tail bool) bool {
	return c < utf8.RuneSelf && c != '+' && c != '=' && (tokenByte(c) && c != '/' || tail && c == '/')
}

// pathOf is the path of the request that the call stands for.
func (x *exchange) pathOf() string {
	t := &x.route.template
	var out []byte
	at := 0
	for _, literal := range t.segments {
		out = append(out, '/')
		if literal == "" {
			literal = x.call.Params[at]
			at++
		}
		out = append(out, literal...)
	}
	return string(append(out, t.suffix...))
}

// queryOf is its query.
func (x *exchange) queryOf(called *tool) string {
	var out []byte
	for _, one := range called.Arguments {
		value, sent := x.params[one.Name]
		if one.Place != api.InQuery || !sent {
			continue
		}
		if len(out) > 0 {
			out = append(out, '&')
		}
		out = append(append(append(out, one.Name...), '='), escaped([]byte(value), false)...)
	}
	return string(out)
}
