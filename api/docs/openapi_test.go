package docs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"pws/api"
	"pws/api/docs"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

const publicURL = "https://work.example.org"

func publish() *docs.Documents {
	return docs.New(api.Config{Version: "1.2.3", PublicURL: publicURL})
}

func loadOpenAPI(t *testing.T) *openapi3.T {
	t.Helper()
	text, _ := publish().OpenAPI()
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// TestOpenAPIIsValid validates the document with all its schemas, and its examples against them.
func TestOpenAPIIsValid(t *testing.T) {
	document := loadOpenAPI(t)
	err := document.Validate(t.Context(), openapi3.IsOpenAPI31OrLater(),
		openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation())
	if err != nil {
		t.Fatal(err)
	}
	if document.Servers[0].URL != publicURL || document.Info.Version != "1.2.3" {
		t.Errorf("servers %v, version %s", document.Servers[0], document.Info.Version)
	}
	one, oneTag := publish().OpenAPI()
	other, otherTag := publish().OpenAPI()
	if !bytes.Equal(one, other) || oneTag != otherTag {
		t.Error("two documents of one table differ")
	}
}

// TestOpenAPIHasEverything compares the document with the table.
func TestOpenAPIHasEverything(t *testing.T) {
	document, count := loadOpenAPI(t), 0
	for _, path := range document.Paths.Map() {
		count += len(path.Operations())
	}
	if count != len(api.Table) {
		t.Errorf("%d operations, not %d", count, len(api.Table))
	}
	for _, op := range api.Table {
		path := document.Paths.Value(strings.ReplaceAll(op.Path, "*}", "}"))
		if path == nil || path.GetOperation(op.Method) == nil {
			t.Errorf("%s is missing", op.Name)
			continue
		}
		got := path.GetOperation(op.Method)
		if got.OperationID != op.Name || got.Summary != op.Summary || got.Description != op.Doc {
			t.Errorf("%s: %s %q %q", op.Name, got.OperationID, got.Summary, got.Description)
		}
		tag := document.Tags.Get(op.Tag)
		if tag == nil || tag.Description == "" || tag.Description == op.Tag {
			t.Errorf("%s: nobody says what the tag %s is", op.Name, op.Tag)
		}
		for _, status := range op.Statuses {
			if got.Responses.Status(status) == nil {
				t.Errorf("%s does not answer %d", op.Name, status)
			}
		}
		wantParameters(t, op, got)
		wantCodes(t, op, got)
	}
}

func wantParameters(t *testing.T, op *api.Operation, got *openapi3.Operation) {
	t.Helper()
	for _, param := range op.Query {
		one := got.Parameters.GetByInAndName("query", param.Name)
		if one == nil || one.Description == "" || one.Schema == nil {
			t.Errorf("%s: the parameter %s is not described", op.Name, param.Name)
		}
	}
	for in, want := range map[string]bool{
		"Idempotency-Key": op.Idempotency != api.NoKey, "Last-Event-ID": op.Streams,
		"If-None-Match": op.Conditional, "If-Match": op.Conditional && op.Method != "GET",
	} {
		one := got.Parameters.GetByInAndName("header", in)
		if (one != nil) != want {
			t.Errorf("%s: header %s: %v", op.Name, in, one != nil)
		}
		if one != nil && one.Required != (in == "Idempotency-Key" &&
			op.Idempotency == api.KeyRequired || in == "If-Match" && op.MatchRequired) {
			t.Errorf("%s: header %s required: %v", op.Name, in, one.Required)
		}
	}
	wants := 1
	switch op.Auth {
	case api.Anonymous:
		wants = 0
	case api.Optional:
		wants = 2
	case api.Bearer:
	}
	if got.Security == nil || len(*got.Security) != wants {
		t.Errorf("%s: security %v", op.Name, got.Security)
	}
	if (op.Request != nil || op.RawMedia != nil) != (got.RequestBody != nil) ||
		got.RequestBody != nil && got.RequestBody.Value.Required == op.BodyOptional {
		t.Errorf("%s: request body %v", op.Name, got.RequestBody)
	}
}

// wantCodes compares the codes that the responses list with those of the operation.
func wantCodes(t *testing.T, op *api.Operation, got *openapi3.Operation) {
	t.Helper()
	var listed []fault.Code
	for text, response := range got.Responses.Map() {
		status, err := strconv.Atoi(text)
		if err != nil || status < 400 {
			continue
		}
		schema := response.Value.Content.Get("application/json").Schema.Value
		values := schema.AllOf[1].Value.Properties["error"].Value.Properties["code"].Value.Enum
		for _, value := range values {
			code, _ := value.(string)
			if fault.Lookup(fault.Code(code)).Status != status ||
				!strings.Contains(*response.Value.Description, code) {
				t.Errorf("%s: %s is listed under status %d", op.Name, code, status)
			}
			listed = append(listed, fault.Code(code))
		}
	}
	slices.Sort(listed)
	if want := op.Codes(); !slices.Equal(listed, want) {
		t.Errorf("%s lists %v, not %v", op.Name, listed, want)
	}
}

// schemaFile compiles a schema from its file alone.
func schemaFile(t *testing.T, name string, text []byte) *validator.Schema {
	t.Helper()
	document, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	compiler := validator.NewCompiler()
	compiler.AssertFormat()
	url := publicURL + "/schemas/v1/" + name + ".json"
	if err := compiler.AddResource(url, document); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	schema, err := compiler.Compile(url)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return schema
}

// TestOpenAPIHasDefaults checks that every optional integer has a default.
func TestOpenAPIHasDefaults(t *testing.T) {
	document := loadOpenAPI(t)
	limits := map[float64]int{}
	for name, path := range document.Paths.Map() {
		for _, operation := range path.Operations() {
			for _, one := range operation.Parameters {
				param := one.Value
				if param.Schema == nil || !param.Schema.Value.Type.Is("integer") || param.Required {
					continue
				}
				value, stated := param.Schema.Value.Default.(float64)
				if !stated || !strings.Contains(param.Description, strconv.Itoa(int(value))+" if absent") {
					t.Errorf("%s %s: default %v, %q", name, param.Name, param.Schema.Value.Default,
						param.Description)
				}
				if param.Name == "limit" {
					limits[value]++
				}
			}
		}
	}
	// These names are defined by the specification.
	for _, value := range []float64{25, 50, 100, 200} {
		if limits[value] == 0 {
			t.Errorf("no list has %v entries by default: %v", value, limits)
		}
	}
}

// TestSchemasAreSelfContained compiles every schema without the others.
func TestSchemasAreSelfContained(t *testing.T) {
	published := publish()
	for _, one := range published.Schemas().Schemas {
		name := one.Name
		text, _ := published.Schema(name)
		schemaFile(t, name, text)
		var head struct {
			Dialect string `json:"$schema"`
			ID      string `json:"$id"`
			Title   string `json:"title"`
		}
		if err := json.Unmarshal(text, &head); err != nil {
			t.Fatal(err)
		}
		if head.Dialect != jsonschema.Dialect || head.Title != name ||
			head.ID != publicURL+"/schemas/v1/"+name+".json" {
			t.Errorf("%s: %+v", name, head)
		}
	}
	if text, _ := published.Schema("Nothing"); text != nil {
		t.Error("a name without a schema has one")
	}
}

// loadedOperation returns an operation of the document.
func loadedOperation(document *openapi3.T, op *api.Operation) *openapi3.Operation {
	return document.Paths.Value(strings.ReplaceAll(op.Path, "*}", "}")).GetOperation(op.Method)
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestExamplesFitTheirSchemas validates every recorded request and its answer against the published
// schemas.
func TestExamplesFitTheirSchemas(t *testing.T) {
	published, document := publish(), loadOpenAPI(t)
	validateAgainst := func(of, name string, schema []byte, text jsontext.Value) {
		value, err := validator.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", of, err)
		}
		if err := schemaFile(t, name, schema).Validate(value); err != nil {
			t.Errorf("%s: %v", of, err)
		}
	}
	validate := func(of string, typ reflect.Type, mode jsonschema.Mode, text jsontext.Value) {
		name := jsonschema.NameOf(typ, mode)
		schema, _ := published.Schema(name)
		if typ.Kind() != reflect.Struct || schema == nil {
			t.Errorf("%s: %s has no schema of its own", of, typ)
			return
		}
		validateAgainst(of, name, schema, text)
	}
	for _, op := range api.Table {
		if len(op.Media) > 0 {
			continue
		}
		text, err := os.ReadFile(filepath.Join("examples", op.Name+".json"))
		if err != nil {
			t.Errorf("%s has no example; example.txtar records them", op.Name)
			continue
		}
		var one struct {
			Request  struct{ Body jsontext.Value } `json:"request"`
			Response struct {
				Status int            `json:"status"`
				Body   jsontext.Value `json:"body"`
			} `json:"response"`
		}
		if err := json.Unmarshal(text, &one, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatalf("%s: %v", op.Name, err)
		}
		if !slices.Contains(op.Statuses, one.Response.Status) {
			t.Errorf("%s: the example has status %d", op.Name, one.Response.Status)
		}
		var envelope struct {
			Data jsontext.Value `json:"data"`
		}
		if err := json.Unmarshal(one.Response.Body, &envelope); err != nil {
			t.Fatalf("%s: %v", op.Name, err)
		}
		validate(op.Name, op.Response, jsonschema.Response, envelope.Data)
		minimal := loadedOperation(document, op).Extensions["x-minimal-example"]
		if !op.Writes() {
			continue
		}
		all := jsonschema.NewSchemas("#/$defs/")
		all.AddFiltered(op.MinimalName(), op.Minimal())
		schema := encoded(t, all.Document(publicURL+"/minimal.json", op.MinimalName()))
		validateAgainst(op.Name+", minimal", op.MinimalName(), schema, encoded(t, minimal))
	}
}
