package bridge

import "github.com/go-json-experiment/json/jsontext"

const (
	// depthMax is how deep JSON may be nested that package jsontext reads.
	depthMax = 10_000
	// scannedMax bounds the names and ids that a scan keeps, in bytes.
	scannedMax = 1 << 10
)

// scan finds the id of a request that is too large or too deep to be parsed: a host waits for an
// answer with its id. It checks no more of the syntax than that needs.
type scan struct {
	depth, deepest int
	// inText is true in a string, and escaped AFTER a backslash in it.
	inText, escaped bool
	// name is that of the present member of the message, AFTER its colon, and token its value, or
	// before the colon the name. Values that are no scalars have none.
	name  string
	token []byte
	// ended is true AFTER the message, spoiled if it is none.
	ended, spoiled bool
	// ids and methods count the members with these names.
	ids, methods int
	id           jsontext.Value
}

// read takes the next part of a message.
func (s *scan) read(part []byte) {
	for _, c := range part {
		switch {
		case s.inText:
			s.keep(c)
			s.inText = s.escaped || c != '"'
			s.escaped = !s.escaped && c == '\\'
		case c == ' ', c == '\t', c == '\r', c == '\n':
		case s.ended, s.depth == 0 && c != '{':
			s.spoiled = true
		default:
			s.structure(c)
		}
	}
}

// structure takes a byte that is in no string.
func (s *scan) structure(c byte) {
	switch c {
	case '{', '[':
		s.keep(c)
		s.depth++
		s.deepest = max(s.deepest, s.depth)
	case '}', ']':
		if s.depth == 1 {
			s.member()
			s.ended = true
		}
		s.depth--
	case ',':
		if s.depth == 1 {
			s.member()
		}
	case ':':
		if s.depth == 1 {
			s.name, s.token = string(s.token), nil
		}
	default:
		s.inText = c == '"'
		s.keep(c)
	}
}

// keep adds a byte to the token.
func (s *scan) keep(c byte) {
	if s.depth == 1 && len(s.token) <= scannedMax {
		s.token = append(s.token, c)
	}
}

// member ends a member of the message.
func (s *scan) member() {
	switch s.name {
	case `"id"`:
		s.ids++
		s.id = s.token
	case `"method"`:
		s.methods++
	}
	s.name, s.token = "", nil
}

// request is the id of the message, nil if it is no request or has an id that cannot be read.
func (s *scan) request() jsontext.Value {
	if !s.ended || s.spoiled || s.ids != 1 || s.methods != 1 || len(s.id) > scannedMax ||
		!s.id.IsValid() || !isID(s.id) {
		return nil
	}
	return s.id
}
