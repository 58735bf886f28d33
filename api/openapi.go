package api

import (
	"slices"
	"strconv"
	"strings"

	"pws/api/jsonschema"
	"pws/internal/fault"
)

// openAPIVersion is the version of the specification that the document follows.
const openAPIVersion = "3.1.1"

// componentsPrefix is where the named schemas are in the document.
const componentsPrefix = "#/components/schemas/"

// Published holds the description of the interface: the OpenAPI document, and each named schema
// as a file. It is made once from the table and never changes.
type Published struct {
	openAPI page
	schemas map[string]page
	list    SchemasData
}

// page is a document in the form in which it is sent.
type page struct {
	body []byte
	etag string
}

func newPage(document jsonschema.Object) page {
	text, err := document.MarshalJSON()
	if err != nil {
		panic(err)
	}
	text = append(text, '\n')
	return page{body: text, etag: tagOf(text)}
}

// reply returns the page; the transport answers 304 if the client already has it.
func (p *page) reply(contentType string) Reply {
	return Reply{Data: Document{ContentType: contentType, Body: p.body}, ETag: p.etag}
}

// Publish makes the documents of the published interface for a deployment.
func Publish(config Config) *Published {
	out := publishSchemas(config.PublicURL)
	out.openAPI = newPage(newOpenAPI(config).document())
	return out
}

// OpenAPI returns the OpenAPI document.
func (p *Published) OpenAPI() []byte { return p.openAPI.body }

// Schema returns a named schema as a file, nil if there is none.
func (p *Published) Schema(name string) []byte { return p.schemas[name].body }

// SchemaNames returns the names of all schemas, sorted.
func (p *Published) SchemaNames() []string {
	names := make([]string, len(p.list.Schemas))
	for at := range p.list.Schemas {
		names[at] = p.list.Schemas[at].Name
	}
	return names
}

// openAPI builds the document.
type openAPI struct {
	config  Config
	schemas *jsonschema.Schemas
	// refusals are the error responses that several operations share, by their text.
	refusals map[string]*sharedRefusal
}

// sharedRefusal is a status with its codes.
type sharedRefusal struct {
	status int
	codes  []fault.Code
	uses   int
}

func newOpenAPI(config Config) *openAPI {
	b := &openAPI{
		config: config, schemas: jsonschema.NewSchemas(componentsPrefix),
		refusals: map[string]*sharedRefusal{},
	}
	addSchemas(b.schemas)
	for _, op := range Table {
		for status, codes := range codesByStatus(op) {
			key := refusalKey(status, codes)
			if b.refusals[key] == nil {
				b.refusals[key] = &sharedRefusal{status: status, codes: codes}
			}
			b.refusals[key].uses++
		}
	}
	return b
}

func (b *openAPI) document() jsonschema.Object {
	url := b.config.PublicURL
	if url == "" {
		url = "/"
	}
	var tags []any
	for _, tag := range usedTags() {
		tags = append(tags, object("name", tag.name, "description", tag.doc))
	}
	return object(
		"openapi", openAPIVersion,
		"info", object(
			"title", "Persistent Work Service",
			"version", b.config.Version,
			"summary", "A persistent work layer for autonomous AI agents.",
			"description", aboutInterface,
		),
		"jsonSchemaDialect", jsonschema.Dialect,
		"servers", []any{object("url", url, "description", "This deployment.")},
		"tags", tags,
		"paths", b.paths(),
		"components", b.components(),
	)
}

// aboutInterface describes what applies to all operations.
const aboutInterface = `Keeps the state of machine work across sessions, clients, models and agent
identities: projects, files, changesets, tasks, handoffs, contributions, artifacts.

* **Answers** are ` + "`{ok, data, meta}`" + `, refusals ` + "`{ok, error, meta}`" + `. Branch on
  ` + "`error.code`" + ` and ` + "`error.details`" + `, never on the wording of the message.
  ` + "`GET /api/v1/errors`" + ` is the catalog of codes.
* **Authentication**: an agent is an Ed25519 key; register/start and register/complete make the
  agent and its first session, whose credential is sent as ` + "`Authorization: Bearer`" + `.
* **Idempotency**: the same Idempotency-Key with the same request is answered with the first result,
  for seven days.
* **Lists** have ` + "`next_cursor`" + `, which is opaque and null on the last page.
* **Paths of files** take the rest of the URL: segments are percent-encoded one by one and the
  slashes between them are sent as they are. Such parameters have ` + "`x-multi-segment: true`" + `.
* **Members that are not described** may come at any time: ignore them. Requests are strict.
* **Schemas** are served one by one under ` + "`/schemas/v1/{schema}`" + `; ` + "`/schemas/v1`" + `
  lists them.`

// paths returns the operations by path, in the order of the table.
func (b *openAPI) paths() jsonschema.Object {
	var out jsonschema.Object
	for _, op := range Table {
		path := strings.ReplaceAll(op.Path, "*}", "}")
		method := jsonschema.Entry{Name: strings.ToLower(op.Method), Value: b.operation(op)}
		at := slices.IndexFunc(out, func(e jsonschema.Entry) bool { return e.Name == path })
		if at < 0 {
			out = append(out, jsonschema.Entry{Name: path, Value: jsonschema.Object{method}})
			continue
		}
		methods, ok := out[at].Value.(jsonschema.Object)
		if !ok {
			panic("openapi: " + path)
		}
		out[at].Value = append(methods, method)
	}
	return out
}

func ref(place string) jsonschema.Object { return object("$ref", "#/components/"+place) }

// codesByStatus returns the codes of an operation by HTTP status, sorted.
func codesByStatus(op *Operation) map[int][]fault.Code {
	out := map[int][]fault.Code{}
	for _, code := range op.Codes() {
		entry := fault.Lookup(code)
		out[entry.Status] = append(out[entry.Status], code)
	}
	return out
}

func refusalKey(status int, codes []fault.Code) string {
	return strconv.Itoa(status) + " " + joinCodes(codes, " ")
}

func joinCodes(codes []fault.Code, between string) string {
	texts := make([]string, len(codes))
	for at, code := range codes {
		texts[at] = string(code)
	}
	return strings.Join(texts, between)
}

// object returns a JSON object of alternating names and values.
func object(pairs ...any) jsonschema.Object {
	out := make(jsonschema.Object, len(pairs)/2)
	for at := range out {
		name, isText := pairs[2*at].(string)
		if !isText {
			panic("openapi: a member without a name")
		}
		out[at] = jsonschema.Entry{Name: name, Value: pairs[2*at+1]}
	}
	return out
}

// with returns an object with one more member.
func with(in jsonschema.Object, name string, value any) jsonschema.Object {
	return append(in, jsonschema.Entry{Name: name, Value: value})
}
