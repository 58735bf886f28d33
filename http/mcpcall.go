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

// tool is an operation that the endpoint calls.
type tool struct {
	*api.Tool
	route *route
	// byName has the arguments by name.
	byName map[string]*api.Argument
	// paths is the number of arguments in the path. They come first.
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
	for i := range one.Arguments {
		argument := &one.Arguments[i]
		t.byName[argument.Name] = argument
		switch argument.Place {
		case api.InPath:
			t.paths++
		case api.InQuery:
			t.query[argument.Name] = findParam(t.route.query, argument.Name)
		case api.InBody, api.InKey, api.InAnswer:
		}
	}
	return t
}

// callTool takes a call of a tool through the stages of its operation.
func (s *Server) callTool(x *exchange) error {
	called, err := s.findTool(&x.message)
	if err != nil {
		return err
	}
	x.form, x.call.ByTool = formTool, true
	x.enter(called.route)
	if err := s.limit(x, nil); err != nil {
		return err
	}
	if x.syntax != nil {
		return x.syntax
	}
	in, err := x.readArguments(called)
	x.input = in
	if err != nil {
		return err
	}
	if err := s.beginWork(x, len(in.body)); err != nil {
		return err
	}
	request, err := x.decode(called.route, &in)
	if err != nil {
		return err
	}
	reply, err := s.call(x, called.route, &in, request)
	if err != nil {
		return err
	}
	return x.writeResult(called, &reply)
}

// findTool returns the tool that a message calls. A client that calls a tool by its plain name
// gets plain names in the answer. Errors are of JSON-RPC.
func (s *Server) findTool(m *message) (*tool, error) {
	called := s.mcp.tools[string(m.name)]
	problem := ""
	switch {
	case m.nameKind != '"':
		problem = "The parameters do not name a tool."
	case called == nil:
		problem = "There is no such tool; tools/list has all of them."
	case m.argumentsKind != 0 && m.argumentsKind != '{':
		problem = "The arguments are not an object."
	default:
		m.plain = m.plain || called.Name != called.Plain && string(m.name) == called.Plain
		return called, nil
	}
	return nil, &rpcError{status: fasthttp.StatusOK, code: rpcParams, message: problem}
}

// readArguments is read for a call of a tool: it puts arguments into path, query and key as the
// tool declares them, and all others into the body. Errors: VALIDATION_FAILED if there are too
// many arguments, BODY_TOO_LARGE.
func (x *exchange) readArguments(called *tool) (input, error) {
	if x.message.tooMany {
		return input{}, fault.Invalid(fault.Field{
			Field: "arguments", Problem: "has too many members",
		})
	}
	r := argumentReader{called: called, key: x.key[:0]}
	r.in.key, r.in.keys = x.headers.idempotencyKey, x.headers.idempotencyKeys
	r.query = queryReader{declared: called.route.query, values: x.params}
	r.params = append(x.call.Params[:0], make([]string, called.paths)...)
	r.readAll(&x.message)
	x.call.Params, x.key, x.verbose = r.params, r.key, r.verbose
	r.in.queryFault = x.setQuery(&r.query)
	op := called.Operation
	r.in.keyFault = r.in.checkKey(op)
	if op.Method == fasthttp.MethodGet {
		return r.in, nil
	}
	if len(r.in.body) > called.route.bodyMax {
		return input{}, bodyTooLarge(called.route.bodyMax)
	}
	if r.in.hasKey(op) {
		r.in.path, r.in.query = called.route.template.fill(r.params), r.queryText()
	}
	return r.in, nil
}

// argumentReader makes the input of an operation out of the arguments of its tool.
type argumentReader struct {
	called *tool
	in     input
	query  queryReader
	params []string
	// key is memory for a key among the arguments.
	key []byte
	// verbose says that the answer of a write is not made minimal.
	verbose bool
}

// readAll reads the arguments of a message. It moves those of the body together within the message.
// A member is only moved toward the beginning, so it never overwrites one that is still to be read.
func (r *argumentReader) readAll(m *message) {
	takesBody := r.called.Operation.Request != nil
	if takesBody {
		r.in.body = append(m.argumentsText[:0], '{')
	}
	for i := range m.arguments {
		one := &m.arguments[i]
		declared := r.called.byName[string(one.name)]
		switch {
		case declared != nil:
			if problem := r.place(declared, one.value); problem != "" {
				r.query.note(declared.Name, problem)
			}
		case takesBody:
			r.addMember(one)
		default:
			r.query.note(printable(string(one.name)), "is not an argument of this tool")
		}
	}
	if takesBody {
		r.in.body = append(r.in.body, '}')
	}
	for i, one := range r.called.Arguments[:r.called.paths] {
		if r.params[i] == "" {
			r.query.note(one.Name, "is required")
		}
	}
	if _, sent := r.query.values[limitParam]; r.called.Limit != "" && !sent {
		r.query.set(limitParam, r.called.Limit)
	}
}

// addMember adds an argument to the body as it was sent.
func (r *argumentReader) addMember(one *argument) {
	if len(r.in.body) > 1 {
		r.in.body = append(r.in.body, ',')
	}
	r.in.body = append(append(append(r.in.body, one.quoted...), ':'), one.value...)
}

// place puts an argument into path, query or key. It returns the problem with its value, empty
// if there is none. A null counts as an absent argument.
func (r *argumentReader) place(declared *api.Argument, value []byte) string {
	kind := jsontext.Value(value).Kind()
	if kind == 'n' {
		return ""
	}
	if declared.Place == api.InQuery {
		text, problem := paramText(declared, kind, value)
		if problem == "" {
			r.query.set(declared.Name, text)
		}
		return problem
	}
	if declared.Place == api.InAnswer {
		text, problem := paramText(declared, kind, value)
		r.verbose = text == "true"
		return problem
	}
	if kind != '"' {
		return "must be a string"
	}
	text := unquoted(value)
	if declared.Place == api.InKey {
		return r.placeKey(text)
	}
	if len(text) == 0 {
		return "must not be empty"
	}
	at := slices.IndexFunc(r.called.Arguments[:r.called.paths], func(one api.Argument) bool {
		return one.Name == declared.Name
	})
	r.params[at] = escaped(text, declared.Tail)
	return ""
}

// placeKey takes the key from the arguments. It must equal the key of the header if both are
// present. The key is copied, because the body may be moved over it in the message.
func (r *argumentReader) placeKey(key []byte) string {
	if r.in.keys > 0 && !bytes.Equal(r.in.key, key) {
		return "must be the same as the header Idempotency-Key"
	}
	if r.in.keys == 0 {
		r.key = append(r.key, key...)
		r.in.key, r.in.keys = r.key, 1
	}
	return ""
}

// queryText is the query of the equivalent HTTP request.
func (r *argumentReader) queryText() string {
	var out []byte
	for _, one := range r.called.Arguments {
		value, sent := r.query.values[one.Name]
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

// paramText is the value of an argument in a query, or the problem with it.
func paramText(declared *api.Argument, kind jsontext.Kind, value []byte) (text, problem string) {
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

// integerText is a number as decimal digits, if it is an integer.
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

// escaped is a text percent-encoded for a path. A tail keeps its slashes.
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

// pathByte reports whether a byte is unreserved by RFC 3986, or a slash in a tail.
func pathByte(c byte, tail bool) bool {
	return c < utf8.RuneSelf && c != '+' && c != '=' && (tokenByte(c) && c != '/' || tail && c == '/')
}
