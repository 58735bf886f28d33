package jsonschema

// trimmer copies a text whose syntax holds.
type trimmer struct {
	scanner
	out []byte
}

// trim is a text without what a use does not take: unknown members, elements beyond the bounds, and
// the insides of objects and lists where there is another type. A number that is too long for its
// type becomes an object, which is another wrong type.
func trim(body []byte, u *use) []byte {
	t := trimmer{scanner: scanner{body: body, depthMax: DepthMax}}
	t.copy(u)
	return t.out
}

// write adds to the text. Its memory doubles, up to the size of the body.
func (t *trimmer) write(part []byte) {
	if more := len(t.out) + len(part); more > cap(t.out) {
		size := max(min(2*cap(t.out), len(t.body)), more)
		t.out = append(make([]byte, 0, size), t.out...)
	}
	t.out = append(t.out, part...)
}

// skip reads a value and returns its text.
func (t *trimmer) skip() []byte {
	from := t.at
	// The syntax holds.
	_ = t.value(nil, 0)
	return t.body[from:t.at]
}

func (t *trimmer) copy(u *use) {
	t.skipBlank()
	c := t.peek()
	composite := c == '{' || c == '['
	switch {
	case !composite || u.plan.kind == kindOpen:
		text := t.skip()
		if u.isLongInteger(len(text)) {
			text = []byte("{}")
		}
		t.write(text)
	case !u.takes(c):
		t.skip()
		t.write([]byte{c, c + 2})
	default:
		t.copyElements(u, c)
	}
}

// copyElements copies the elements of a list or the members of an object that there is room for.
func (t *trimmer) copyElements(u *use, bracket byte) {
	t.write([]byte{bracket})
	t.at++
	t.skipBlank()
	copied := 0
	more := t.peek() != bracket+2
	if !more {
		t.at++
	}
	for ; more; more, _ = t.next(bracket + 2) {
		elem := u.plan.elem
		var name []byte
		if bracket == '{' {
			name = t.skip()
			t.skipBlank()
			t.at++ // the colon
			t.skipBlank()
		}
		if u.plan.kind == kindObject {
			if at := u.plan.find(name, 0); at >= 0 {
				elem = &u.plan.members[at].use
			}
		} else if u.check.items.exceeded(int64(copied + 1)) {
			elem = nil
		}
		if elem == nil {
			t.skip()
			continue
		}
		if copied++; copied > 1 {
			t.write([]byte{','})
		}
		if name != nil {
			t.write(name)
			t.write([]byte{':'})
		}
		t.copy(elem)
	}
	t.write([]byte{bracket + 2})
}
