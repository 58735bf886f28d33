package docs

import (
	"bytes"
	"embed"
	"strings"
	"sync"
	"text/template"
	"unicode"
)

// statusFile is the document that is rendered for each request.
const statusFile = "status.md"

// documentFiles are the templates, by the names under which they are served, and shared parts.
//
//go:embed documents
var documentFiles embed.FS

// documentTemplates are parsed by the first document that is rendered: most commands of the program
// render none, and should not wait for it.
var documentTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"base":    func() string { return baseMark },
		"minimal": minimalText,
		"slug":    slugOf,
		"cell":    func(text string) string { return strings.ReplaceAll(text, "|", `\|`) },
	}).ParseFS(documentFiles, "documents/*"))
})

// baseMark replaces the base URL in documents that are rendered once for all base URLs. No template
// contains it.
const baseMark = "\x00"

// rendered is a document of a deployment, split at the places of the base URL.
type rendered [][]byte

func render(file string, data any) rendered {
	var out bytes.Buffer
	if err := documentTemplates().ExecuteTemplate(&out, file, data); err != nil {
		panic(err)
	}
	return bytes.Split(out.Bytes(), []byte(baseMark))
}

// at returns the document with a base URL.
func (r rendered) at(base string) []byte { return bytes.Join(r, []byte(base)) }

// slugOf returns the anchor of a heading, as common Markdown renderers make it.
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
