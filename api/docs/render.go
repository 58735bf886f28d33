package docs

import (
	"bytes"
	"embed"
	"strings"
	"text/template"
	"unicode"
)

// statusFile is the document that is rendered for each request.
const statusFile = "status.md"

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

// rendered is a document of a deployment, in the pieces between which the base URL stands.
type rendered [][]byte

func render(file string, data any) rendered {
	var out bytes.Buffer
	if err := documentTemplates.ExecuteTemplate(&out, file, data); err != nil {
		panic(err)
	}
	return bytes.Split(out.Bytes(), []byte(baseMark))
}

// at is the document with a base URL.
func (r rendered) at(base string) []byte { return bytes.Join(r, []byte(base)) }

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
