package jsonschema

import (
	"math"
	"reflect"
)

// Choice says what a filter keeps of a member.
type Choice uint8

// The choices.
const (
	// Drop keeps nothing.
	Drop Choice = iota
	// Whole keeps the value.
	Whole
	// Inside keeps an object with the members that are chosen in it, or a list of such objects.
	Inside
)

// Place is a member of an answer, for which a choice is made.
type Place struct {
	Name string
	// Above are the names of the members that it is in, the outermost first.
	Above []string
	// Integer, Text and Object say what it is, also behind a pointer.
	Integer, Text, Object bool
}

// Filter keeps some members of the JSON of a type.
type Filter struct {
	plan *plan
	// members are the kept ones by their quoted names; nil filters keep the value whole.
	members map[string]*Filter
}

// NewFilter compiles a filter for a struct. Members of lists and maps that are not chosen with
// Inside are whole or not there.
func NewFilter(t reflect.Type, choose func(Place) Choice) *Filter {
	return newFilter(planOf(t), nil, choose)
}

func newFilter(p *plan, above []string, choose func(Place) Choice) *Filter {
	f := &Filter{plan: p, members: map[string]*Filter{}}
	for i := range p.members {
		m := &p.members[i]
		place := Place{
			Name: m.name, Above: above, Integer: m.plan.kind == kindInteger,
			Text: m.plan.kind == kindText, Object: m.plan.kind == kindObject,
		}
		switch choose(place) {
		case Drop:
		case Whole:
			f.members[string(m.quoted)] = nil
		case Inside:
			inner := m.plan
			if inner.kind == kindList {
				inner = inner.elem.plan
			}
			if inner.kind != kindObject {
				panic("jsonschema: there is nothing to choose in " + m.name)
			}
			f.members[string(m.quoted)] = newFilter(inner, append(above[:len(above):len(above)],
				m.name), choose)
		}
	}
	return f
}

// Apply removes from valid JSON of the type what the filter does not keep, and kept members that
// are null, an empty list or an empty object. It writes over the JSON.
func (f *Filter) Apply(data []byte) []byte {
	c := filtering{scanner: scanner{body: data, depthMax: math.MaxInt}, out: data[:0]}
	c.copy(f)
	return c.out
}

// filtering copies a text over itself. What it has written is never longer than what it has read.
type filtering struct {
	scanner
	out []byte
}

// skip reads a value and returns its text.
func (c *filtering) skip() []byte {
	from := c.at
	// The syntax holds.
	_ = c.value(nil, 0)
	return c.body[from:c.at]
}

func (c *filtering) copy(f *Filter) {
	c.skipBlank()
	switch bracket := c.peek(); {
	case f == nil || bracket != '{' && bracket != '[':
		c.out = append(c.out, c.skip()...)
	case bracket == '{':
		c.each('}', func(bool) { c.copyMember(f) })
	default:
		c.each(']', func(first bool) {
			if !first {
				c.out = append(c.out, ',')
			}
			c.copy(f)
		})
	}
}

// each writes the brackets of an object or a list, and reads what is between them.
func (c *filtering) each(end byte, read func(first bool)) {
	c.out = append(c.out, c.peek())
	c.at++
	for first := true; ; first = false {
		c.skipBlank()
		if c.peek() == ',' {
			c.at++
			c.skipBlank()
		}
		if c.at >= len(c.body) || c.peek() == end {
			break
		}
		read(first)
	}
	c.at++
	c.out = append(c.out, end)
}

func (c *filtering) copyMember(f *Filter) {
	name := c.skip()
	c.skipBlank()
	c.at++ // the colon
	c.skipBlank()
	inner, kept := f.members[string(name)]
	if !kept {
		c.skip()
		return
	}
	before := len(c.out)
	if c.out[before-1] != '{' {
		c.out = append(c.out, ',')
	}
	c.out = append(append(c.out, name...), ':')
	from := len(c.out)
	c.copy(inner)
	switch string(c.out[from:]) {
	case "null", "[]", "{}":
		c.out = c.out[:before]
	}
}

// AddFiltered is the schema of what a filter keeps, as a reference: it is defined in the collection
// under a name of its own. Nothing in it is required.
func (s *Schemas) AddFiltered(name string, f *Filter) Object {
	if owner, known := s.owner[name]; known && owner != f.plan.typ {
		panic("jsonschema: two types are called " + name)
	}
	s.owner[name] = f.plan.typ
	s.defs[name] = s.filtered(f)
	return Object{{"$ref", s.prefix + name}}
}

func (s *Schemas) filtered(f *Filter) Object {
	properties := Object{}
	for i := range f.plan.members {
		m := &f.plan.members[i]
		inner, kept := f.members[string(m.quoted)]
		if !kept {
			continue
		}
		one, doc := m.use, Description(m.owner, m.field)
		one.pointer = false
		switch {
		case inner == nil:
			properties.add(m.name, s.place(&one, Response, doc))
		case one.plan.kind == kindList:
			list := Object{{"type", "array"}, {"items", s.filtered(inner)}}
			properties.add(m.name, describe(list, doc))
		default:
			properties.add(m.name, describe(s.filtered(inner), doc))
		}
	}
	return Object{{"type", "object"}, {"properties", properties}}
}
