package api

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"pws/api/jsonschema"
)

// toolPage is the page of a tool that lists, where the caller names no limit: what an agent reads
// costs it more than what a program reads.
const toolPage = 20

// KeyArgument is the argument in which tools take what is a header elsewhere.
const KeyArgument = "idempotency_key"

// VerboseArgument is the argument with which the tool of a write answers with all members.
const VerboseArgument = "verbose"

// Place says which part of a request an argument of a tool is.
type Place uint8

// The places.
const (
	InBody Place = iota
	InPath
	InQuery
	InKey
	// InAnswer arguments say what the answer has. They are no part of the request.
	InAnswer
)

// Argument is one argument of a tool that is no member of the body.
type Argument struct {
	Name  string
	Place Place
	// Tail arguments of the path are several segments.
	Tail bool
	// Boolean arguments of the query are true or false, which are texts there.
	Boolean bool
	// Integer arguments are numbers.
	Integer bool
}

// Tool is an operation as MCP has it: path, query and body are one object of arguments.
type Tool struct {
	Operation *Operation
	// Name is the dotted name, and Plain the same with underscores.
	Name, Plain string
	// Arguments are those of the path, in its order, of the query, the key and verbose.
	Arguments []Argument
	// Limit is the page where the caller names none, empty where there are no pages.
	Limit string
	// Opaque are the quoted names of members of the data whose values are somebody's own JSON.
	Opaque [][]byte
}

// Tools are the operations of a table that are tools, in its order.
func Tools(table []*Operation) []*Tool {
	var tools []*Tool
	for _, op := range table {
		if op.Tool != "" {
			tools = append(tools, toolOf(op))
		}
	}
	return tools
}

func toolOf(op *Operation) *Tool {
	t := &Tool{
		Operation: op, Name: op.Tool, Plain: strings.ReplaceAll(op.Tool, ".", "_"),
	}
	for _, one := range op.pathParams() {
		t.Arguments = append(t.Arguments, Argument{Name: one.Name, Place: InPath, Tail: one.tail})
	}
	body := op.bodyMembers()
	for _, one := range op.Query {
		if one.HTTPOnly || slices.Contains(body, one.Name) {
			// What both take is the same, and the body has the last word.
			continue
		}
		t.Arguments = append(t.Arguments, Argument{
			Name: one.Name, Place: InQuery, Boolean: one.Check == booleanCheck, Integer: one.Integer,
		})
		if one.Name == "limit" {
			t.Limit = strconv.Itoa(cmp.Or(op.ToolPage, toolPage))
		}
	}
	t.Opaque = opaque(jsonschema.SchemaOf(op.Response, jsonschema.Response, ""), nil)
	if op.Idempotency != NoKey {
		t.Arguments = append(t.Arguments, Argument{Name: KeyArgument, Place: InKey})
	}
	if op.Writes() {
		t.Arguments = append(t.Arguments, Argument{Name: VerboseArgument, Place: InAnswer, Boolean: true})
	}
	return t
}

// opaque adds the names of the members of a schema that permit any value.
func opaque(node jsonschema.Object, names [][]byte) [][]byte {
	for _, entry := range node {
		inner := objectOf(entry.Value)
		if entry.Name == "properties" {
			for _, member := range inner {
				if permitsAny(objectOf(member.Value)) {
					names = append(names, []byte(`"`+member.Name+`"`))
				}
			}
		}
		names = opaque(inner, names)
	}
	return names
}

// permitsAny reports whether a schema is that of any value, or of an object of any members.
func permitsAny(schema jsonschema.Object) bool {
	for _, entry := range schema {
		free := entry.Name == "description" || entry.Name == "type" && entry.Value == "object" ||
			entry.Name == "additionalProperties" && entry.Value == true
		if !free {
			return false
		}
	}
	return true
}

// booleanCheck is the check of a query parameter that is true or false.
const booleanCheck = "enum=true|false"

type pathParam struct {
	Param
	tail bool
}

// pathParams are the parameters of the template, in its order.
func (o *Operation) pathParams() []pathParam {
	var out []pathParam
	for rest := o.Path; ; {
		_, behind, found := strings.Cut(rest, "{")
		if !found {
			return out
		}
		name, next, _ := strings.Cut(behind, "}")
		name, tail := strings.CutSuffix(name, "*")
		at := slices.IndexFunc(o.Params, func(p Param) bool { return p.Name == name })
		if at < 0 {
			panic(o.Name + " does not describe " + name)
		}
		out = append(out, pathParam{o.Params[at], tail})
		rest = next
	}
}

// bodyMembers are the names of the members of the body.
func (o *Operation) bodyMembers() []string {
	if o.Request == nil {
		return nil
	}
	var names []string
	for _, entry := range objectOf(inlined(o.Request).Get("properties")) {
		names = append(names, entry.Name)
	}
	return names
}

// listed is the tool as tools/list shows it.
func (t *Tool) listed() jsonschema.Object {
	op := t.Operation
	return jsonschema.Object{
		{Name: "name", Value: t.Name},
		{Name: "title", Value: op.Summary},
		{Name: "description", Value: t.description()},
		{Name: "inputSchema", Value: t.input()},
		{Name: "outputSchema", Value: t.output()},
		{Name: "annotations", Value: t.hints()},
	}
}

// description says when to use a tool, what it returns, and whether it needs a session.
func (t *Tool) description() string {
	text := t.Operation.Doc
	if t.Operation.ToolDoc != "" {
		text = t.Operation.ToolDoc
	}
	if t.Operation.Auth == Bearer {
		return text + " Needs a session."
	}
	return text + " No session needed."
}

// hints are the annotations. What takes something away, replaces it or decides for good is
// destructive.
func (t *Tool) hints() jsonschema.Object {
	op := t.Operation
	verb := op.Name[strings.LastIndexByte(op.Name, '.')+1:]
	replaces := op.Method == "PUT" && op.Request != nil || op.Overwrites
	ends := op.Method == "DELETE" || verb == "reject"
	return jsonschema.Object{
		{Name: "readOnlyHint", Value: !op.Writes()},
		{Name: "destructiveHint", Value: op.Writes() && (replaces || ends)},
		{Name: "idempotentHint", Value: t.Idempotent()},
		{Name: "openWorldHint", Value: false},
	}
}

// Idempotent reports whether a call with the same arguments has no further effect: it reads, its
// key is one of the arguments, or it sets or removes what the arguments name. Where the key is
// optional, a call without one may be a new one.
func (t *Tool) Idempotent() bool {
	op := t.Operation
	return !op.Writes() || op.Idempotency == KeyRequired || op.Method == "PUT" ||
		op.Method == "DELETE"
}

// input is the schema of the arguments.
func (t *Tool) input() jsonschema.Object {
	op := t.Operation
	properties, required := jsonschema.Object{}, []any{}
	add := func(name string, schema jsonschema.Object, needed bool) {
		properties = append(properties, jsonschema.Entry{Name: name, Value: schema})
		if needed {
			required = append(required, name)
		}
	}
	for _, one := range op.pathParams() {
		add(one.Name, pathSchema(one), true)
	}
	for _, one := range t.Arguments {
		if one.Place == InQuery {
			at := slices.IndexFunc(op.Query, func(p Param) bool { return p.Name == one.Name })
			check := jsonschema.CompileCheck(op.Query[at].Check)
			add(one.Name, t.querySchema(&op.Query[at], check), check.Required())
		}
	}
	if op.Request != nil {
		body := inlined(op.Request)
		must, _ := body.Get("required").([]any)
		for _, entry := range objectOf(body.Get("properties")) {
			schema := objectOf(entry.Value)
			if slices.Contains(op.ToolBriefs, entry.Name) {
				schema = slices.DeleteFunc(schema, func(word jsonschema.Entry) bool {
					return word.Name == "properties" || word.Name == "required"
				})
			}
			add(entry.Name, schema, slices.Contains(must, any(entry.Name)))
		}
	}
	if op.Idempotency != NoKey {
		add(KeyArgument, jsonschema.Object{
			{Name: "type", Value: "string"},
			{Name: "description", Value: "For retries."},
		}, op.Idempotency == KeyRequired)
	}
	if op.Writes() {
		add(VerboseArgument, jsonschema.Object{
			{Name: "type", Value: "boolean"},
			{Name: "description", Value: "All members."},
		}, false)
	}
	out := jsonschema.Object{{Name: "type", Value: "object"}, {Name: "properties", Value: properties}}
	if len(required) > 0 {
		out = append(out, jsonschema.Entry{Name: "required", Value: required})
	}
	return append(out, jsonschema.Entry{Name: "additionalProperties", Value: false})
}

func pathSchema(one pathParam) jsonschema.Object {
	doc := shorter(strings.Replace(one.Doc, "'s ID.", " ID.", 1), "The ")
	if one.tail {
		doc = "Relative path."
	}
	return jsonschema.Object{{Name: "type", Value: "string"}, {Name: "description", Value: doc}}
}

func (t *Tool) querySchema(one *Param, check *jsonschema.Check) jsonschema.Object {
	schema := (&compaction{without: inputWords}).of(check.Schema(one.Integer), argumentDepth)
	doc := brief(one.Doc)
	switch {
	case one.Check == booleanCheck:
		schema = jsonschema.Object{{Name: "type", Value: "boolean"}}
	case one.Name == "cursor":
		doc = "A next_cursor."
	case one.Name == "limit":
		// The default of a tool is its own.
		schema = jsonschema.Object{{Name: "type", Value: "integer"}}
		before, after, _ := strings.Cut(shorter(doc, "Maximum number of "), ", ")
		_, after, _ = strings.Cut(after, " ")
		doc = before + ", " + t.Limit + " " + after
	}
	return append(schema, jsonschema.Entry{Name: "description", Value: doc})
}

// shorter is a text without its beginning.
func shorter(text, beginning string) string {
	rest, found := strings.CutPrefix(text, beginning)
	if !found || rest == "" {
		return text
	}
	return strings.ToUpper(rest[:1]) + rest[1:]
}

// brief is the first sentence of a text.
func brief(text string) string {
	first, _, more := strings.Cut(text, ". ")
	if more {
		return first + "."
	}
	return text
}

// output is the schema of the data, of its first level. It requires nothing, for what is null is
// left out, and a refusal is another object.
func (t *Tool) output() jsonschema.Object {
	whole := jsonschema.SchemaOf(t.Operation.Response, jsonschema.Response, "")
	c := compaction{defs: objectOf(whole.Get("$defs")), without: outputWords}
	return c.of(whole, 1)
}

// Words of a schema that tools do without: the service checks all of them, and an agent pays for
// each.
var (
	inputWords = []string{
		"$schema", "$defs", "x-max-bytes", "pattern", "minLength", "maxLength", "minimum", "maximum",
		"minItems", "maxItems", "minProperties", "maxProperties",
	}
	outputWords = []string{
		"$schema", "$defs", "x-max-bytes", "pattern", "minLength", "maxLength", "format", "required",
		"description", "minimum", "maximum", "items", "minItems", "maxItems", "minProperties",
		"maxProperties", "enum",
	}
)

const (
	// argumentDepth is how many levels of objects the arguments of a tool are shown with.
	argumentDepth = 2
	// argumentBytes is the size of arguments above which only their first level is described; what
	// lies deeper is called there as it is in other tools.
	argumentBytes = 1500
	// enumMax is the most values that are listed; longer enumerations are described by the tools
	// that return them.
	enumMax = 12
)

// inlined is the schema of a body without references.
func inlined(t reflect.Type) jsonschema.Object {
	whole := jsonschema.SchemaOf(t, jsonschema.Arguments, "")
	c := compaction{defs: objectOf(whole.Get("$defs")), without: inputWords}
	made := c.of(whole, argumentDepth)
	if text, err := json.Marshal(made); err != nil || len(text) > argumentBytes {
		c.terse = true
		made = c.of(whole, argumentDepth)
	}
	return made
}

// objectOf returns a nested schema, nil if there is none. Unlike schemaOf it ignores types that
// describe themselves: a member that may be a text or an object has no schema in a catalogue,
// because a schema without anyOf would permit only one of them.
func objectOf(value any) jsonschema.Object {
	object, _ := value.(jsonschema.Object)
	return object
}

// compaction makes schemas small: references put in, some words left out, so many levels of objects
// at most, and no null where the type is another.
type compaction struct {
	defs    jsonschema.Object
	without []string
	// terse leaves out what describes the last level.
	terse bool
}

func (c *compaction) of(node jsonschema.Object, depth int) jsonschema.Object {
	out := jsonschema.Object{}
	for _, entry := range node {
		switch value := entry.Value.(type) {
		case string:
			if entry.Name == "$ref" {
				target := c.defs.Get(value[strings.LastIndexByte(value, '/')+1:])
				out = append(out, c.of(objectOf(target), depth)...)
				continue
			}
			if entry.Name == "description" {
				entry.Value = brief(value)
			}
		case jsonschema.Object:
			if entry.Name != "properties" {
				entry.Value = c.of(value, depth)
			} else if depth > 0 {
				entry.Value = c.members(value, depth-1)
			}
		case []any:
			if entry.Name == "anyOf" {
				out = append(out, c.of(objectOf(value[0]), depth)...)
				continue
			}
			if entry.Name == "type" && slices.Contains(c.without, "required") {
				entry.Value = value[0]
			}
		}
		if !c.drops(entry, depth) {
			out = append(out, entry)
		}
	}
	return out
}

// drops reports whether a word is left out. An object without its members requires none.
func (c *compaction) drops(entry jsonschema.Entry, depth int) bool {
	switch entry.Name {
	case "properties", "required":
		if depth == 0 {
			return true
		}
	case "additionalProperties":
		// The service refuses what it does not know, and says so.
		if entry.Value == false {
			return true
		}
	case "description":
		if c.terse && depth == 0 {
			return true
		}
	case "enum":
		if values, ok := entry.Value.([]any); ok && len(values) > enumMax {
			return true
		}
	}
	return slices.Contains(c.without, entry.Name)
}

func (c *compaction) members(properties jsonschema.Object, depth int) jsonschema.Object {
	members := make(jsonschema.Object, len(properties))
	for i, member := range properties {
		members[i] = jsonschema.Entry{Name: member.Name, Value: c.of(objectOf(member.Value), depth)}
	}
	return members
}

// RenderTools is a list of tools as JSON, with dotted names: all of them or the core.
func RenderTools(tools []*Tool, core bool) ([]byte, error) {
	list := []any{}
	for _, one := range tools {
		if !core || one.Operation.Core {
			list = append(list, one.listed())
		}
	}
	text, err := json.Marshal(list, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("rendering the tools: %w", err)
	}
	return text, nil
}
