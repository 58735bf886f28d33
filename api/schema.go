package api

import (
	"reflect"
	"strings"

	"pws/api/jsonschema"
	"pws/internal/fault"
)

// schemasPath is where the named schemas are served.
const schemasPath = "/schemas/" + APIVersion

// schemaMedia is the content type of a schema; schemaEnding is the extension of its file.
const (
	schemaMedia  = "application/schema+json"
	schemaEnding = ".json"
)

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
		Name: "schema.list", Method: "GET", Path: schemasPath,
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Tag: "meta", Summary: "List schemas",
		Doc: "Lists the names and addresses of all schemas.",
	}, listSchemas),
	declare[None, SchemaDocument](Operation{
		Name: "schema.read", Method: "GET", Path: schemasPath + "/{schema}",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Params: []Param{{Name: "schema", Doc: "Name of a schema, with or without .json."}},
		Errors: []fault.Code{fault.SchemaNotFound}, Conditional: true,
		Media: []string{schemaMedia},
		Tag:   "meta", Summary: "Get a schema",
		Doc: "Returns one schema as self-contained JSON Schema 2020-12, with all referenced " +
			"schemas under $defs.",
	}, readSchema),
}

// addSchemas adds the types of all operations and of envelopes.
func addSchemas(into *jsonschema.Schemas) {
	for _, t := range []reflect.Type{reflect.TypeFor[Failure](), reflect.TypeFor[Meta]()} {
		into.Add(t, jsonschema.Response)
	}
	for _, op := range Table {
		if op.Request != nil {
			into.Add(op.Request, jsonschema.Request)
		}
		into.Add(op.Response, jsonschema.Response)
	}
}

// publishSchemas makes a file of each named schema.
func publishSchemas(publicURL string) *Published {
	all := jsonschema.NewSchemas("#/$defs/")
	addSchemas(all)
	out := &Published{schemas: map[string]page{}}
	for _, name := range all.Names() {
		url := publicURL + schemasPath + "/" + name + schemaEnding
		out.schemas[name] = newPage(all.Document(url, name))
		out.list.Schemas = append(out.list.Schemas, SchemaRef{Name: name, URL: url})
	}
	return out
}

func readOpenAPI(c *Call, _ *None) (Reply, error) {
	return c.Service.published().openAPI.reply(jsonMedia), nil
}

func listSchemas(c *Call, _ *None) (Reply, error) {
	return Reply{Data: c.Service.published().list}, nil
}

func readSchema(c *Call, _ *None) (Reply, error) {
	name := strings.TrimSuffix(c.Param("schema"), schemaEnding)
	found, known := c.Service.published().schemas[name]
	if !known {
		return Reply{}, fault.New(fault.SchemaNotFound,
			"There is no schema of this name; "+schemasPath+" lists them.")
	}
	return found.reply(schemaMedia), nil
}
