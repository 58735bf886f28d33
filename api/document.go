package api

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"strings"
	"text/template"
	"unicode"
)

// servedDocument is a document about the service, written for those who have its address alone.
type servedDocument struct {
	// name is that of the template, and what follows "document." in the operation's name.
	name, file, path, media, summary, doc string
	// live documents are made anew for each request.
	live bool
}

const (
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
			"client asks for JSON.",
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
		return declare[None, ServiceRecord](declared, readHome)
	}
	return declare[None, Document](declared, func(c *Call, _ *None) (Reply, error) {
		return c.document(d.file, d.media), nil
	})
}

func readHome(c *Call, _ *None) (Reply, error) {
	reply := c.document(homeFile, plainMedia)
	if c.PrefersJSON {
		reply = c.serviceRecord()
	}
	document, _ := reply.Data.(Document)
	document.Varies = true
	reply.Data = document
	return reply, nil
}

// documentFiles are the templates, by the names under which they are served, and what they share.
//
//go:embed documents
var documentFiles embed.FS

var documentTemplates = template.Must(template.New("").Funcs(template.FuncMap{
	"base":  func() string { return baseMark },
	"limit": limitValue,
	"slug":  slugOf,
	"cell":  func(text string) string { return strings.ReplaceAll(text, "|", `\|`) },
}).ParseFS(documentFiles, "documents/*"))

// baseMark stands for the base URL in what is rendered once for all of them. No template has it.
const baseMark = "\x00"

// document is a document with the base URL that the caller knows.
func (c *Call) document(file, media string) Reply {
	return c.Service.documents()[file].reply(c.base(), media)
}

// rendered is a document of a deployment, in the pieces between which the base URL stands.
type rendered [][]byte

func render(file string, data any) rendered {
	var out bytes.Buffer
	if err := documentTemplates.ExecuteTemplate(&out, file, data); err != nil {
		panic(err)
	}
	return bytes.Split(out.Bytes(), []byte(baseMark))
}

func (r rendered) reply(base, media string) Reply {
	body := bytes.Join(r, []byte(base))
	return Reply{Data: Document{ContentType: media, Body: body}, ETag: tagOf(body)}
}

// slugOf is the anchor of a heading, as the usual renderers of Markdown make it.
func slugOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// tagOf is the strong entity tag of a text.
func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	const tagBytes = 12
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:tagBytes]) + `"`
}
