package jsonschema

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// Appender is implemented by types that append their own JSON.
type Appender interface {
	AppendJSON(dst []byte) []byte
}

// Append writes the value of a wire type that a pointer leads to as JSON. The bytes are those of
// package json, at a fraction of its cost.
func Append(dst []byte, pointer any) []byte {
	value := reflect.ValueOf(pointer).Elem()
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	return (&use{plan: planOf(value.Type())}).append(dst, value)
}

func (u *use) append(dst []byte, value reflect.Value) []byte {
	if u.pointer {
		if value.IsNil() {
			return append(dst, "null"...)
		}
		value = value.Elem()
	}
	switch p := u.plan; p.kind {
	case kindObject:
		return p.appendObject(dst, value)
	case kindList:
		dst = append(dst, '[')
		for at := range value.Len() {
			if at > 0 {
				dst = append(dst, ',')
			}
			dst = p.elem.append(dst, value.Index(at))
		}
		return append(dst, ']')
	case kindText:
		return AppendString(dst, value.String())
	case kindBoolean:
		return strconv.AppendBool(dst, value.Bool())
	case kindInteger:
		if p.unsigned {
			return strconv.AppendUint(dst, value.Uint(), 10)
		}
		return strconv.AppendInt(dst, value.Int(), 10)
	case kindMap, kindNumber, kindOpen:
	}
	if own, ok := value.Addr().Interface().(Appender); ok {
		return own.AppendJSON(dst)
	}
	text, err := json.Marshal(value.Interface(), json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return append(dst, text...)
}

func (p *plan) appendObject(dst []byte, value reflect.Value) []byte {
	dst = append(dst, '{')
	start, object := len(dst), Struct{p, value}
	for at := range object.Len() {
		m := object.At(at)
		if m.Absent() {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = m.Append(dst)
	}
	return append(dst, '}')
}

// Struct is a struct as a list of members.
type Struct struct {
	plan  *plan
	value reflect.Value
}

// StructOf is the struct that a pointer leads to.
func StructOf(pointer any) Struct {
	value := reflect.ValueOf(pointer).Elem()
	return Struct{planOf(value.Type()), value}
}

// Len is the number of members.
func (o Struct) Len() int { return len(o.plan.members) }

// At is a member by its position in the struct.
func (o Struct) At(at int) Member {
	m := &o.plan.members[at]
	if len(m.index) == 1 {
		return Member{m, o.value.Field(m.index[0])}
	}
	return Member{m, o.value.FieldByIndex(m.index)}
}

// Member is a member of an object with its value.
type Member struct {
	of    *member
	value reflect.Value
}

// Name is its name.
func (m Member) Name() string { return m.of.name }

// Key is the name in quotes, with the colon behind it.
func (m Member) Key() string { return m.of.key }

// Sized reports whether a word is in the tag size; see package sizelimit.
func (m Member) Sized(word string) bool {
	return m.of.size != "" && strings.Contains(m.of.size, word)
}

// Optional reports whether the member is left out where it is zero.
func (m Member) Optional() bool { return m.of.omitting }

// Absent reports whether it is left out.
func (m Member) Absent() bool { return m.of.omitting && m.value.IsZero() }

// Field is a pointer to the field.
func (m Member) Field() any { return m.value.Addr().Interface() }

// IsList reports whether the value is a list.
func (m Member) IsList() bool { return m.of.plan.kind == kindList }

// Len is the length of a list.
func (m Member) Len() int { return m.value.Len() }

// Element is a pointer to an element of a list.
func (m Member) Element(at int) any { return m.value.Index(at).Addr().Interface() }

// Text is the value of a member that is a string.
func (m Member) Text() string { return reflect.Indirect(m.value).String() }

// Object is a pointer to the value where that is an object that must be there, or that another one
// points to; otherwise nil.
func (m Member) Object() any {
	switch {
	case m.of.plan.kind != kindObject:
	case m.of.pointer:
		if !m.value.IsNil() {
			return m.value.Interface()
		}
	case !m.of.omitting:
		return m.Field()
	}
	return nil
}

// Append writes key and value.
func (m Member) Append(dst []byte) []byte { return m.AppendValue(append(dst, m.of.key...)) }

// AppendValue writes the value.
func (m Member) AppendValue(dst []byte) []byte { return m.of.append(dst, m.value) }
