package jsonschema

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/internal/fault"
)

// byteOrderMark is refused in front of a body, as RFC 8259 permits.
var byteOrderMark = []byte("\xef\xbb\xbf")

// InvalidJSON is the refusal of a text whose syntax is wrong at an offset in bytes.
func InvalidJSON(offset int64, problem string) *fault.Error { return invalidJSON(offset, problem) }

func invalidJSON(offset int64, problem string) *fault.Error {
	return fault.New(fault.InvalidJSON, "The body is not strict JSON: "+problem+".").
		With("offset", offset).With("problem", problem)
}

// fault is the error of a text whose syntax does not hold. Errors: INVALID_JSON.
func (s *scanner) fault() error {
	switch s.verdict {
	case duplicate:
		return invalidJSON(int64(s.at), "duplicate object key")
	case tooDeep:
		return invalidJSON(int64(s.at), "nesting is deeper than "+strconv.Itoa(s.depthMax))
	case tooMany:
		return invalidJSON(int64(s.at), "an object has more than "+strconv.Itoa(MembersMax)+
			" members")
	case fits, unfit, broken:
	}
	if bytes.HasPrefix(s.body, byteOrderMark) {
		return invalidJSON(0, "the text begins with a byte order mark")
	}
	// The library describes the error.
	dec := newDecoder(s.body)
	for first := true; first || dec.StackDepth() > 0; first = false {
		if _, err := dec.ReadToken(); err != nil {
			if s.trailingComma() {
				return invalidJSON(int64(s.at), "an object or a list ends with a comma")
			}
			return syntaxFault(err, int64(len(s.body)))
		}
	}
	end := dec.InputOffset()
	rest := bytes.TrimLeft(s.body[end:], " \t\r\n")
	return invalidJSON(int64(len(s.body)-len(rest)), "data follows the value")
}

// trailingComma reports whether the scan ended at a bracket behind a comma.
func (s *scanner) trailingComma() bool {
	before := bytes.TrimRight(s.body[:min(s.at, len(s.body))], " \t\r\n")
	return (s.peek() == '}' || s.peek() == ']') && bytes.HasSuffix(before, []byte(","))
}

// newDecoder reads a text that has been scanned, without looking for duplicate names again.
func newDecoder(body []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
}

func syntaxFault(err error, size int64) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return invalidJSON(size, "the text ends too early")
	}
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return invalidJSON(0, "the text cannot be read")
	}
	problem := "syntax error"
	if syntax.Err != nil {
		problem = syntax.Err.Error()
	}
	return invalidJSON(syntax.ByteOffset, problem)
}

// walk collects faults over a text whose syntax holds. It ends when there are enough.
type walk struct {
	dec    *jsontext.Decoder
	faults []fault.Field
	path   []byte
}

// collect finds the faults of a body. What could be decoded of it is in value.
func collect(body []byte, root *use, value reflect.Value) []fault.Field {
	w := &walk{dec: newDecoder(body)}
	w.value(root, value)
	return w.faults
}

func (w *walk) fault(problem string) {
	if !w.full() {
		w.faults = append(w.faults, fault.Field{Field: string(w.path), Problem: problem})
	}
}

func (w *walk) full() bool { return len(w.faults) >= faultsMax }

// value reads and checks one value. There must be a next value. v is what was decoded of it, if
// anything.
func (w *walk) value(u *use, v reflect.Value) {
	if u.pointer && v.IsValid() {
		v = v.Elem()
	}
	switch u.plan.kind {
	case kindObject:
		w.structured(u, v, '{', "an object", w.object)
	case kindMap:
		w.structured(u, v, '{', "an object", w.dict)
	case kindList:
		w.structured(u, v, '[', "a list", w.list)
	case kindText:
		w.scalar('"', "a string", func(raw jsontext.Value) string {
			// The memory is of the exact size, and nothing keeps it.
			plain, err := jsontext.AppendUnquote(make([]byte, 0, len(raw)), raw)
			if err != nil {
				return "must be a string"
			}
			return u.check.Text(unsafe.String(unsafe.SliceData(plain), len(plain)))
		})
	case kindInteger:
		w.scalar('0', "an integer", func(raw jsontext.Value) string { return u.integer(raw) })
	case kindNumber:
		w.scalar('0', "a number", func(raw jsontext.Value) string {
			if _, err := strconv.ParseFloat(string(raw), 64); err != nil {
				return "must be a number in the range of a double"
			}
			return ""
		})
	case kindBoolean:
		if kind := w.dec.PeekKind(); kind != 't' && kind != 'f' {
			w.fault("must be true or false")
		}
		w.skip()
	case kindOpen:
		w.open(u.plan, v)
	}
}

// open asks a type that reads itself what is wrong with a value.
func (w *walk) open(p *plan, v reflect.Value) {
	if !p.checker {
		w.skip()
		return
	}
	raw, err := w.dec.ReadValue()
	if !v.IsValid() {
		one := reflect.New(p.typ)
		if err != nil || json.Unmarshal(raw, one.Interface(), scanned) != nil {
			return
		}
		v = one.Elem()
	}
	for _, problem := range problemsOf(v) {
		undo := len(w.path)
		w.path = append(w.path[:0], join(string(w.path), problem.Field)...)
		w.fault(problem.Problem)
		w.path = w.path[:undo]
	}
}

func (u *use) integer(raw jsontext.Value) string {
	if u.plan.unsigned && raw[0] == '-' && !u.check.hasMin && !bytes.ContainsAny(raw, ".eE") {
		return "must not be negative"
	}
	if u.isLongInteger(len(raw)) {
		if bytes.ContainsAny(raw, ".eE") {
			return "must be an integer without fraction and exponent"
		}
		return u.check.integerProblem()
	}
	text := string(raw)
	if strings.ContainsAny(text, ".eE") {
		return "must be an integer without fraction and exponent"
	}
	if u.plan.unsigned {
		n, err := strconv.ParseUint(text, 10, u.plan.bits)
		if err != nil {
			return u.check.integerProblem()
		}
		return u.check.Integer(int64(min(n, 1<<63-1))) // #nosec G115 -- clamped
	}
	n, err := strconv.ParseInt(text, 10, u.plan.bits)
	if err != nil {
		return u.check.integerProblem()
	}
	return u.check.Integer(n)
}

func (w *walk) skip() {
	// The syntax has been checked, so there is nothing to fail.
	_ = w.dec.SkipValue()
}

func (w *walk) scalar(kind jsontext.Kind, what string, check func(jsontext.Value) string) {
	if w.dec.PeekKind() != kind {
		w.fault("must be " + what)
		w.skip()
		return
	}
	raw, err := w.dec.ReadValue()
	if err != nil {
		return
	}
	if problem := check(raw); problem != "" {
		w.fault(problem)
	}
}

func (w *walk) structured(
	u *use, v reflect.Value, kind jsontext.Kind, what string, read func(*use, reflect.Value),
) {
	if w.dec.PeekKind() != kind {
		w.fault("must be " + what)
		w.skip()
		return
	}
	_, _ = w.dec.ReadToken()
	if read(u, v); !w.full() {
		_, _ = w.dec.ReadToken()
	}
}

func (w *walk) object(u *use, v reflect.Value) {
	seen := make([]bool, len(u.plan.members))
	for !w.full() && w.dec.PeekKind() == '"' {
		token, err := w.dec.ReadToken()
		if err != nil {
			return
		}
		name := token.String()
		undo := w.enter(name)
		at, known := u.plan.byName[name]
		switch {
		case !known:
			w.fault(u.plan.unknown(name))
			w.skip()
		case w.dec.PeekKind() == 'n':
			seen[at] = u.plan.members[at].check.nullable
			w.skip()
		default:
			m := &u.plan.members[at]
			seen[at] = true
			w.value(&m.use, fieldOf(v, m))
		}
		w.path = w.path[:undo]
	}
	for i := range seen {
		if m := &u.plan.members[i]; !seen[i] && m.check.required {
			undo := w.enter(m.name)
			w.fault("is required")
			w.path = w.path[:undo]
		}
	}
}

// fieldOf is the value of a member, nothing where the object is nothing.
func fieldOf(v reflect.Value, m *member) reflect.Value {
	if v.IsValid() {
		return v.FieldByIndex(m.index)
	}
	return v
}

// unknown is the problem of a member that the type does not have. It names the member that was
// probably meant if only case or underscores differ.
func (p *plan) unknown(name string) string {
	const likeMax = 100
	if at, near := p.byFold[fold(name[:min(len(name), likeMax)])]; near && len(name) <= likeMax {
		return "unknown member; did you mean \"" + p.members[at].name + "\"?"
	}
	return "unknown member"
}

func (w *walk) enter(name string) (undo int) {
	undo = len(w.path)
	if undo > 0 {
		w.path = append(w.path, '.')
	}
	const nameMax = 200
	if len(name) > nameMax {
		name = strings.ToValidUTF8(name[:nameMax], "") + "…"
	}
	w.path = append(w.path, name...)
	return undo
}

func (w *walk) dict(u *use, _ reflect.Value) {
	count := int64(0)
	for !w.full() && w.dec.PeekKind() == '"' {
		if count++; u.check.items.exceeded(count) {
			w.skip()
			w.skip()
			continue
		}
		token, err := w.dec.ReadToken()
		if err != nil {
			return
		}
		undo := w.enter(token.String())
		w.element(u.plan.elem, reflect.Value{})
		w.path = w.path[:undo]
	}
	w.count(u, count)
}

// count checks a number of elements. Those beyond the bounds were passed over.
func (w *walk) count(u *use, elements int64) {
	if problem := u.check.Items(int(elements)); problem != "" {
		w.fault(problem)
	}
}

func (w *walk) list(u *use, v reflect.Value) {
	count := int64(0)
	for !w.full() {
		if kind := w.dec.PeekKind(); kind == ']' || kind == jsontext.KindInvalid {
			break
		}
		if count++; u.check.items.exceeded(count) {
			w.skip()
			continue
		}
		var elem reflect.Value
		if v.IsValid() && count <= int64(v.Len()) {
			elem = v.Index(int(count - 1))
		}
		undo := len(w.path)
		w.path = append(w.path, '[')
		w.path = strconv.AppendInt(w.path, count-1, 10)
		w.path = append(w.path, ']')
		w.element(u.plan.elem, elem)
		w.path = w.path[:undo]
	}
	w.count(u, count)
}

func (w *walk) element(elem *use, v reflect.Value) {
	if w.dec.PeekKind() == 'n' && elem.plan.kind != kindOpen {
		if !elem.check.nullable {
			w.fault("must not be null")
		}
		w.skip()
		return
	}
	w.value(elem, v)
}

// crossFaults asks the Checkers of a value whose members hold.
func crossFaults(v reflect.Value, u *use, path string, faults []fault.Field) []fault.Field {
	if u.pointer {
		if v.IsNil() {
			return faults
		}
		v = v.Elem()
	}
	switch u.plan.kind {
	case kindObject:
		for i := range u.plan.members {
			m := &u.plan.members[i]
			faults = crossFaults(v.FieldByIndex(m.index), &m.use, join(path, m.name), faults)
		}
	case kindList:
		for i := range v.Len() {
			at := path + "[" + strconv.Itoa(i) + "]"
			faults = crossFaults(v.Index(i), u.plan.elem, at, faults)
		}
	case kindMap:
		for entries := v.MapRange(); entries.Next(); {
			at := join(path, entries.Key().String())
			faults = crossFaults(entries.Value(), u.plan.elem, at, faults)
		}
	case kindText, kindBoolean, kindInteger, kindNumber, kindOpen:
	}
	if !u.plan.checker || len(faults) >= faultsMax {
		return faults
	}
	for _, one := range problemsOf(v) {
		one.Field = join(path, one.Field)
		faults = append(faults, one)
	}
	return faults[:min(len(faults), faultsMax)]
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}
