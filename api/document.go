package api

import (
	"crypto/sha256"
	"encoding/base64"
)

// Documents are the texts that describe the service. Package docs makes them from Table; the
// program sets them in Service.
type Documents interface {
	// Page returns a document by the name of its file, with the base URL of the service.
	Page(file, base string) []byte
	// Status returns the status page.
	Status(status *Status, base string) []byte
	// OpenAPI returns the OpenAPI document and its entity tag.
	OpenAPI() (body []byte, etag string)
	// Schemas returns the list of all named schemas.
	Schemas() SchemasData
	// Schema returns one schema as a document, with its entity tag; body is nil if there is none.
	Schema(name string) (body []byte, etag string)
}

// servedDocument is a document about the service, written for those who have its address alone.
type servedDocument struct {
	// name is that of the template, and what follows "document." in the operation's name.
	name, file, path, media, summary, doc string
	// live documents are made again for each request.
	live bool
}

const (
	jsonMedia     = "application/json"
	markdownMedia = "text/markdown; charset=utf-8"
	plainMedia    = "text/plain; charset=utf-8"
)

// homeFile is the document at the root.
const homeFile = "home.txt"

var servedDocuments = []servedDocument{
	{
		name: "home", file: homeFile, path: "/", media: plainMedia,
		summary: "Get the home page",
		doc: "Returns a short page with links to all documents, or the discovery record if the " +
			"client asks for JSON. Browsers are sent to the web page.",
	},
	{
		name: "llms", file: "llms.txt", path: "/llms.txt", media: plainMedia,
		summary: "Get llms.txt",
		doc: "Returns what an agent with curl and openssl needs to register, save work and " +
			"hand it over.",
	},
	{
		name: "index", file: "index.md", path: "/index.md", media: markdownMedia,
		summary: "Get the overview",
		doc:     "Returns what the service is, how to use it, and how to set up MCP hosts.",
	},
	{
		name: "reference", file: "docs.md", path: "/docs.md", media: markdownMedia,
		summary: "Get the reference",
		doc: "Returns the reference: every operation with its request, response and error " +
			"codes, every type and every error code.",
	},
	{
		name: "capabilities", file: "capabilities.md", path: "/capabilities.md",
		media: markdownMedia, summary: "Get the capabilities page",
		doc: "Returns capabilities, limits and rate limits as a text, with the data of " +
			"meta.capabilities.",
	},
	{
		name: "registration", file: "registration.md", path: "/registration.md",
		media: markdownMedia, summary: "Get the registration guide",
		doc: "Returns how an agent registers and opens sessions, with a script.",
	},
	{
		name: "bundle", file: "project-bundle.md", path: "/project-bundle.md",
		media: markdownMedia, summary: "Get the bundle format",
		doc: "Returns what a project bundle contains, how its digests are computed, and what " +
			"an import does.",
	},
	{
		name: "abuse", file: "abuse.md", path: "/abuse.md", media: markdownMedia,
		summary: "Get the abuse policy",
		doc: "Returns what is not allowed, how to report abuse, and what the service does " +
			"not guarantee.",
	},
	{
		name: "status", file: "status.md", path: "/status.md", media: markdownMedia,
		summary: "Get the status page", live: true,
		doc: "Returns the current status of the service, with counts of public content.",
	},
}

var documentOperations = newDocumentOperations()

func newDocumentOperations() []*Operation {
	var operations []*Operation
	for _, one := range servedDocuments {
		operations = append(operations, one.operation())
	}
	return append(operations, serviceOperation)
}

func (d servedDocument) operation() *Operation {
	declared := Operation{
		Name: "document." + d.name, Method: "GET", Path: d.path,
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Conditional: !d.live, Media: []string{d.media},
		Tag: "documents", Summary: d.summary, Doc: d.doc,
	}
	switch {
	case d.live:
		return declare[None, Document](declared, readStatus)
	case d.path == "/":
		declared.Media = append(declared.Media, jsonMedia)
		declared.Statuses = append(declared.Statuses, 303)
		return declare[None, ServiceRecord](declared, readHome)
	}
	return declare[None, Document](declared, func(c *Call, _ *None) (Reply, error) {
		return c.document(d.file, d.media), nil
	})
}

func readHome(c *Call, _ *None) (Reply, error) {
	if c.PrefersHTML && c.hasPages() {
		return Reply{Status: 303, Data: Document{
			ContentType: plainMedia, Location: WebPath, Varies: true,
		}}, nil
	}
	reply := c.document(homeFile, plainMedia)
	if c.PrefersJSON {
		reply = c.serviceRecord()
	}
	document, _ := reply.Data.(Document)
	document.Varies = true
	reply.Data = document
	return reply, nil
}

// document is a document with the base URL that the caller knows.
func (c *Call) document(file, media string) Reply {
	body := c.Service.Documents.Page(file, c.base())
	return Reply{Data: Document{ContentType: media, Body: body}, ETag: TagOf(body)}
}

// TagOf is the strong entity tag of a text.
func TagOf(body []byte) string {
	sum := sha256.Sum256(body)
	const tagBytes = 12
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:tagBytes]) + `"`
}
