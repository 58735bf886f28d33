// Package docs describes the table of operations: the OpenAPI document, the JSON Schemas and the
// documents for readers. Package api declares the operations that serve them, and uses the
// interface Documents; it never imports this package.
package docs

import (
	"sync"

	"pws/api"
)

// Documents are the documents of a deployment. They are rendered from api.Table on first use and
// cached.
type Documents struct {
	published func() *published
	pages     func() map[string]rendered
}

var _ api.Documents = (*Documents)(nil)

// New returns the documents of a deployment.
func New(config api.Config) *Documents {
	return &Documents{
		published: sync.OnceValue(func() *published { return publish(config) }),
		pages:     sync.OnceValue(func() map[string]rendered { return writeDocuments(config) }),
	}
}

// Page implements api.Documents.
func (d *Documents) Page(file, base string) []byte { return d.pages()[file].at(base) }

// Status implements api.Documents.
func (*Documents) Status(status *api.Status, base string) []byte {
	return render(statusFile, status).at(base)
}

// OpenAPI implements api.Documents.
func (d *Documents) OpenAPI() (body []byte, etag string) {
	made := d.published()
	return made.openAPI.body, made.openAPI.etag
}

// Schemas implements api.Documents.
func (d *Documents) Schemas() api.SchemasData { return d.published().list }

// Schema implements api.Documents.
func (d *Documents) Schema(name string) (body []byte, etag string) {
	found := d.published().schemas[name]
	return found.body, found.etag
}
