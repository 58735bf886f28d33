package docs

import (
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

// operation describes one operation.
func (b *openAPI) operation(op *api.Operation) jsonschema.Object {
	out := object(
		"operationId", op.Name, "tags", []any{op.Tag},
		"summary", op.Summary, "description", op.Doc, "security", security(op.Auth),
	)
	if params := parameters(op); len(params) > 0 {
		out = with(out, "parameters", params)
	}
	if op.Request != nil || op.RawMedia != nil {
		out = with(out, "requestBody", b.requestBody(op))
	}
	out = with(out, "responses", b.responses(op))
	out = with(out, "x-rate-limit-category", op.Category)
	if op.Method != http.MethodGet {
		out = with(out, "x-body-max-bytes", op.BodyLimit(api.RequestBytesMax))
	}
	if minimal := op.Minimal(); minimal != nil {
		out = with(out, "x-minimal-data", b.schemas.AddFiltered(op.MinimalName(), minimal))
		if data := sampleOf(op).minimal(op); data != nil {
			out = with(out, "x-minimal-example", api.Raw(data))
		}
	}
	if op.Tool != "" {
		out = with(out, "x-mcp-tool", op.Tool)
	}
	return out
}

// security says which credential an operation accepts. An empty requirement means an anonymous
// caller.
func security(auth api.Auth) []any {
	session := object("session", []any{})
	switch auth {
	case api.Bearer:
		return []any{session}
	case api.Optional:
		return []any{jsonschema.Object{}, session}
	case api.Anonymous:
	}
	return []any{}
}

// parameters returns the parameters of path and query, and the headers that the operation
// supports.
func parameters(op *api.Operation) []any {
	var out []any
	sample := sampleOf(op)
	for _, name := range pathNames(op.Path) {
		plain := strings.TrimSuffix(name, "*")
		param := api.Param{Name: plain, Doc: "The " + plain + "."}
		if at := slices.IndexFunc(op.Params, func(p api.Param) bool { return p.Name == plain }); at >= 0 {
			param = op.Params[at]
		}
		one := parameter(&param, "path", true, sample.pathValue(op, plain))
		if plain != name {
			one = with(one, "x-multi-segment", true)
		}
		out = append(out, one)
	}
	values := sample.query()
	for i := range op.Query {
		param := &op.Query[i]
		required := jsonschema.CompileCheck(param.Check).Required()
		out = append(out, parameter(param, "query", required, values.Get(param.Name)))
	}
	for _, name := range headerParams(op) {
		out = append(out, ref("parameters/"+name))
	}
	return out
}

func parameter(param *api.Param, in string, required bool, example string) jsonschema.Object {
	out := object(
		"name", param.Name, "in", in, "description", param.Doc,
	)
	if required {
		out = with(out, "required", true)
	}
	schema := param.Schema()
	if param.Integer && !required {
		schema = with(schema, "default", param.Default)
	}
	out = with(out, "schema", schema)
	if example == "" {
		return out
	}
	var value any = example
	if number, err := strconv.Atoi(example); err == nil && param.Integer {
		value = number
	}
	return with(out, "example", value)
}

// pathNames returns the parameters of a template. The asterisk of one that matches the rest of
// the path is kept.
func pathNames(path string) []string {
	var names []string
	for _, part := range strings.Split(path, "{")[1:] {
		name, _, _ := strings.Cut(part, "}")
		names = append(names, name)
	}
	return names
}

// headerParams returns the names of the header parameters among the components.
func headerParams(op *api.Operation) []string {
	var names []string
	switch op.Idempotency {
	case api.KeyRequired:
		names = append(names, "IdempotencyKeyRequired")
	case api.KeyOptional:
		names = append(names, "IdempotencyKey")
	case api.NoKey:
	}
	switch {
	case op.Conditional && op.Method == http.MethodGet:
		names = append(names, "IfNoneMatch")
	case op.MatchRequired:
		names = append(names, "IfMatchRequired", "IfNoneMatchOnWrite")
	case op.Conditional:
		names = append(names, "IfMatch", "IfNoneMatchOnWrite")
	}
	if op.Streams {
		names = append(names, "LastEventID")
	}
	if op.Ranges {
		names = append(names, "Range", "IfRange")
	}
	return names
}

const (
	jsonMedia   = "application/json"
	streamMedia = "text/event-stream"
)

func (b *openAPI) requestBody(op *api.Operation) jsonschema.Object {
	if op.RawMedia != nil {
		bytes := object("schema", object("type", "string", "format", "binary"))
		return object("content", object(op.RawMedia[0], bytes), "required", true)
	}
	media := object("schema", b.schemas.Add(op.Request, jsonschema.Request))
	if sample := sampleOf(op); sample != nil && len(sample.Request.Body) > 0 {
		media = with(media, "example", api.Raw(sample.Request.Body))
	}
	content := object(jsonMedia, media)
	if patch := op.MergePatch; patch != nil {
		content = with(content, api.MergePatchType,
			object("schema", b.schemas.Add(patch.Request, jsonschema.Request)))
	}
	out := object("content", content)
	if !op.BodyOptional {
		out = with(out, "required", true)
	}
	return out
}

// responses returns the successes, then the errors by status.
func (b *openAPI) responses(op *api.Operation) jsonschema.Object {
	var out jsonschema.Object
	for _, status := range op.Statuses {
		out = with(out, strconv.Itoa(status), b.success(op, status))
	}
	if op.Conditional && op.Method == http.MethodGet {
		out = with(out, strconv.Itoa(http.StatusNotModified), ref("responses/NotModified"))
	}
	byStatus := codesByStatus(op)
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		codes := byStatus[status]
		var one any = refusalResponse(status, codes)
		if b.refusals[refusalKey(status, codes)].uses > 1 && len(codes) <= sharedCodesMax {
			one = ref("responses/" + refusalName(codes))
		}
		out = with(out, strconv.Itoa(status), one)
	}
	return out
}

func (b *openAPI) success(op *api.Operation, status int) jsonschema.Object {
	text := "Success."
	switch {
	case len(op.Statuses) > 1 && status == http.StatusCreated:
		text = "Success: a new entity was created."
	case status == http.StatusPartialContent:
		text = "Success: one range."
	case op.Ranges:
		text = "Success: the whole."
	case len(op.Statuses) > 1:
		text = "Success: nothing was created."
	}
	headers := headerRefs("X-Request-Id", "RateLimit-Limit", "RateLimit-Remaining",
		"RateLimit-Reset", "RateLimit-Policy")
	if op.Conditional {
		headers = append(headers, headerRefs("ETag")...)
	}
	if op.Idempotency != api.NoKey {
		headers = append(headers, headerRefs("Idempotency-Replayed")...)
	}
	if op.Writes() {
		headers = append(headers, headerRefs("Preference-Applied")...)
	}
	if op.Ranges {
		headers = append(headers, headerRefs("Accept-Ranges")...)
	}
	if status == http.StatusPartialContent {
		headers = append(headers, headerRefs("Content-Range")...)
	}
	return object(
		"description", text, "headers", headers, "content", b.content(op, status),
	)
}

// content returns the envelope around the data; operations with Media answer without an
// envelope.
func (b *openAPI) content(op *api.Operation, status int) jsonschema.Object {
	var out jsonschema.Object
	for _, media := range op.Media {
		name, _, _ := strings.Cut(media, ";")
		schema := object("type", "string")
		if strings.HasSuffix(name, "json") {
			schema = object("type", "object")
			if op.Response != reflect.TypeFor[api.Document]() {
				schema = b.schemas.Add(op.Response, jsonschema.Response)
			}
		}
		out = with(out, name, object("schema", schema))
	}
	if out != nil {
		return out
	}
	media := object("schema", envelope(b.schemas.Add(op.Response, jsonschema.Response)))
	if sample := sampleOf(op); sample != nil && sample.Response.Status == status {
		media = with(media, "example", api.Raw(sample.Response.Body))
	}
	out = object(jsonMedia, media)
	if op.Streams {
		out = with(out, streamMedia, object(
			"schema", object(
				"type", "string",
				"description", "Server-Sent Events, if Accept prefers them: event is the type, "+
					"data one event as in data.events, id the cursor after it.",
			),
		))
	}
	return out
}

func envelope(data jsonschema.Object) jsonschema.Object {
	return object(
		"type", "object",
		"properties", object(
			"ok", object("const", true),
			"data", data,
			"meta", ref("schemas/Meta"),
		),
		"required", []any{"ok", "data", "meta"},
	)
}

// sharedCodesMax limits the number of codes in a shared response, because its name contains all
// of them.
const sharedCodesMax = 3

// refusalName returns the name of a shared response: ProjectNotFound,
// FileNotFoundOrProjectNotFound.
func refusalName(codes []fault.Code) string {
	names := make([]string, len(codes))
	for i, code := range codes {
		for _, word := range strings.Split(string(code), "_") {
			names[i] += word[:1] + strings.ToLower(word[1:])
		}
	}
	return strings.Join(names, "Or")
}

// refusalResponse describes a status with its possible codes.
func refusalResponse(status int, codes []fault.Code) jsonschema.Object {
	headers := headerRefs("X-Request-Id", "RateLimit-Limit", "RateLimit-Remaining",
		"RateLimit-Reset", "RateLimit-Policy")
	if slices.ContainsFunc(codes, waits) {
		headers = append(headers, headerRefs("Retry-After")...)
	}
	if status == http.StatusUnauthorized {
		headers = append(headers, headerRefs("WWW-Authenticate")...)
	}
	values := make([]any, len(codes))
	for i, code := range codes {
		values[i] = code
	}
	only := object(
		"type", "object",
		"properties", object("error", object(
			"type", "object",
			"properties", object("code", object(
				"type", "string", "enum", values,
			)),
			"required", []any{"code"},
		)),
		"required", []any{"error"},
	)
	schema := object("allOf", []any{ref("schemas/Failure"), only})
	return object(
		"description", http.StatusText(status)+": "+joinCodes(codes, ", ")+".",
		"headers", headers,
		"content", object(jsonMedia, object("schema", schema)),
	)
}

// waits reports whether an error says when to retry.
func waits(code fault.Code) bool {
	entry := fault.Lookup(code)
	return entry.Action == "RETRY_AFTER" || slices.Contains(entry.Details, "retry_after_seconds")
}

func headerRefs(names ...string) jsonschema.Object {
	out := make(jsonschema.Object, len(names))
	for i, name := range names {
		out[i] = jsonschema.Entry{Name: name, Value: ref("headers/" + name)}
	}
	return out
}

// pathValue returns the value of a path parameter in the example, decoded.
func (s *sample) pathValue(op *api.Operation, name string) string {
	if s == nil {
		return ""
	}
	path, _, _ := strings.Cut(s.Request.Target, "?")
	want, got := strings.Split(op.Path, "/"), strings.Split(path, "/")
	for i, segment := range want {
		value := ""
		switch {
		case i >= len(got):
			return ""
		case segment == "{"+name+"}":
			value = got[i]
		case segment == "{"+name+"*}":
			// The parameter ends where the next part of the template begins.
			value = strings.Join(got[i:len(got)-(len(want)-i-1)], "/")
		default:
			continue
		}
		if plain, err := url.PathUnescape(value); err == nil {
			return plain
		}
	}
	return ""
}

// query returns the query parameters of the example.
func (s *sample) query() url.Values {
	if s == nil {
		return nil
	}
	_, query, _ := strings.Cut(s.Request.Target, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil
	}
	return values
}
