package setup

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

// document is a text of JSON, with comments and trailing commas or without. Edits splice the text
// at the offsets of its values.
type document struct {
	text []byte
	root hujson.Value
}

// byteOrderMark begins some files of Windows. It is kept.
var byteOrderMark = []byte("\xef\xbb\xbf")

// edit parses a text and calls change with it. An empty text becomes an empty object.
func edit(text []byte, change func(*document) error) ([]byte, error) {
	body, marked := bytes.CutPrefix(text, byteOrderMark)
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}\n")
	}
	d := &document{text: body}
	err := d.parse()
	if err == nil {
		err = change(d)
	}
	if err != nil {
		return nil, err
	}
	if marked {
		return append(bytes.Clone(byteOrderMark), d.text...), nil
	}
	return d.text, nil
}

func (d *document) parse() (err error) {
	d.root, err = hujson.Parse(d.text)
	if err == nil && d.root.Value.Kind() != '{' {
		err = errors.New("this is no JSON object")
	}
	return err
}

// splice replaces a part of the text.
func (d *document) splice(from, to int, with string) error {
	d.text = append(append(bytes.Clone(d.text[:from]), with...), d.text[to:]...)
	return d.parse()
}

// find is the value at a path of members, nil if there is none.
func (d *document) find(path ...string) (*hujson.Value, error) {
	at := &d.root
	for _, name := range path {
		object, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("the member above %q is not an object", name)
		}
		var found *hujson.Value
		for nth := range object.Members {
			if nameOf(&object.Members[nth]) != name {
				continue
			}
			if found != nil {
				return nil, fmt.Errorf("the member %q is there twice", name)
			}
			found = &object.Members[nth].Value
		}
		if found == nil {
			return nil, nil
		}
		at = found
	}
	return at, nil
}

func nameOf(member *hujson.ObjectMember) string {
	literal, _ := member.Name.Value.(hujson.Literal)
	return literal.String()
}

// put sets the member at a path, and makes the objects above it. A value that is equal already
// stays as it is written.
func (d *document) put(value jsontext.Value, path ...string) error {
	for depth := range path {
		at, err := d.find(path[:depth+1]...)
		if err != nil {
			return err
		}
		if at != nil {
			continue
		}
		above, err := d.find(path[:depth]...)
		if err != nil {
			return err
		}
		for nth := len(path) - 1; nth > depth; nth-- {
			value = jsontext.Value(fmt.Sprintf("{%s:%s}", quote(path[nth]), value))
		}
		return d.insert(above, quote(path[depth])+": ", value)
	}
	at, err := d.find(path...)
	if err != nil || equal(at, value) {
		return err
	}
	return d.replace(at, value)
}

// merge sets the members of an object at a path. Others that somebody has added there stay.
func (d *document) merge(value jsontext.Value, path ...string) error {
	at, err := d.find(path...)
	if err != nil {
		return err
	}
	if at == nil || at.Value.Kind() != '{' {
		return d.put(value, path...)
	}
	wanted, err := hujson.Parse(value)
	if err != nil {
		return err
	}
	object, _ := wanted.Value.(*hujson.Object)
	for nth := range object.Members {
		member := &object.Members[nth]
		err := d.put(standard(&member.Value), append(path[:len(path):len(path)], nameOf(member))...)
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *document) replace(at *hujson.Value, value jsontext.Value) error {
	text, err := d.indented(value, d.lineIndent(at.StartOffset))
	if err != nil {
		return err
	}
	return d.splice(at.StartOffset, at.EndOffset, text)
}

// insert adds a member or an element to the end of an object or array. In one that stands in one
// line it is written in that line.
func (d *document) insert(into *hujson.Value, name string, value jsontext.Value) error {
	spans := spansOf(into)
	if spans == nil {
		return errors.New("this is not an object or array")
	}
	newline := d.newline()
	if len(spans) == 0 {
		outer := d.lineIndent(into.StartOffset)
		inner := outer + d.unit()
		text, err := d.indented(value, inner)
		if err != nil {
			return err
		}
		// After comments, which stay; the white space behind them stays too if it ends the line.
		from, to := into.StartOffset+1, into.EndOffset-1
		inside := bytes.TrimRight(d.text[from:to], " \t\r\n")
		from += len(inside)
		after := newline + outer
		if len(inside) > 0 && bytes.Contains(d.text[from:to], []byte("\n")) {
			after = string(d.text[from:to])
		}
		return d.splice(from, to, newline+inner+name+text+after)
	}
	last := spans[len(spans)-1]
	before := d.text[into.StartOffset+1 : spans[0].from]
	if !bytes.Contains(before, []byte("\n")) {
		if err := value.Compact(); err != nil {
			return err
		}
		return d.splice(last.to, last.to, ", "+name+string(value))
	}
	inner := d.lineIndent(spans[0].from)
	text, err := d.indented(value, inner)
	if err != nil {
		return err
	}
	return d.splice(last.to, last.to, ","+newline+inner+name+text)
}

// remove takes a member or an element out of an object or array, with the white space before it and
// one comma.
func (d *document) remove(from *hujson.Value, nth int) error {
	spans := spansOf(from)
	this := spans[nth]
	end := this.to
	if this.comma > 0 {
		end = this.comma + 1
	}
	start := d.lineStart(from.StartOffset+1, this.from, end)
	if nth < len(spans)-1 {
		return d.splice(start, end, "")
	}
	if nth > 0 {
		comma := spans[nth-1].comma
		kept := string(d.text[comma+1 : start])
		return d.splice(comma, this.to, kept)
	}
	rest := strings.Trim(string(d.text[this.to:from.EndOffset-1]), ", \t\r\n")
	before := strings.TrimSpace(string(d.text[from.StartOffset+1 : start]))
	if rest == "" && before == "" {
		return d.splice(from.StartOffset+1, from.EndOffset-1, "")
	}
	return d.splice(start, end, "")
}

// lineStart is where the line of an offset begins, its line end included, but not before least. A
// line end that ends a comment is not included if what follows at after would become part of it.
func (d *document) lineStart(least, at, after int) int {
	for at > least && strings.IndexByte(" \t", d.text[at-1]) >= 0 {
		at--
	}
	if at == least || d.text[at-1] != '\n' {
		return at
	}
	line := d.text[max(least, bytes.LastIndexByte(d.text[:at-1], '\n')+1) : at-1]
	rest := bytes.TrimLeft(d.text[after:], " \t\r")
	if bytes.Contains(line, []byte("//")) && !bytes.HasPrefix(rest, []byte("\n")) {
		return at
	}
	at--
	if at > least && d.text[at-1] == '\r' {
		at--
	}
	return at
}

// span is where a member or an element stands, and the comma after it, zero for none.
type span struct{ from, to, comma int }

// spansOf are the members or elements of a value, nil for one that cannot have any.
func spansOf(of *hujson.Value) []span {
	spans := []span{}
	add := func(first, last *hujson.Value, more bool) {
		one := span{from: first.StartOffset, to: last.EndOffset}
		if more || last.AfterExtra != nil {
			one.comma = last.EndOffset + len(last.AfterExtra)
		}
		spans = append(spans, one)
	}
	switch composite := of.Value.(type) {
	case *hujson.Object:
		for nth := range composite.Members {
			member := &composite.Members[nth]
			add(&member.Name, &member.Value, nth < len(composite.Members)-1)
		}
	case *hujson.Array:
		for nth := range composite.Elements {
			element := &composite.Elements[nth]
			add(element, element, nth < len(composite.Elements)-1)
		}
	default:
		return nil
	}
	return spans
}

// removeAt removes the member at a path, and the objects above it that are empty then.
func (d *document) removeAt(path ...string) error {
	for depth := len(path) - 1; depth >= 0; depth-- {
		above, err := d.find(path[:depth]...)
		if err != nil || above == nil {
			return err
		}
		object, ok := above.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		nth := slices.IndexFunc(object.Members, func(member hujson.ObjectMember) bool {
			return nameOf(&member) == path[depth]
		})
		if nth < 0 {
			return nil
		}
		if err := d.remove(above, nth); err != nil {
			return err
		}
		if above, err = d.find(path[:depth]...); err != nil || !d.empty(above) {
			return err
		}
	}
	return nil
}

// empty reports whether there is nothing in an object or array, not even a comment.
func (d *document) empty(at *hujson.Value) bool {
	return len(bytes.TrimSpace(d.text[at.StartOffset+1:at.EndOffset-1])) == 0
}

// lineIndent is the white space at the beginning of the line of an offset.
func (d *document) lineIndent(at int) string {
	line := d.text[bytes.LastIndexByte(d.text[:at], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit is the indentation of the members of the root; two spaces if it has none on lines of their
// own.
func (d *document) unit() string {
	if spans := spansOf(&d.root); len(spans) > 0 {
		if indent := d.lineIndent(spans[0].from); indent != "" {
			return indent
		}
	}
	return "  "
}

func (d *document) newline() string {
	if bytes.Contains(d.text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// indented is a value over several lines, for a place whose line has an indentation.
func (d *document) indented(value jsontext.Value, prefix string) (string, error) {
	value = bytes.Clone(value)
	err := value.Indent(jsontext.WithIndent(d.unit()), jsontext.WithIndentPrefix(prefix))
	return strings.ReplaceAll(string(value), "\n", d.newline()), err
}

func quote(name string) string {
	text, _ := jsontext.AppendQuote(nil, name)
	return string(text)
}

// equal reports whether a value of a text means the same as another one.
func equal(at *hujson.Value, value jsontext.Value) bool {
	var a, b any
	return at != nil && json.Unmarshal(standard(at), &a) == nil &&
		json.Unmarshal(value, &b) == nil && reflect.DeepEqual(a, b)
}

// standard is a value without comments and trailing commas.
func standard(at *hujson.Value) []byte {
	copied := at.Clone()
	copied.Standardize()
	return copied.Pack()
}
