package jsonschema

import (
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// descriptions are those of the members, by package, then by type and field.
var descriptions sync.Map

// Describe sets the descriptions of the members whose structs are in a package, which is given by
// its import path. Each line is a type, a point, a field, a space and the text: "Task.Title Its
// title.". A malformed line is a bug of the package and panics.
func Describe(pkg, lines string) {
	texts := map[string]string{}
	for line := range strings.Lines(lines) {
		field, text, found := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !found || texts[field] != "" {
			panic("jsonschema: no description or a second one: " + strconv.Quote(line))
		}
		texts[field] = text
	}
	descriptions.Store(pkg, texts)
}

// Description is the description of a field of a struct, empty if it has none.
func Description(t reflect.Type, field string) string {
	texts, found := descriptions.Load(t.PkgPath())
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	return texts.(map[string]string)[name+"."+field]
}
