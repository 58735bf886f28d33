package jsonschema

import (
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"

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
	e := encoder{out: dst}
	e.plan(planOf(value.Type()), value)
	return e.out
}

// Write writes what Append appends, in parts between which a writer may reserve memory or refuse.
// The value is a struct, or a pointer to one; for others it returns false and writes nothing.
func Write(w io.Writer, value any) (known bool, err error) {
	from := reflect.Indirect(reflect.ValueOf(value))
	if from.Kind() != reflect.Struct || from.Type().NumField() == 0 {
		return false, nil
	}
	if !from.CanAddr() {
		// Types that write themselves are called by their address.
		copied := reflect.New(from.Type()).Elem()
		copied.Set(from)
		from = copied
	}
	buffer, _ := partBuffers.Get().(*[]byte)
	e := encoder{out: (*buffer)[:0], to: w}
	e.plan(planOf(from.Type()), from)
	e.flush()
	if cap(e.out) <= partBytesKept {
		*buffer = e.out
	}
	partBuffers.Put(buffer)
	return true, e.err
}

// partBytes is the size from which on a part is written, and partBytesKept the largest memory that
// is kept for the next answer.
const (
	partBytes     = 8 << 10
	partBytesKept = 64 << 10
)

var partBuffers = sync.Pool{New: func() any {
	buffer := make([]byte, 0, 2*partBytes)
	return &buffer
}}

// encoder collects JSON, and passes it on in parts if there is a writer. After an error it does
// nothing.
type encoder struct {
	out []byte
	to  io.Writer
	err error
}

// part passes on what was collected if that is enough. It is called between the members of an
// object and the elements of a list.
func (e *encoder) part() {
	if e.to != nil && len(e.out) >= partBytes {
		e.flush()
	}
}

func (e *encoder) flush() {
	if e.err == nil {
		_, e.err = e.to.Write(e.out)
	}
	e.out = e.out[:0]
}

// use writes a value at its place.
func (e *encoder) use(u *use, value reflect.Value) {
	if u.pointer {
		if value.IsNil() {
			e.out = append(e.out, "null"...)
			return
		}
		value = value.Elem()
	}
	e.plan(u.plan, value)
}

func (e *encoder) plan(p *plan, value reflect.Value) {
	if e.err != nil {
		return
	}
	switch p.kind {
	case kindObject:
		e.object(p, value)
	case kindList:
		e.list(p, value)
	case kindText:
		e.out = AppendString(e.out, value.String())
	case kindBoolean:
		e.out = strconv.AppendBool(e.out, value.Bool())
	case kindInteger:
		if p.unsigned {
			e.out = strconv.AppendUint(e.out, value.Uint(), 10)
		} else {
			e.out = strconv.AppendInt(e.out, value.Int(), 10)
		}
	case kindMap, kindNumber, kindOpen:
		e.other(value)
	}
}

func (e *encoder) object(p *plan, value reflect.Value) {
	e.out = append(e.out, '{')
	first := true
	for i := range p.members {
		m := &p.members[i]
		var field reflect.Value
		if len(m.index) == 1 {
			field = value.Field(m.index[0])
		} else {
			field = value.FieldByIndex(m.index)
		}
		if m.omitting && field.IsZero() {
			continue
		}
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		e.out = append(e.out, m.key...)
		e.use(&m.use, field)
		e.part()
	}
	e.out = append(e.out, '}')
}

func (e *encoder) list(p *plan, value reflect.Value) {
	e.out = append(e.out, '[')
	for i := range value.Len() {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		e.use(p.elem, value.Index(i))
		e.part()
	}
	e.out = append(e.out, ']')
}

// other writes a value that has its own form, and what is rare.
func (e *encoder) other(value reflect.Value) {
	if own, ok := value.Addr().Interface().(Appender); ok {
		e.out = own.AppendJSON(e.out)
		return
	}
	text, err := json.Marshal(value.Interface(), json.Deterministic(true))
	if err != nil && e.to == nil {
		panic(err)
	}
	e.out, e.err = append(e.out, text...), err
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
func (m Member) AppendValue(dst []byte) []byte {
	e := encoder{out: dst}
	e.use(&m.of.use, m.value)
	return e.out
}
