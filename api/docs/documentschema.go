package docs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"pws/api/jsonschema"
)

// fieldsOf returns the members of a type, with their place in a request.
func fieldsOf(t reflect.Type, mode jsonschema.Mode, place string) []fieldText {
	object := definition(jsonschema.SchemaOf(t, mode, ""))
	var fields []fieldText
	for _, entry := range schemaOf(object.Get("properties")) {
		member := schemaOf(entry.Value)
		kind := typeText(member, mode) + boundsText(member)
		if place != "" {
			kind = place + ", " + kind
		}
		if mode == jsonschema.Request && requires(object, entry.Name) {
			kind += ", required"
		}
		doc, _ := member.Get("description").(string)
		fields = append(fields, fieldText{Name: entry.Name, Kind: kind, Doc: doc})
	}
	return fields
}

// definition returns the object of a document: the schema itself, or the one it refers to.
func definition(document jsonschema.Object) jsonschema.Object {
	const prefix = "#/$defs/"
	if ref, ok := document.Get("$ref").(string); ok {
		return schemaOf(schemaOf(document.Get("$defs")).Get(strings.TrimPrefix(ref, prefix)))
	}
	return document
}

// definitionTexts returns the definitions that other schemas refer to, by name. All others are
// shown where they are used.
func definitionTexts(schemas *jsonschema.Schemas) []string {
	defs, named := schemas.Defs(), map[string]bool{}
	noteNamed(defs, named)
	var texts []string
	for _, entry := range defs {
		if !named[entry.Name] {
			continue
		}
		mode := jsonschema.Response
		if strings.HasSuffix(entry.Name, "Input") {
			mode = jsonschema.Request
		}
		texts = append(texts, folded(entry.Name+" = "+membersText(schemaOf(entry.Value), mode)))
	}
	return texts
}

// noteNamed records the definitions that a schema refers to.
func noteNamed(value any, named map[string]bool) {
	for _, entry := range schemaOf(value) {
		if ref, isText := entry.Value.(string); isText && entry.Name == "$ref" {
			named[strings.TrimPrefix(ref, definitionsPrefix)] = true
		}
		noteNamed(entry.Value, named)
	}
	if list, isList := value.([]any); isList {
		for _, one := range list {
			noteNamed(one, named)
		}
	}
}

// folded breaks a text at commas into lines of limited length.
func folded(text string) string {
	const columns = 100
	var out strings.Builder
	line := 0
	for part := range strings.SplitSeq(text, ", ") {
		if out.Len() > 0 {
			if line+len(part) > columns {
				out.WriteString(",\n  ")
				line = 0
			} else {
				out.WriteString(", ")
			}
		}
		out.WriteString(part)
		line += len(part) + len(", ")
	}
	return out.String()
}

// membersText lists the members of an object with their types. A question mark follows an optional
// member.
func membersText(object jsonschema.Object, mode jsonschema.Mode) string {
	properties := schemaOf(object.Get("properties"))
	if len(properties) == 0 {
		return typeText(object, mode)
	}
	members := make([]string, len(properties))
	for i, entry := range properties {
		name := entry.Name
		if !requires(object, name) {
			name += "?"
		}
		members[i] = name + ": " + typeText(schemaOf(entry.Value), mode)
	}
	return "{" + strings.Join(members, ", ") + "}"
}

func requires(object jsonschema.Object, name string) bool {
	return slices.Contains(listOf(object.Get("required")), any(name))
}

// typeText is a schema in short form: string, integer, chg_…, A|B, Task[], {string: Task}.
func typeText(schema jsonschema.Object, mode jsonschema.Mode) string {
	if ref, ok := schema.Get("$ref").(string); ok {
		return ref[strings.LastIndexAny(ref, "/#")+1:]
	}
	var kinds []string
	for _, one := range listOf(schema.Get("anyOf")) {
		kinds = append(kinds, typeText(schemaOf(one), mode))
	}
	for _, one := range listOf(schema.Get("enum")) {
		kinds = append(kinds, fmt.Sprint(one))
	}
	if len(kinds) == 0 {
		for _, one := range listOf(schema.Get("type")) {
			kinds = append(kinds, kindText(schema, fmt.Sprint(one), mode))
		}
	}
	kinds = slices.DeleteFunc(kinds, func(kind string) bool {
		return mode == jsonschema.Request && (kind == "null" || kind == "<nil>")
	})
	for i := range kinds {
		kinds[i] = strings.Replace(kinds[i], "<nil>", "null", 1)
	}
	if constant := schema.Get("const"); constant != nil {
		kinds = append(kinds, fmt.Sprint(constant))
	}
	if len(kinds) == 0 {
		return "any"
	}
	return strings.Join(slices.Compact(kinds), "|")
}

func kindText(schema jsonschema.Object, kind string, mode jsonschema.Mode) string {
	switch kind {
	case "array":
		item := typeText(schemaOf(schema.Get("items")), mode)
		if strings.Contains(item, "|") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case "object":
		if values := schemaOf(schema.Get("additionalProperties")); values != nil {
			return "{string: " + typeText(values, mode) + "}"
		}
		if properties := schemaOf(schema.Get("properties")); len(properties) > 0 {
			return membersText(schema, mode)
		}
	case "string":
		pattern, _ := schema.Get("pattern").(string)
		if prefix, _, found := strings.Cut(strings.TrimPrefix(pattern, "^"), "_[0-7]"); found {
			return prefix + "_…"
		}
		if schema.Get("format") == "date-time" {
			return "time"
		}
	}
	return kind
}

// boundsText lists the bounds of a value.
func boundsText(schema jsonschema.Object) string {
	between := func(low, high, unit string) string {
		from, to := schema.Get(low), schema.Get(high)
		switch {
		case to == nil && from == nil, to == nil && fmt.Sprint(from) == "0":
			return ""
		case to == nil:
			return fmt.Sprintf(" from %v", from)
		case from == nil || fmt.Sprint(from) == "0":
			return fmt.Sprintf(" to %v%s", to, unit)
		}
		return fmt.Sprintf(" %v to %v%s", from, to, unit)
	}
	text := between("minimum", "maximum", "") + between("minItems", "maxItems", " items")
	if bytes := schema.Get("x-max-bytes"); bytes != nil {
		return text + fmt.Sprintf(" to %v bytes", bytes)
	}
	return text + between("minLength", "maxLength", " characters")
}

// schemaOf returns a nested schema, nil if there is none. Types that describe themselves do it with
// maps.
func schemaOf(value any) jsonschema.Object {
	switch value := value.(type) {
	case jsonschema.Object:
		return value
	case map[string]any:
		var out jsonschema.Object
		for name, one := range value {
			out = append(out, jsonschema.Entry{Name: name, Value: one})
		}
		slices.SortFunc(out, func(a, b jsonschema.Entry) int { return strings.Compare(a.Name, b.Name) })
		return out
	}
	return nil
}

// listOf returns a list; a single text becomes a list of one.
func listOf(value any) []any {
	switch value := value.(type) {
	case []any:
		return value
	case string:
		return []any{value}
	}
	return nil
}
