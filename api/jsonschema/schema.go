package jsonschema

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pws/internal/id"
)

// Dialect is the JSON Schema that the schemas are written in.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// Mode says from which side a type is seen: requests are closed, responses are open.
type Mode uint8

const (
	// Response schemas permit members that are not declared and require all that are never omitted.
	Response Mode = iota
	// Request schemas refuse members that are not declared and require those with the word required.
	Request
	// Arguments schemas are those of requests without null for what is absent.
	Arguments
)

// Object is a JSON object whose members keep their order.
type Object []Entry

// Entry is one member of an Object.
type Entry struct {
	Name  string
	Value any
}

// Pairs returns an object of alternating names and values. A name that is not a text is a bug.
func Pairs(pairs ...any) Object {
	out := make(Object, len(pairs)/2)
	for i := range out {
		name, isText := pairs[2*i].(string)
		if !isText {
			panic("jsonschema: a member without a name")
		}
		out[i] = Entry{Name: name, Value: pairs[2*i+1]}
	}
	return out
}

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	out.WriteByte('{')
	for i, entry := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(AppendString(nil, entry.Name))
		out.WriteByte(':')
		if err := encoder.Encode(entry.Value); err != nil {
			return nil, err
		}
		out.Truncate(out.Len() - 1)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// Get is the value of a member, nil where there is none.
func (o Object) Get(name string) any {
	for _, entry := range o {
		if entry.Name == name {
			return entry.Value
		}
	}
	return nil
}

func (o *Object) add(name string, value any) { *o = append(*o, Entry{name, value}) }

// Schemas collects the named schemas of many types under one place of a document.
type Schemas struct {
	prefix string
	owner  map[string]reflect.Type
	defs   map[string]Object
}

// NewSchemas makes an empty collection. Prefix is where its definitions stand in the document, for
// example "#/components/schemas/".
func NewSchemas(prefix string) *Schemas {
	return &Schemas{prefix: prefix, owner: map[string]reflect.Type{}, defs: map[string]Object{}}
}

// Add is the schema of a type: a reference for structs, which are defined in the collection with
// all that they name, and the schema itself for others.
func (s *Schemas) Add(t reflect.Type, mode Mode) Object {
	pointer := t.Kind() == reflect.Pointer
	if pointer {
		t = t.Elem()
	}
	return s.place(&use{plan: planOf(t), pointer: pointer, check: noCheck}, mode, "")
}

// Defs are the definitions, sorted by name.
func (s *Schemas) Defs() Object {
	out := Object{}
	for _, name := range s.Names() {
		out.add(name, s.defs[name])
	}
	return out
}

// Names are the names of the definitions, sorted.
func (s *Schemas) Names() []string { return slices.Sorted(maps.Keys(s.defs)) }

// Document is one definition as a document of its own, with all that it refers to under $defs. It
// is nil where there is no such definition. The collection must have the prefix "#/$defs/".
func (s *Schemas) Document(identity, name string) Object {
	def, ok := s.defs[name]
	if !ok {
		return nil
	}
	out := Object{{"$schema", Dialect}, {"$id", identity}, {"title", name}}
	out = append(out, def...)
	reached := map[string]bool{}
	s.reach(def, reached)
	if len(reached) > 0 {
		defs := Object{}
		for _, one := range slices.Sorted(maps.Keys(reached)) {
			defs.add(one, s.defs[one])
		}
		out.add("$defs", defs)
	}
	return out
}

func (s *Schemas) reach(value any, reached map[string]bool) {
	switch value := value.(type) {
	case Object:
		for _, entry := range value {
			ref, isText := entry.Value.(string)
			if entry.Name == "$ref" && isText {
				name := strings.TrimPrefix(ref, s.prefix)
				if !reached[name] {
					reached[name] = true
					s.reach(s.defs[name], reached)
				}
				continue
			}
			s.reach(entry.Value, reached)
		}
	case []any:
		for _, one := range value {
			s.reach(one, reached)
		}
	}
}

// SchemaOf is the schema of one type as a document of its own.
func SchemaOf(t reflect.Type, mode Mode, identity string) Object {
	s := NewSchemas("#/$defs/")
	node := s.Add(t, mode)
	out := Object{{"$schema", Dialect}}
	if identity != "" {
		out.add("$id", identity)
	}
	out = append(out, node...)
	if len(s.defs) > 0 {
		out.add("$defs", s.Defs())
	}
	return out
}

// NameOf is the name under which a struct is defined: its Go name with a capital; the request form
// of a type that is not called Request ends in Input, so that both forms can stand side by side.
func NameOf(t reflect.Type, mode Mode) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := t.Name()
	if at := strings.IndexByte(name, '['); at >= 0 {
		inner := strings.Trim(name[at:], "[]")
		inner = inner[strings.LastIndexAny(inner, "./")+1:]
		name = name[:at] + "Of" + capital(inner)
	}
	name = capital(name)
	if mode != Response && !strings.HasSuffix(name, "Request") && !strings.HasSuffix(name, "Input") {
		name += "Input"
	}
	return name
}

func capital(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}

// place is the schema of a type at one place.
func (s *Schemas) place(u *use, mode Mode, doc string) Object {
	nullable := u.pointer || u.check.nullable
	if u.plan.kind == kindObject && u.plan.typ.Name() != "" {
		ref := Object{{"$ref", s.prefix + s.define(u.plan, mode)}}
		if nullable {
			ref = Object{{"anyOf", []any{ref, Object{{"type", "null"}}}}}
		}
		return describe(ref, doc)
	}
	node := s.inline(u, mode)
	if nullable {
		node = withNull(node)
	}
	return describe(node, doc)
}

func describe(node Object, doc string) Object {
	if doc == "" {
		return node
	}
	return append(Object{{"description", doc}}, node...)
}

// withNull permits null beside what a schema permits.
func withNull(node Object) Object {
	out := make(Object, 0, len(node))
	for _, entry := range node {
		switch value := entry.Value.(type) {
		case string:
			if entry.Name == "type" {
				entry.Value = []any{value, "null"}
			}
		case []any:
			if entry.Name == "enum" {
				entry.Value = append(slices.Clone(value), nil)
			}
		}
		out = append(out, entry)
	}
	return out
}

func (s *Schemas) define(p *plan, mode Mode) string {
	name := NameOf(p.typ, mode)
	if owner, known := s.owner[name]; known {
		if owner != p.typ {
			panic("jsonschema: two types are called " + name + ": " + owner.String() + ", " +
				p.typ.String())
		}
		return name
	}
	s.owner[name] = p.typ
	s.defs[name] = s.object(p, mode)
	return name
}

func (s *Schemas) object(p *plan, mode Mode) Object {
	properties, required := Object{}, []any{}
	for i := range p.members {
		m := &p.members[i]
		one := m.use
		if mode != Response {
			// Null means an absent member.
			one.pointer = (mode == Request || m.clears) && !m.check.required
		}
		properties.add(m.name, s.place(&one, mode, Description(m.owner, m.field)))
		if mode != Response && m.check.required || mode == Response && !m.omitting {
			required = append(required, m.name)
		}
	}
	out := Object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		out.add("required", required)
	}
	if mode != Response {
		out.add("additionalProperties", false)
	}
	return out
}

func (s *Schemas) inline(u *use, mode Mode) Object {
	c := u.check
	switch u.plan.kind {
	case kindText:
		return textSchema(c)
	case kindBoolean:
		return Object{{"type", "boolean"}}
	case kindNumber:
		return Object{{"type", "number"}}
	case kindInteger:
		out := Object{{"type", "integer"}}
		switch {
		case c.hasMin:
			out.add("minimum", c.min)
		case u.plan.unsigned:
			out.add("minimum", 0)
		}
		if c.hasMax {
			out.add("maximum", c.max)
		}
		return out
	case kindList:
		out := Object{{"type", "array"}, {"items", s.place(u.plan.elem, mode, "")}}
		if c.items.set {
			out.add("minItems", c.items.min)
			out.add("maxItems", c.items.max)
		}
		return out
	case kindMap:
		values := s.place(u.plan.elem, mode, "")
		out := Object{{"type", "object"}, {"additionalProperties", values}}
		if c.items.set {
			out.add("minProperties", c.items.min)
			out.add("maxProperties", c.items.max)
		}
		return out
	case kindObject:
		return s.object(u.plan, mode)
	case kindOpen:
	}
	return described(u.plan)
}

// described is the schema that a type gives of itself; without one it is any value.
func described(p *plan) Object {
	out := Object{}
	if !p.describer {
		return out
	}
	self, ok := reflect.New(p.typ).Interface().(Describer)
	if !ok {
		return out
	}
	words := self.JSONSchema()
	for _, name := range slices.Sorted(maps.Keys(words)) {
		out.add(name, words[name])
	}
	return out
}

func textSchema(c *Check) Object {
	out := Object{{"type", "string"}}
	if c.enum != nil {
		values := make([]any, len(c.enum))
		for i, one := range c.enum {
			values[i] = one
		}
		out.add("enum", values)
	}
	if c.chars.set {
		if c.chars.min > 0 {
			out.add("minLength", c.chars.min)
		}
		out.add("maxLength", c.chars.max)
	}
	if c.bytes.set {
		if c.bytes.min > 0 && !c.chars.set {
			out.add("minLength", 1)
		}
		if !c.chars.set {
			// No text has more code points than bytes.
			out.add("maxLength", c.bytes.max)
		}
		out.add("x-max-bytes", c.bytes.max)
	}
	switch {
	case c.prefix != "":
		out.add("pattern", id.Pattern(c.prefix))
	case c.pattern != nil:
		out.add("pattern", c.pattern.String())
	}
	if c.isTime {
		out.add("format", "date-time")
	}
	return out
}

// Schema is the JSON Schema of a parameter with this check.
func (c *Check) Schema(integer bool) Object {
	if !integer {
		return textSchema(c)
	}
	out := Object{{"type", "integer"}}
	if c.hasMin {
		out.add("minimum", c.min)
	}
	if c.hasMax {
		out.add("maximum", c.max)
	}
	return out
}
