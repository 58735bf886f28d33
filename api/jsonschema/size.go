package jsonschema

import "reflect"

// The sizes of values in a body, in bytes. A character takes at most 12 bytes, as two escapes do; a
// character of n bytes takes at most 6n.
const (
	charBytes = 12
	byteBytes = 6
	// plainBytes is for a text whose bounds are rules of the service: a path, a hash, a license. Their
	// longest is a path of 512 bytes.
	plainBytes = 512 * byteBytes
	// scalarBytes is for a number, a boolean or null.
	scalarBytes = integerMax
	// betweenBytes is for the punctuation of a value and the white space around it.
	betweenBytes = 32
	// endless is the size of what has no bounds.
	endless = 1 << 40
)

// Sizer is implemented by types that read themselves, to bound their text in a body, in bytes.
type Sizer interface{ JSONBytesMax() int }

// MaxBytes is the size of the largest body of a type that satisfies its checks, in bytes, up to a
// limit. It is a whole number of kibibytes, at least 4.
func MaxBytes(t reflect.Type, most int) int {
	root := use{plan: planOf(t), check: noCheck}
	size := root.maxBytes(nil)
	return int(min(max((size+1023)/1024*1024, 4<<10), int64(most)))
}

// maxBytes is the largest size of a value, given the types that it is inside of.
func (u *use) maxBytes(inside []reflect.Type) int64 {
	p := u.plan
	size := int64(scalarBytes)
	switch p.kind {
	case kindText:
		size = u.check.maxBytes()
	case kindList:
		size = u.elements(p.elem.maxBytes(inside))
	case kindMap:
		size = u.elements(plainBytes + p.elem.maxBytes(inside))
	case kindObject:
		for _, outer := range inside {
			if outer == p.typ {
				return endless
			}
		}
		inside = append(inside, p.typ)
		for i := range p.members {
			m := &p.members[i]
			size += int64(byteBytes*len(m.quoted)) + m.maxBytes(inside)
		}
	case kindOpen:
		size = endless
		if own, ok := reflect.New(p.typ).Interface().(Sizer); ok {
			size = int64(own.JSONBytesMax())
		}
	case kindBoolean, kindInteger, kindNumber:
	}
	return min(size+betweenBytes, endless)
}

// elements is the size of a list whose elements have a size.
func (u *use) elements(each int64) int64 {
	if !u.check.items.set || u.check.items.max > 0 && each > endless/u.check.items.max {
		return endless
	}
	return u.check.items.max * each
}

// maxBytes is the largest size of a text in a body.
func (c *Check) maxBytes() int64 {
	size := int64(plainBytes)
	switch {
	case c.bytes.set:
		size = byteBytes * c.bytes.max
	case c.chars.set:
		size = charBytes * c.chars.max
	case c.contents:
		size = endless
	}
	for _, one := range c.enum {
		size = max(size, int64(byteBytes*len(one)))
	}
	return size
}
