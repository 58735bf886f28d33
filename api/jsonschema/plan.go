// Package jsonschema decodes JSON strictly, checks it and makes its JSON Schema, all from the
// struct tags of a Go type. It also writes answers (Append), their strings and their times.
//
// A tag json names a member, check bounds it (see CompileCheck) and each bounds the elements of a
// list or the values of a map; size says what an answer of limited length loses (package
// sizelimit). The comment of a field describes its member (see Describe). A type is compiled once;
// after that decoding walks a plan. The quick way decodes and checks; only if it finds a fault does
// a second walk over the text collect every fault with its place, so that a client can mend all of
// them at once.
//
// A member is optional unless its check says required; null for an optional member counts as
// absent, unless its type is Nullable. A required member needs a pointer type where its zero value
// is legal.
package jsonschema

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"pws/internal/fault"
)

// Checker is implemented by types with rules across their members. Its faults name members of the
// type. Faults of single members are reported in addition; members of a wrong type are empty for
// Problems.
type Checker interface {
	Problems() []fault.Field
}

// Validator is implemented by requests with rules beyond the checks of their members, so that one
// answer lists all errors. Validate is called if a check has failed. It gets the errors so far and
// returns an error with these and its own. Members may then violate their checks, and members of a
// wrong type are empty; Validate adds no error that only follows from an earlier one. A request
// without errors goes to the handler.
type Validator interface {
	Validate(faults []fault.Field) error
}

// Describer is implemented by types that describe themselves, as those must that write and read
// their own JSON. The keys of the map are those of JSON Schema.
type Describer interface {
	JSONSchema() map[string]any
}

type kind uint8

const (
	kindObject kind = iota
	kindMap
	kindList
	kindText
	kindBoolean
	kindInteger
	kindNumber
	// kindOpen is any JSON value: raw text, any, and types with their own decoding.
	kindOpen
)

// plan is the compiled form of a Go type without its pointer.
type plan struct {
	kind     kind
	typ      reflect.Type
	bits     int
	unsigned bool
	members  []member
	byName   map[string]int
	byFold   map[string]int
	elem     *use
	// open reports that a value may nest deeper than its Go type.
	open bool
	// done is false while the type is being compiled, which is how a type that holds itself shows.
	done bool
	// checker reports that the pointer to the type implements Checker.
	checker bool
	// describer reports that the type or its pointer implements Describer.
	describer bool
}

// use is a plan at one place, with the bounds of that place.
type use struct {
	plan    *plan
	pointer bool
	check   *Check
}

type member struct {
	use
	name  string
	index []int
	// owner is the struct that declares the field.
	owner    reflect.Type
	field    string
	omitting bool
	// clears reports that null is not the same as absence.
	clears bool
	// zeroHolds means that the zero value is within the bounds, so that it does not matter whether
	// it was sent. quoted is the usual form of the name in a text.
	zeroHolds bool
	quoted    []byte
	// key is the name as answers have it; size is the tag, see package sizelimit.
	key, size string
}

// Enumerated is implemented by string types whose values are listed once for several members, or
// are too many for a tag. The order is that of the schema.
type Enumerated interface{ Values() []string }

var (
	checkerType   = reflect.TypeFor[Checker]()
	describerType = reflect.TypeFor[Describer]()
	rawType       = reflect.TypeFor[jsontext.Value]()
	oldRawType    = reflect.TypeFor[json.RawMessage]()
	unmarshalers  = []reflect.Type{
		reflect.TypeFor[json.Unmarshaler](),
		reflect.TypeFor[encoding.TextUnmarshaler](),
		reflect.TypeFor[json.Marshaler](),
		reflect.TypeFor[encoding.TextMarshaler](),
	}
)

var plans = struct {
	sync.Mutex
	known map[reflect.Type]*plan
	ready sync.Map // reflect.Type to *plan, only whole ones
}{known: map[reflect.Type]*plan{}}

// planOf is the plan of a type, compiled on first use. A type that cannot be described panics.
func planOf(t reflect.Type) *plan {
	if found, ok := plans.ready.Load(t); ok {
		if p, isPlan := found.(*plan); isPlan {
			return p
		}
	}
	plans.Lock()
	defer plans.Unlock()
	whole := false
	defer func() {
		// A type that cannot be described leaves plans that are not whole. They would not panic again.
		if !whole {
			clear(plans.known)
		}
	}()
	p := compile(t)
	whole = true
	plans.ready.Store(t, p)
	return p
}

// Compile makes the plan of a type now, so that a bad declaration panics at the start.
func Compile(t reflect.Type) { planOf(t) }

func compile(t reflect.Type) *plan {
	if p := plans.known[t]; p != nil {
		return p
	}
	p := &plan{typ: t}
	plans.known[t] = p
	pointer := reflect.PointerTo(t)
	p.checker = pointer.Implements(checkerType)
	p.describer = pointer.Implements(describerType)
	if p.describer || ownJSON(t) {
		p.kind, p.open = kindOpen, true
	} else {
		compileKind(p, t)
	}
	p.done = true
	return p
}

func ownJSON(t reflect.Type) bool {
	if t == rawType || t == oldRawType || t.Kind() == reflect.Interface {
		return true
	}
	for _, one := range unmarshalers {
		if reflect.PointerTo(t).Implements(one) {
			return true
		}
	}
	return false
}

func compileKind(p *plan, t reflect.Type) {
	switch t.Kind() {
	case reflect.String:
		p.kind = kindText
	case reflect.Bool:
		p.kind = kindBoolean
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.kind, p.bits = kindInteger, t.Bits()
	case reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.kind, p.bits, p.unsigned = kindInteger, t.Bits(), true
	case reflect.Float64:
		p.kind = kindNumber
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			panic("jsonschema: bytes have no form of their own: " + t.String())
		}
		p.kind = kindList
		p.elem = useOf(t.Elem(), noCheck, noCheck)
		p.open = p.elem.plan.open || !p.elem.plan.done
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic("jsonschema: map keys are strings: " + t.String())
		}
		p.kind = kindMap
		p.elem = useOf(t.Elem(), noCheck, noCheck)
		p.open = p.elem.plan.open || !p.elem.plan.done
	case reflect.Struct:
		p.kind = kindObject
		p.byName, p.byFold = map[string]int{}, map[string]int{}
		addMembers(p, t, nil)
	default:
		panic("jsonschema: no JSON form for " + t.String())
	}
}

// useOf places a type under its bounds. Bounds on elements make a plan of their own, since the same
// Go type has others elsewhere.
func useOf(t reflect.Type, check, each *Check) *use {
	out := &use{check: check}
	if t.Kind() == reflect.Pointer {
		out.pointer = true
		t = t.Elem()
	}
	if named, ok := reflect.Zero(t).Interface().(Enumerated); ok {
		own := *check
		own.enum = named.Values()
		out.check = &own
	}
	out.plan = compile(t)
	if each == noCheck {
		return out
	}
	if out.plan.elem == nil {
		panic("jsonschema: each bounds elements, and there are none in " + t.String())
	}
	own := *out.plan
	elem := *own.elem
	elem.check = each
	own.elem = &elem
	out.plan = &own
	return out
}

func addMembers(p *plan, t reflect.Type, at []int) {
	for i := range t.NumField() {
		field := t.Field(i)
		index := append(append([]int{}, at...), i)
		tag, tagged := field.Tag.Lookup("json")
		if field.Anonymous && !tagged && field.Type.Kind() == reflect.Struct {
			addMembers(p, field.Type, index)
			continue
		}
		if !field.IsExported() || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "" {
			panic("jsonschema: " + t.String() + "." + field.Name + " has no json name")
		}
		if _, twice := p.byName[name]; twice {
			panic("jsonschema: " + t.String() + " has two members " + name)
		}
		typ := field.Type
		clears := typ.Implements(nullableType)
		if clears {
			typ, index = typ.Field(valueField).Type, append(index, valueField)
		}
		use := useOf(typ, checkTag(field, "check"), checkTag(field, "each"))
		p.open = p.open || use.plan.open || !use.plan.done
		p.byName[name] = len(p.members)
		p.byFold[fold(name)] = len(p.members)
		p.members = append(p.members, member{
			use: *use, name: name, index: index, owner: t, field: field.Name,
			clears:   clears,
			omitting: strings.Contains(options, "omit"), zeroHolds: use.zeroHolds(),
			quoted: []byte(`"` + name + `"`),
			key:    `"` + name + `":`, size: field.Tag.Get("size"),
		})
	}
}

// zeroHolds reports whether the zero value of a place without a pointer is within its bounds.
func (u *use) zeroHolds() bool {
	switch u.plan.kind {
	case kindText:
		return u.check.Text("") == ""
	case kindInteger:
		return u.check.Integer(0) == ""
	case kindList, kindMap:
		return u.check.Items(0) == ""
	case kindObject, kindBoolean, kindNumber, kindOpen:
	}
	return true
}

func checkTag(field reflect.StructField, name string) *Check {
	words := field.Tag.Get(name)
	if words == "" {
		return noCheck
	}
	return CompileCheck(words)
}

// fold makes names equal that differ in case or underscores only, for the advice in a fault.
func fold(name string) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", ""))
}
