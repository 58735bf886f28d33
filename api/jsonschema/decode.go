package jsonschema

import (
	"bytes"
	"errors"
	"reflect"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"pws/internal/fault"
)

const (
	// DepthMax is the deepest nesting of objects and lists in a body.
	DepthMax = 64
	// MembersMax is the largest number of members of one object in a body. To compare their names
	// takes more time than the rest of a scan. The largest body that is a bundle names fewer
	// contents by their hashes.
	MembersMax = 1 << 18
	// faultsMax bounds the faults that one answer names.
	faultsMax = fault.FieldsMax
	// scannedBody is the size from which a body is scanned BEFORE it is decoded. Below it the values
	// of a hostile body weigh no more than a few hundred kilobytes.
	scannedBody = 1 << 10
	// largeBody is the size from which strings are decoded by decodeString: below it the library's
	// own way is quicker, above it the copies that it makes of escaped strings weigh more.
	largeBody = 8 << 10
)

var (
	strict = json.JoinOptions(json.RejectUnknownMembers(true))
	// scanned is for texts without duplicate names.
	scanned      = json.JoinOptions(strict, jsontext.AllowDuplicateNames(true))
	scannedLarge = json.JoinOptions(scanned,
		json.WithUnmarshalers(json.UnmarshalFromFunc(decodeString)))
	// lenient passes over unknown members, and goes on behind a member of a wrong type.
	lenient = json.JoinOptions(jsonv1.ReportErrorsWithLegacySemantics(true),
		jsontext.AllowDuplicateNames(true))
)

// escapeMark starts an escape that can hide the name of a member.
var escapeMark = []byte(`\u`)

var errNotString = errors.New("not a string")

// Decode reads a body strictly into a pointer to a struct. Nothing of body is kept. A struct
// without members takes an absent body. The memory is bounded by the size of the body. Errors:
// INVALID_JSON, VALIDATION_FAILED with all faults, up to faultsMax.
func Decode(body []byte, into any) error {
	value := reflect.ValueOf(into).Elem()
	p := planOf(value.Type())
	rest := bytes.TrimLeft(body, " \t\r\n")
	if len(rest) == 0 {
		if p.kind == kindObject && len(p.members) == 0 {
			return nil
		}
		return invalidJSON(0, "the body is empty")
	}
	root := use{plan: p, check: noCheck}
	decoded, err := decodeQuickly(body, into, &root)
	// The library takes null for anything, also where no member is required.
	if err != nil || decoded && rest[0] != 'n' && root.holds(value, &text{body: body}) &&
		(len(body) >= scannedBody || !p.open || Nests(body, DepthMax)) {
		return err
	}
	if len(body) < scannedBody {
		if s := scan(body, nil); s.verdict > unfit {
			return s.fault()
		}
	}
	if !decoded {
		Read(body, into)
	}
	faults := collect(body, &root, value)
	faults = append(faults, fault.Unreported(faults, crossFaults(value, &root, "", nil))...)
	if faults = faults[:min(len(faults), faultsMax)]; len(faults) > 0 {
		if validator, ok := into.(Validator); ok {
			return validator.Validate(faults)
		}
		return fault.Invalid(faults...)
	}
	if !decoded {
		return fault.Invalid(fault.Field{Field: "", Problem: "does not match the request type"})
	}
	return nil
}

// decodeQuickly decodes a body, and reports false if it does not match its type. A large body is
// scanned BEFORE that. Errors: INVALID_JSON, which a scan alone finds.
func decodeQuickly(body []byte, into any, root *use) (bool, error) {
	if len(body) < scannedBody {
		return json.Unmarshal(body, into, strict) == nil, nil
	}
	s := scan(body, root)
	switch {
	case s.verdict > unfit:
		return false, s.fault()
	case s.verdict == unfit:
		return false, nil
	case len(body) < largeBody:
		return json.Unmarshal(body, into, scanned) == nil, nil
	}
	return json.Unmarshal(body, into, scannedLarge) == nil, nil
}

// Read reads what can be read of a body that Decode refuses for its values, into a pointer to a
// struct. Members of a wrong type are empty, and lists end at their bounds.
//
// Read begins with an empty value; see Resetter.
func Read(body []byte, into any) {
	value := reflect.ValueOf(into).Elem()
	if own, ok := into.(Resetter); ok {
		own.Reset()
	} else {
		value.SetZero()
	}
	root := use{plan: planOf(value.Type()), check: noCheck}
	// Decode reports the errors of the body.
	_ = json.Unmarshal(trim(body, &root), into, lenient)
}

// Resetter is implemented by types that keep something which is not in the body when the body is
// decoded again.
type Resetter interface {
	// Reset makes the value empty otherwise.
	Reset()
}

// decodeString makes a string of its exact size in one copy, also where it is escaped.
func decodeString(dec *jsontext.Decoder, into *string) error {
	quoted, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if quoted.Kind() != '"' {
		if quoted.Kind() == 'n' {
			*into = ""
			return nil
		}
		return errNotString
	}
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		*into = string(inner)
		return nil
	}
	plain := appendUnquoted(make([]byte, 0, unquotedLen(inner)), inner)
	*into = unsafe.String(unsafe.SliceData(plain), len(plain))
	return nil
}

// unquotedLen is the size of the inside of a valid JSON string without its escapes.
func unquotedLen(inner []byte) int {
	size := 0
	for {
		at := bytes.IndexByte(inner, '\\')
		if at < 0 {
			return size + len(inner)
		}
		size += at
		if inner[at+1] != 'u' {
			size++
			inner = inner[at+2:]
			continue
		}
		code := hex4(inner[at+2:])
		inner = inner[at+6:]
		switch {
		case code < 0x80:
			size++
		case code < 0x800:
			size += 2
		case code >= 0xd800 && code < 0xdc00:
			size += 4
			inner = inner[6:]
		default:
			size += 3
		}
	}
}

// appendUnquoted writes the inside of a valid JSON string without its escapes. Surrogates come in
// pairs, for the decoder refuses others.
func appendUnquoted(dst, inner []byte) []byte {
	for {
		at := bytes.IndexByte(inner, '\\')
		if at < 0 {
			return append(dst, inner...)
		}
		dst = append(dst, inner[:at]...)
		escape := inner[at+1]
		rest := inner[at+2:]
		if escape == 'u' {
			code := hex4(rest)
			rest = rest[4:]
			if utf16.IsSurrogate(code) {
				code = utf16.DecodeRune(code, hex4(rest[2:]))
				rest = rest[6:]
			}
			dst = utf8.AppendRune(dst, code)
		} else {
			dst = append(dst, plainEscape(escape))
		}
		inner = rest
	}
}

func plainEscape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c
}

func hex4(digits []byte) int32 {
	var code int32
	for _, c := range digits[:4] {
		switch {
		case c <= '9':
			code = code<<4 | int32(c-'0')
		default:
			code = code<<4 | int32(c|0x20-'a'+10)
		}
	}
	return code
}

// text is a body while its members are checked. A list asks the same question for every element,
// and the answers are cached, so that the cost is not the product of both.
type text struct {
	body  []byte
	asked bool
	// escaped says whether an escape may hide a name; it is known once any member was asked for.
	escaped bool
	// named are the members that were asked for, first the room for as many as most bodies have.
	named []naming
	first [4]naming
}

// naming says of a member whether its quoted name occurs in a body.
type naming struct {
	member *member
	occurs bool
}

// mayName reports whether the body may hold a member of that name, anywhere.
func (t *text) mayName(m *member) bool {
	if !t.asked {
		t.asked, t.escaped = true, bytes.Contains(t.body, escapeMark)
		t.named = t.first[:0]
	}
	if t.escaped {
		return true
	}
	for _, known := range t.named {
		if known.member == m {
			return known.occurs
		}
	}
	occurs := bytes.Contains(t.body, m.quoted)
	t.named = append(t.named, naming{m, occurs})
	return occurs
}

// holds reports whether a decoded value that was sent satisfies its bounds. It returns false if
// this depends on the text; the walk over the text decides then.
func (u *use) holds(v reflect.Value, sent *text) bool {
	switch u.plan.kind {
	case kindText:
		return u.check.Text(v.String()) == ""
	case kindInteger:
		return u.check.Integer(integerOf(v, u.plan.unsigned)) == ""
	case kindList:
		return u.listHolds(v, sent)
	case kindMap:
		return u.mapHolds(v, sent)
	case kindObject:
		return u.objectHolds(v, sent)
	case kindBoolean, kindNumber, kindOpen:
	}
	return u.hookHolds(v)
}

// holds checks a member, which may be absent.
func (m *member) holds(v reflect.Value, sent *text) bool {
	if m.pointer {
		return !v.IsNil() && m.use.holds(v.Elem(), sent) || v.IsNil() && !m.check.required
	}
	if !v.IsZero() {
		return m.use.holds(v, sent)
	}
	// A zero value means an absent member, null, or zero itself.
	if m.check.required {
		return false
	}
	if m.plan.kind == kindObject || !m.zeroHolds {
		return !sent.mayName(m)
	}
	return true
}

func integerOf(v reflect.Value, unsigned bool) int64 {
	if unsigned {
		return int64(min(v.Uint(), 1<<63-1)) // #nosec G115 -- clamped
	}
	return v.Int()
}

func (u *use) listHolds(v reflect.Value, sent *text) bool {
	if u.check.Items(v.Len()) != "" {
		return false
	}
	for i := range v.Len() {
		if !u.plan.elem.elementHolds(v.Index(i), sent) {
			return false
		}
	}
	return true
}

func (u *use) mapHolds(v reflect.Value, sent *text) bool {
	if u.check.Items(v.Len()) != "" {
		return false
	}
	for entries := v.MapRange(); entries.Next(); {
		if !u.plan.elem.elementHolds(entries.Value(), sent) {
			return false
		}
	}
	return true
}

// elementHolds is holds for a value that cannot be absent. A zero element may come from null, which
// only the text shows.
func (u *use) elementHolds(v reflect.Value, sent *text) bool {
	if u.pointer {
		if v.IsNil() {
			return false
		}
		return u.holds(v.Elem(), sent)
	}
	if v.IsZero() && u.plan.kind != kindOpen {
		return false
	}
	return u.holds(v, sent)
}

func (u *use) objectHolds(v reflect.Value, sent *text) bool {
	for i := range u.plan.members {
		m := &u.plan.members[i]
		var field reflect.Value
		if len(m.index) == 1 {
			field = v.Field(m.index[0])
		} else {
			field = v.FieldByIndex(m.index)
		}
		if !m.holds(field, sent) {
			return false
		}
	}
	return u.hookHolds(v)
}

func (u *use) hookHolds(v reflect.Value) bool {
	return !u.plan.checker || len(problemsOf(v)) == 0
}

func problemsOf(v reflect.Value) []fault.Field {
	if !v.CanAddr() {
		moved := reflect.New(v.Type())
		moved.Elem().Set(v)
		v = moved.Elem()
	}
	checker, ok := v.Addr().Interface().(Checker)
	if !ok {
		return nil
	}
	return checker.Problems()
}

// Nests reports whether valid JSON nests at most so deep.
func Nests(body []byte, most int) bool {
	depth := 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			for i++; body[i] != '"'; i++ {
				if body[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > most {
				return false
			}
		case '}', ']':
			depth--
		}
	}
	return true
}
