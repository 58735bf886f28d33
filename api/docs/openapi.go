package docs

import (
	"slices"
	"strconv"
	"strings"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

// openAPIVersion is the version of the specification that the document follows.
const openAPIVersion = "3.1.1"

// componentsPrefix is where the named schemas are in the document.
const componentsPrefix = "#/components/schemas/"

// openAPI builds the document.
type openAPI struct {
	config  api.Config
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

func newOpenAPI(config api.Config) *openAPI {
	b := &openAPI{
		config: config, schemas: jsonschema.NewSchemas(componentsPrefix),
		refusals: map[string]*sharedRefusal{},
	}
	addSchemas(b.schemas)
	for _, op := range api.Table {
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
* **Prefer: return=minimal** answers a write with IDs, versions and counts alone. The data then has
  the schema ` + "`x-minimal-data`" + ` of the operation instead of that of the response;
  ` + "`x-minimal-example`" + ` is the data of the example then.
* **Lists** have ` + "`next_cursor`" + `, which is opaque and null on the last page.
* **Paths of files** take the rest of the URL: segments are percent-encoded one by one and the
  slashes between them are sent as they are. Such parameters have ` + "`x-multi-segment: true`" + `.
* **Members that are not described** may come at any time: ignore them. Requests are strict.
* **Schemas** are served one by one under ` + "`/schemas/v1/{schema}`" + `; ` + "`/schemas/v1`" + `
  lists them.`

// paths returns the operations by path, in the order of the table.
func (b *openAPI) paths() jsonschema.Object {
	var out jsonschema.Object
	for _, op := range api.Table {
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
func codesByStatus(op *api.Operation) map[int][]fault.Code {
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
	for i, code := range codes {
		texts[i] = string(code)
	}
	return strings.Join(texts, between)
}

// object returns a JSON object of alternating names and values.
func object(pairs ...any) jsonschema.Object { return jsonschema.Pairs(pairs...) }

// with returns an object with one more member.
func with(in jsonschema.Object, name string, value any) jsonschema.Object {
	return append(in, jsonschema.Entry{Name: name, Value: value})
}
