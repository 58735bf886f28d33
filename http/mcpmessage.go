package http

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"pws/api/jsonschema"
)

// The members of _meta that a request of the protocol has.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// message is a parsed body of the MCP endpoint. Its texts are parts of the body, or copies where
// they were escaped. One pass reads it and checks the syntax of the whole body.
type message struct {
	// plain says that the client uses tool names with underscores, and earlier that it uses an earlier
	// version of the protocol.
	plain, earlier bool
	// core says that the client wants the core tools only.
	core bool
	// replayed means that the answer is the stored one of an earlier request with the same key.
	replayed bool

	// kind is the kind of the whole body.
	kind jsontext.Kind
	// id is the raw text of a valid id.
	id                           []byte
	hasID, versioned, isResponse bool
	methodKind                   jsontext.Kind
	method                       []byte
	params                       jsontext.Kind
	metaKind                     jsontext.Kind
	versionKind                  jsontext.Kind
	version                      []byte
	capabilities                 jsontext.Kind
	nameKind                     jsontext.Kind
	name                         []byte
	cursor                       jsontext.Kind
	protocolKind                 jsontext.Kind
	protocol                     []byte
	argumentsKind                jsontext.Kind
	arguments                    []argument
	// argumentsText is the raw object of the arguments.
	argumentsText []byte
	// tooMany says that there were more arguments than any tool has.
	tooMany bool
	// loose says that the body is not strict JSON, and unclear that a member of which a message has
	// one was sent twice in it.
	loose, unclear bool
}

// argumentsMax bounds the arguments of a call. It is more than any tool has.
const argumentsMax = 64

// argument is one argument of a call: its name, the name as it was sent, and its raw value.
type argument struct {
	name, quoted, value []byte
}

// reset clears the message and keeps the memory of its arguments.
func (m *message) reset() {
	clear(m.arguments)
	*m = message{arguments: m.arguments[:0]}
}

// parser is a decoder with its source.
type parser struct {
	decoder jsontext.Decoder
	source  bytes.Buffer
	body    []byte
	// opened is the offset of the object that members began to read last.
	opened int64
	// loose says that texts may have halves of surrogate pairs.
	loose bool
}

var parsers = sync.Pool{New: func() any { return &parser{} }}

var errTrailing = errors.New("more than one value")

// messageDepthMax is the deepest nesting of a message. It leaves room for a body of any nesting
// among the arguments.
const messageDepthMax = jsonschema.DepthMax + 8

// parse reads a body. It fails if the body is not JSON (RFC 8259) in UTF-8, has a duplicate name,
// or nests too deep. That is checked BEFORE the decoder reads the body, because it would keep each
// name. Errors: INVALID_JSON.
func (m *message) parse(body []byte) error {
	if err := jsonschema.Strict(body, messageDepthMax); err != nil {
		return err
	}
	return m.read(body)
}

// parseLoose reads a body that parse has refused, without its arguments. It reports whether the
// body is a request all the same, one whose id, method and tool are known.
func (m *message) parseLoose(body []byte) bool {
	m.reset()
	m.loose = true
	return utf8.Valid(body) && m.read(body, jsontext.AllowInvalidUTF8(true)) == nil && !m.unclear &&
		m.isRequest() && m.hasID && jsonschema.Strict(m.id, 0) == nil
}

// read reads a body with these options. It keeps no names.
func (m *message) read(body []byte, options ...jsontext.Options) error {
	p, ok := parsers.Get().(*parser)
	if !ok {
		panic("http: foreign value in the pool")
	}
	defer func() {
		p.source, p.body = bytes.Buffer{}, nil
		p.decoder.Reset(&p.source)
		parsers.Put(p)
	}()
	p.source, p.body, p.loose = *bytes.NewBuffer(body), body, m.loose
	p.decoder.Reset(&p.source, append(options, jsontext.AllowDuplicateNames(true))...)
	m.kind = p.decoder.PeekKind()
	if err := p.members(m.member); err != nil {
		return err
	}
	if _, err := p.decoder.ReadToken(); err != io.EOF {
		return errTrailing
	}
	return nil
}

// members calls a function for each member of the next value, which reads the value of the member.
// It skips a value that is not an object.
func (p *parser) members(each func(p *parser, name, quoted []byte) error) error {
	d := &p.decoder
	if d.PeekKind() != '{' {
		_, err := p.value()
		return err
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	p.opened = d.InputOffset() - 1
	for d.PeekKind() != '}' {
		quoted, err := p.value()
		if err != nil {
			return err
		}
		if err := each(p, p.unquoted(quoted), quoted); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// value is the raw text of the next value, as a part of the body.
func (p *parser) value() ([]byte, error) {
	value, err := p.decoder.ReadValue()
	if err != nil {
		return nil, err
	}
	end := p.decoder.InputOffset()
	return p.body[end-int64(len(value)) : end], nil
}

// text is the next value if it is a string, and its kind.
func (p *parser) text() (text []byte, kind jsontext.Kind, err error) {
	value, err := p.value()
	if err != nil {
		return nil, 0, err
	}
	kind = jsontext.Value(value).Kind()
	if kind == '"' {
		text = p.unquoted(value)
	}
	return text, kind, nil
}

// unquoted is the text of a string of the body. A half of a surrogate pair becomes U+FFFD.
func (p *parser) unquoted(quoted []byte) []byte {
	if !p.loose {
		return unquoted(quoted)
	}
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return text
}

// unquoted is the text of a valid JSON string.
func unquoted(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	text, err := jsontext.AppendUnquote(make([]byte, 0, len(quoted)), quoted)
	if err != nil {
		panic("http: a string that was valid is not: " + err.Error())
	}
	return text
}

// member reads one member of the message.
func (m *message) member(p *parser, name, _ []byte) (err error) {
	switch string(name) {
	case "jsonrpc":
		var version []byte
		version, _, err = p.text()
		m.versioned = string(version) == "2.0"
	case "id":
		m.unclear = m.unclear || m.hasID
		m.hasID = true
		m.id, err = p.value()
		if err == nil && !validID(m.id) {
			m.id = nil
		}
	case "method":
		m.unclear = m.unclear || m.methodKind != 0
		m.method, m.methodKind, err = p.text()
	case "params":
		m.unclear = m.unclear || m.params != 0
		m.params = p.decoder.PeekKind()
		err = p.members(m.param)
	case "result", "error":
		m.isResponse = true
		_, err = p.value()
	default:
		_, err = p.value()
	}
	return err
}

// validID reports whether an id is a string or an integer.
func validID(id []byte) bool {
	switch jsontext.Value(id).Kind() {
	case '"':
		return true
	case '0':
		return !bytes.ContainsAny(id, ".eE")
	}
	return false
}

// param reads one member of the parameters.
func (m *message) param(p *parser, name, _ []byte) (err error) {
	switch string(name) {
	case "_meta":
		m.metaKind = p.decoder.PeekKind()
		err = p.members(m.meta)
	case "name":
		m.unclear = m.unclear || m.nameKind != 0
		m.name, m.nameKind, err = p.text()
	case "arguments":
		if m.argumentsKind = p.decoder.PeekKind(); m.argumentsKind != '{' {
			_, err = p.value()
			break
		}
		err = p.members(m.argument)
		m.argumentsText = p.body[p.opened:p.decoder.InputOffset()]
	case "cursor":
		m.cursor = p.decoder.PeekKind()
		_, err = p.value()
	case "protocolVersion":
		m.protocol, m.protocolKind, err = p.text()
	default:
		_, err = p.value()
	}
	return err
}

// meta reads one member of _meta.
func (m *message) meta(p *parser, name, _ []byte) (err error) {
	switch string(name) {
	case metaVersion:
		m.version, m.versionKind, err = p.text()
	case metaCapabilities:
		m.capabilities = p.decoder.PeekKind()
		_, err = p.value()
	default:
		_, err = p.value()
	}
	return err
}

// argument reads one argument of a call.
func (m *message) argument(p *parser, name, quoted []byte) error {
	value, err := p.value()
	if m.loose {
		return err
	}
	if len(m.arguments) == argumentsMax {
		m.tooMany = true
		return err
	}
	m.arguments = append(m.arguments, argument{name, quoted, value})
	return err
}

// readOptions reads the query of the endpoint. It ignores unknown options.
func (m *message) readOptions(query string) {
	for pair := range strings.SplitSeq(query, "&") {
		switch pair {
		case "names=underscore":
			m.plain = true
		case "profile=core":
			m.core = true
		}
	}
}

// isRequest reports whether the message is one request or notification, whose id is valid if it has
// one.
func (m *message) isRequest() bool {
	return m.kind == '{' && m.versioned && m.methodKind == '"' && !m.isResponse &&
		(!m.hasID || m.id != nil)
}
