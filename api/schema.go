package api

import (
	"strings"

	"pws/api/jsonschema"
	"pws/internal/fault"
)

// SchemasPath is where the named schemas are served.
const SchemasPath = "/schemas/" + APIVersion

// SchemaEnding is the extension of the file of a schema.
const SchemaEnding = ".json"

const schemaMedia = "application/schema+json"

// SchemaRef names a schema.
type SchemaRef struct {
	// Its name in the components of the OpenAPI document.
	Name string `json:"name"`
	// Its address, which is also its $id.
	URL string `json:"url"`
}

// SchemasData lists the named schemas.
type SchemasData struct {
	// Sorted by name. Names of request schemas end in Input or Request, or are those of what is
	// requested.
	Schemas []SchemaRef `json:"schemas"`
}

// SchemaDocument is a JSON Schema as a document.
type SchemaDocument struct {
	// JSON Schema 2020-12.
	Dialect string `json:"$schema"`
	// Its address.
	ID string `json:"$id"`
	// Its name.
	Title string `json:"title"`
}

// OpenAPIDocument is the head of the description of the interface.
type OpenAPIDocument struct {
	// Version of the OpenAPI specification.
	OpenAPI string `json:"openapi"`
	// The operations by path.
	Paths Raw `json:"paths"`
}

var schemaOperations = []*Operation{
	declare[None, OpenAPIDocument](Operation{
		Name: "meta.openapi", Method: "GET", Path: "/openapi.json",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Conditional: true, Media: []string{jsonMedia},
		Tag: "meta", Summary: "Get the OpenAPI document",
		Doc: "Returns the API as an OpenAPI 3.1 document: every operation with its parameters, " +
			"schemas, error codes and recorded examples. It only changes with the version of " +
			"the program.",
	}, readOpenAPI),
	declare[None, SchemasData](Operation{
		Name: "schema.list", Method: "GET", Path: SchemasPath,
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Tag: "meta", Summary: "List schemas",
		Doc: "Lists the names and addresses of all schemas.",
	}, listSchemas),
	declare[None, SchemaDocument](Operation{
		Name: "schema.read", Method: "GET", Path: SchemasPath + "/{schema}",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Params: []Param{{Name: "schema", Doc: "Name of a schema, with or without .json."}},
		Errors: []fault.Code{fault.SchemaNotFound}, Conditional: true,
		Media: []string{schemaMedia},
		Tag:   "meta", Summary: "Get a schema",
		Doc: "Returns one schema as self-contained JSON Schema 2020-12, with all referenced " +
			"schemas under $defs.",
	}, readSchema),
}

func readOpenAPI(c *Call, _ *None) (Reply, error) {
	body, etag := c.Service.Documents.OpenAPI()
	return Reply{Data: Document{ContentType: jsonMedia, Body: body}, ETag: etag}, nil
}

func listSchemas(c *Call, _ *None) (Reply, error) {
	return Reply{Data: c.Service.Documents.Schemas()}, nil
}

func readSchema(c *Call, _ *None) (Reply, error) {
	name := strings.TrimSuffix(c.Param("schema"), SchemaEnding)
	body, etag := c.Service.Documents.Schema(name)
	if body == nil {
		return Reply{}, fault.New(fault.SchemaNotFound,
			"There is no schema of this name; "+SchemasPath+" lists them.")
	}
	return Reply{Data: Document{ContentType: schemaMedia, Body: body}, ETag: etag}, nil
}

// RequestSchema returns the name of the schema of the body, empty for an operation without one.
func (o *Operation) RequestSchema() string {
	if o.Request == nil {
		return ""
	}
	return jsonschema.NameOf(o.Request, jsonschema.Request)
}
