package docs

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

// documentData is the data of the document templates: the table, the catalog and the limits, as
// texts.
type documentData struct {
	Version      string
	Groups       []operationGroup
	Common       []commonCodes
	Definitions  []string
	Errors       []fault.Entry
	Limits       []limitText
	RateLimits   []api.RateLimit
	Capabilities []capabilityText
	Tools        []toolText
	Bundle       []fieldText
}

// operationGroup are the operations of a tag.
type operationGroup struct {
	Name, Doc  string
	Operations []operationText
}

// operationText describes an operation in the reference.
type operationText struct {
	*api.Operation
	// Terms says who may call it, and which headers it supports.
	Terms    string
	Fields   []fieldText
	Answer   string
	Refusals string
}

// fieldText describes a parameter, or a member of a body or of an object.
type fieldText struct{ Name, Kind, Doc string }

// commonCodes are the codes that follow from the properties of an operation.
type commonCodes struct{ When, Codes string }

type limitText struct {
	Name, Doc string
	Value     int64
}

type capabilityText struct{ Name, Operations string }

type toolText struct {
	Name, Operation, Summary string
	Core                     bool
}

// definitionsPrefix is the prefix of references between definitions.
const definitionsPrefix = "#"

// writeDocuments renders the documents that do not change while the program runs.
func writeDocuments(config api.Config) map[string]rendered {
	data := newDocumentData(config)
	out := map[string]rendered{}
	files, err := documentFiles.ReadDir("documents")
	if err != nil {
		panic(err)
	}
	for _, one := range files {
		// Scripts are included in documents.
		if name := one.Name(); name != statusFile && path.Ext(name) != ".sh" {
			out[name] = render(name, data)
		}
	}
	return out
}

func newDocumentData(config api.Config) *documentData {
	schemas := jsonschema.NewSchemas(definitionsPrefix)
	data := &documentData{
		Version: config.Version, Errors: fault.Catalog, RateLimits: config.Limits,
		Common: commonTexts(), Bundle: fieldsOf(reflect.TypeFor[api.Bundle](), jsonschema.Response, ""),
	}
	for _, tag := range usedTags() {
		group := operationGroup{Name: tag.name, Doc: tag.doc}
		for _, op := range api.Table {
			if op.Tag == tag.name {
				group.Operations = append(group.Operations, describeOperation(op, schemas))
			}
		}
		data.Groups = append(data.Groups, group)
	}
	data.Definitions = definitionTexts(schemas)
	for _, op := range api.Table {
		if op.Tool != "" {
			data.Tools = append(data.Tools, toolText{op.Tool, op.Name, op.Summary, op.Core})
		}
	}
	data.Limits = limitTexts(&config)
	capabilities := api.Capabilities()
	for _, name := range slices.Sorted(maps.Keys(capabilities)) {
		if one := capabilities[name]; one.Supported && !strings.Contains(name, ".") {
			data.Capabilities = append(data.Capabilities,
				capabilityText{name, "`" + strings.Join(one.Operations, "`, `") + "`"})
		}
	}
	return data
}

// Values returns the values of a member of a body, for lists in the documents.
func (*documentData) Values(operation, member string) (string, error) {
	for _, op := range api.Table {
		if op.Name != operation {
			continue
		}
		object := definition(jsonschema.SchemaOf(op.Request, jsonschema.Request, ""))
		property := schemaOf(schemaOf(object.Get("properties")).Get(member))
		var values []string
		for _, one := range listOf(property.Get("enum")) {
			if one != nil {
				values = append(values, fmt.Sprintf("`%v`", one))
			}
		}
		if len(values) > 0 {
			return strings.Join(values, ", "), nil
		}
	}
	return "", fmt.Errorf("%s has no values of %s", operation, member)
}

func limitTexts(config *api.Config) []limitText {
	var texts []limitText
	values := reflect.ValueOf(config.DeploymentLimits())
	for i := range values.NumField() {
		field := values.Type().Field(i)
		texts = append(texts, limitText{
			field.Tag.Get("json"), jsonschema.Description(values.Type(), field.Name),
			values.Field(i).Int(),
		})
	}
	return texts
}

// Limit returns a limit of the deployment by its name in the capability model.
func (d *documentData) Limit(name string) (int64, error) {
	for _, one := range d.Limits {
		if one.Name == name {
			return one.Value, nil
		}
	}
	return 0, fmt.Errorf("there is no limit %s", name)
}

// Duration is a limit in seconds for people, with the number that the capability model has:
// 30 days (2592000 s).
func (d *documentData) Duration(name string) (string, error) {
	seconds, err := d.Limit(name)
	if err != nil {
		return "", err
	}
	return durationText(seconds), nil
}

// durationText writes whole days, hours or minutes, the largest unit of which there are two or
// more, so that a day is 24 hours. Other numbers of seconds stay as they are.
func durationText(seconds int64) string {
	for _, unit := range []struct {
		name    string
		seconds int64
	}{{"days", 24 * 3600}, {"hours", 3600}, {"minutes", 60}} {
		if count := seconds / unit.seconds; count > 1 && count*unit.seconds == seconds {
			return fmt.Sprintf("%d %s (%d s)", count, unit.name, seconds)
		}
	}
	return fmt.Sprintf("%d seconds", seconds)
}

// commonTexts are the codes that no operation declares.
func commonTexts() []commonCodes {
	var texts []commonCodes
	seen := map[fault.Code]bool{}
	for _, one := range []struct {
		when string
		op   api.Operation
	}{
		{"every operation", api.Operation{Method: "GET"}},
		{"a session is required", api.Operation{Method: "GET", Auth: api.Bearer}},
		{"an Idempotency-Key is honoured", api.Operation{Method: "GET", Idempotency: api.KeyOptional}},
		{"it is required", api.Operation{Method: "GET", Idempotency: api.KeyRequired}},
		{"something is written", api.Operation{Method: "POST", Category: api.CategoryWrite}},
	} {
		var codes []fault.Code
		for _, code := range one.op.Codes() {
			if !seen[code] {
				seen[code] = true
				codes = append(codes, code)
			}
		}
		texts = append(texts, commonCodes{one.when, codesText(codes)})
	}
	return texts
}

// codesText lists codes with their statuses, sorted by status.
func codesText(codes []fault.Code) string {
	byStatus := func(a, b fault.Code) int {
		return cmp.Compare(fault.Lookup(a).Status, fault.Lookup(b).Status)
	}
	var out strings.Builder
	last := 0
	for _, code := range slices.SortedStableFunc(slices.Values(codes), byStatus) {
		if out.Len() > 0 {
			out.WriteString(", ")
		}
		if status := fault.Lookup(code).Status; status != last {
			fmt.Fprintf(&out, "%d ", status)
			last = status
		}
		out.WriteString("`" + string(code) + "`")
	}
	return out.String()
}

func describeOperation(op *api.Operation, schemas *jsonschema.Schemas) operationText {
	text := operationText{Operation: op, Terms: termsOf(op), Refusals: codesText(op.Errors)}
	for _, one := range op.Params {
		text.Fields = append(text.Fields, paramText(one, "path"))
	}
	for _, one := range op.Query {
		text.Fields = append(text.Fields, paramText(one, "query"))
	}
	if op.Request != nil {
		body := fieldsOf(op.Request, jsonschema.Request, "body")
		text.Fields = append(text.Fields, body...)
		schemas.Add(op.Request, jsonschema.Request)
	}
	if op.RawMedia != nil {
		text.Fields = append(text.Fields, fieldText{
			Name: "body", Kind: "bytes, required", Doc: "Of type " +
				strings.Join(op.RawMedia, " or ") + ".",
		})
	}
	var statuses []string
	for _, status := range op.Statuses {
		statuses = append(statuses, fmt.Sprint(status))
	}
	text.Answer = strings.Join(statuses, " or ") + " with "
	switch {
	case len(op.Media) > 0:
		text.Answer += "`" + strings.Join(op.Media, "`, `") + "`, without an envelope"
	default:
		schema := jsonschema.SchemaOf(op.Response, jsonschema.Response, "")
		text.Answer += "`data` `" + membersText(definition(schema), jsonschema.Response) + "`"
		schemas.Add(op.Response, jsonschema.Response)
	}
	return text
}

func termsOf(op *api.Operation) string {
	terms := []string{map[api.Auth]string{
		api.Anonymous: "no session", api.Optional: "session optional", api.Bearer: "session required",
	}[op.Auth]}
	switch op.Idempotency {
	case api.KeyOptional:
		terms = append(terms, "Idempotency-Key honoured")
	case api.KeyRequired:
		terms = append(terms, "Idempotency-Key required")
	case api.NoKey:
	}
	if op.Expensive {
		terms = append(terms, "expensive")
	}
	switch {
	case op.Conditional && op.Method == "GET":
		terms = append(terms, "ETag and If-None-Match")
	case op.MatchRequired:
		terms = append(terms, "If-Match required")
	case op.Conditional:
		terms = append(terms, "If-Match")
	}
	if op.Streams {
		terms = append(terms, "streams with Accept: text/event-stream")
	}
	if op.Tool != "" {
		terms = append(terms, "MCP tool `"+op.Tool+"`")
	}
	return strings.Join(append(terms, "counted as "+string(op.Category)), "; ")
}

func paramText(param api.Param, place string) fieldText {
	schema := param.Schema()
	kind := place + ", " + typeText(schema, jsonschema.Request) + boundsText(schema)
	if place == "path" || jsonschema.CompileCheck(param.Check).Required() {
		kind += ", required"
	}
	return fieldText{Name: param.Name, Kind: kind, Doc: param.Doc}
}
