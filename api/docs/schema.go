package docs

import (
	"reflect"

	"pws/api"
	"pws/api/jsonschema"
)

// addSchemas adds the types of all operations and of envelopes.
func addSchemas(into *jsonschema.Schemas) {
	for _, t := range []reflect.Type{reflect.TypeFor[api.Failure](), reflect.TypeFor[api.Meta]()} {
		into.Add(t, jsonschema.Response)
	}
	for _, op := range api.Table {
		if op.Request != nil {
			into.Add(op.Request, jsonschema.Request)
		}
		into.Add(op.Response, jsonschema.Response)
		if minimal := op.Minimal(); minimal != nil {
			into.AddFiltered(op.MinimalName(), minimal)
		}
	}
}

// published is the description of the interface: the OpenAPI document, and a file for each named
// schema.
type published struct {
	openAPI page
	schemas map[string]page
	list    api.SchemasData
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
	return page{body: text, etag: api.TagOf(text)}
}

func publish(config api.Config) *published {
	all := jsonschema.NewSchemas("#/$defs/")
	addSchemas(all)
	out := &published{
		openAPI: newPage(newOpenAPI(config).document()), schemas: map[string]page{},
	}
	for _, name := range all.Names() {
		url := config.PublicURL + api.SchemasPath + "/" + name + api.SchemaEnding
		out.schemas[name] = newPage(all.Document(url, name))
		out.list.Schemas = append(out.list.Schemas, api.SchemaRef{Name: name, URL: url})
	}
	return out
}
