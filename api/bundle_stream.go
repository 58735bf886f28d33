package api

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/api/jsonschema"
	"pws/internal/fault"
	"pws/work"
)

// stagedContent is what is known of a content.
type stagedContent struct {
	hash work.Hash
	size int
	// problem is why its text is refused, empty if it is not.
	problem string
}

// measured returns what is known of a content in memory.
func measured(content []byte) stagedContent {
	one := stagedContent{size: len(content), problem: contentCheck.Text(textOf(content))}
	if one.size <= work.FileBytesMax {
		one.hash = sha256.Sum256(content)
	}
	return one
}

// stagedContents are the contents of a bundle that was read from a stream. In its records, the
// number of each content is in the place of its text.
type stagedContents struct{ list []stagedContent }

// numbered returns a content by the number in a record. A text whose hash is malformed is refused
// for that, and has no number.
func (s *stagedContents) numbered(text string) stagedContent {
	at, err := strconv.Atoi(text)
	if err != nil || at < 0 || at >= len(s.list) {
		return stagedContent{}
	}
	return s.list[at]
}

// bundleStream reads a bundle from a stream: the text of a bundle, of a request of project.import,
// or of an answer of project.export. It gives the contents away one by one, and keeps the records.
type bundleStream struct {
	from *tokenReader
	dec  *jsontext.Decoder
	// store gets each content that is valid. It does not keep it.
	store func(hash work.Hash, content []byte) error
	// pause is called between the parts of the work.
	pause func()
	// records is the text of a request of project.import without contents, which may have that many
	// bytes.
	records []byte
	most    int
	staged  stagedContents
	// unquoted is memory for a content.
	unquoted []byte
	read     int64
	// made is the request that made the upload, as JSON.
	made []byte
}

// tokenBytesMax bounds one value of a bundle that is read at once. A content of the largest size
// whose characters are all escaped fits.
const tokenBytesMax = max(16<<20, 6*work.FileBytesMax+(1<<10))

// pauseBytes is how much is read between two pauses.
const pauseBytes = 8 << 20

var errLongValue = errors.New("api: a value of the bundle is too long")

// tokenReader fails where the decoder needs too much at once.
type tokenReader struct {
	r     io.Reader
	given int64
	taken func() int64
	err   error
}

func (t *tokenReader) Read(p []byte) (int, error) {
	if t.taken != nil && t.given-t.taken() > tokenBytesMax {
		t.err = errLongValue
		return 0, errLongValue
	}
	n, err := t.r.Read(p)
	t.given += int64(n)
	if err != nil && err != io.EOF {
		t.err = err
	}
	return n, err
}

func newBundleStream(
	r io.Reader, most int, store func(hash work.Hash, content []byte) error, pause func(),
) *bundleStream {
	b := &bundleStream{from: &tokenReader{r: r}, store: store, pause: pause, most: most}
	// Duplicate names stay in the records, where they are refused.
	b.dec = jsontext.NewDecoder(b.from, jsontext.AllowDuplicateNames(true))
	b.from.taken = b.dec.InputOffset
	return b
}

// errTooManyRecords says that the records do not fit.
var errTooManyRecords = errors.New("api: the bundle has too many records")

// run reads the stream to its end and returns the records as the members of an object, without its
// braces. Errors: INVALID_JSON, VALIDATION_FAILED, and those of the reader and of store.
func (b *bundleStream) run() error {
	err := b.document()
	if err == nil {
		if _, err = b.dec.ReadToken(); err == nil {
			err = errors.New("a second value")
		}
	}
	var syntax *jsontext.SyntacticError
	var refusal *fault.Error
	switch {
	case b.from.err == errLongValue:
		return fault.Invalid(fault.Field{Field: "bundle", Problem: fmt.Sprintf(
			"has a value of more than %d bytes at offset %d", tokenBytesMax, b.dec.InputOffset())})
	case errors.As(b.from.err, &refusal):
		return refusal
	case b.from.err != nil:
		return b.from.err
	case errors.Is(err, errTooManyRecords):
		return fault.Invalid(fault.Field{Field: "bundle", Problem: fmt.Sprintf(
			"has more than %d bytes of records beside its contents", b.most)})
	case err == io.EOF:
		return nil
	case errors.As(err, &syntax):
		return jsonschema.InvalidJSON(syntax.ByteOffset, syntax.Err.Error())
	case errors.Is(err, io.ErrUnexpectedEOF):
		return jsonschema.InvalidJSON(b.dec.InputOffset(), "the text ends early")
	}
	if errors.As(err, &refusal) {
		return refusal
	}
	return jsonschema.InvalidJSON(b.dec.InputOffset(), err.Error())
}

// document reads the only value of the text.
func (b *bundleStream) document() error {
	if b.dec.PeekKind() != '{' {
		b.add(`"bundle":`)
		return b.copyValue()
	}
	return b.envelope(2)
}

// envelope reads an object: the bundle itself, or one that has it below, at most that deep. The
// first name decides which.
func (b *bundleStream) envelope(depth int) error {
	if _, err := b.dec.ReadToken(); err != nil {
		return err
	}
	for first := true; b.dec.PeekKind() == '"'; first = false {
		name, err := b.dec.ReadToken()
		if err != nil {
			return err
		}
		switch text := name.String(); {
		case text == "bundle":
			b.separate()
			b.add(`"bundle":`)
			err = b.bundleValue()
		case text == "data" && depth == 2 && b.dec.PeekKind() == '{':
			err = b.envelope(depth - 1)
		case first && !envelopeNames[text]:
			b.add(`"bundle":{`)
			if err = b.member(text); err == nil {
				err = b.members()
			}
			return err
		case depth == 2 && requestNames[text]:
			err = b.requireSame(text)
		default:
			err = b.dec.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	_, err := b.dec.ReadToken()
	return err
}

// requestNames are the members of a request of project.import that an upload has, too.
var requestNames = map[string]bool{
	"visibility": true, "name": true, "description": true, "reuse_policy": true,
	"license_spdx": true,
}

// requireSame refuses a member of an uploaded request that the upload has otherwise or not at all:
// the upload decides, and its agent may believe that the request does.
func (b *bundleStream) requireSame(name string) error {
	value, err := b.dec.ReadValue()
	if err != nil {
		return err
	}
	var sent any
	if err := json.Unmarshal(value, &sent); err != nil {
		return err
	}
	made := map[string]any{}
	if len(b.made) > 0 {
		if err := json.Unmarshal(b.made, &made); err != nil {
			return err
		}
	}
	if sent == nil || reflect.DeepEqual(sent, made[name]) {
		return nil
	}
	return fault.Invalid(fault.Field{Field: name, Problem: "differs in the parts from what the " +
		"upload was created with, which is used; create the upload with it, or leave it out of the " +
		"parts"})
}

// envelopeNames are the members of answers and requests that have a bundle.
var envelopeNames = map[string]bool{
	"ok": true, "data": true, "meta": true, "request_id": true, "visibility": true, "name": true,
	"description": true, "reuse_policy": true, "license_spdx": true,
}

func (b *bundleStream) bundleValue() error {
	if b.dec.PeekKind() != '{' {
		return b.copyValue()
	}
	if _, err := b.dec.ReadToken(); err != nil {
		return err
	}
	b.add("{")
	return b.members()
}

// members reads the members of the bundle, up to the end of the object.
func (b *bundleStream) members() error {
	for b.dec.PeekKind() == '"' {
		name, err := b.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := b.member(name.String()); err != nil {
			return err
		}
	}
	_, err := b.dec.ReadToken()
	b.add("}")
	return err
}

// member reads the value of a member of the bundle.
func (b *bundleStream) member(name string) error {
	b.separate()
	b.records = append(jsonschema.AppendString(b.records, name), ':')
	kind := b.dec.PeekKind()
	switch {
	case name == "blobs" && kind == '{':
		return b.object(func(name string) bool {
			_, ok := parseHash(name)
			return ok
		})
	case kind == '[':
		return b.list(name == "files")
	}
	return b.copyValue()
}

// list reads a list, one element at a time. Files may have contents.
func (b *bundleStream) list(files bool) error {
	if _, err := b.dec.ReadToken(); err != nil {
		return err
	}
	b.add("[")
	for nth := 0; b.dec.PeekKind() != ']'; nth++ {
		if nth > 0 {
			b.add(",")
		}
		var err error
		if files && nth <= work.FilesMax && b.dec.PeekKind() == '{' {
			err = b.object(func(name string) bool { return name == "content" })
		} else {
			err = b.copyValue()
		}
		if err != nil {
			return err
		}
	}
	_, err := b.dec.ReadToken()
	b.add("]")
	return err
}

// object reads an object. The strings of the members for which is returns true are contents.
func (b *bundleStream) object(is func(name string) bool) error {
	if _, err := b.dec.ReadToken(); err != nil {
		return err
	}
	b.add("{")
	for b.dec.PeekKind() == '"' {
		token, err := b.dec.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		b.separate()
		b.records = append(jsonschema.AppendString(b.records, name), ':')
		if b.dec.PeekKind() == '"' && is(name) {
			err = b.content()
		} else {
			err = b.copyValue()
		}
		if err != nil {
			return err
		}
	}
	_, err := b.dec.ReadToken()
	b.add("}")
	return err
}

// content reads a content and gives it away.
func (b *bundleStream) content() error {
	quoted, err := b.dec.ReadValue()
	if err != nil {
		return err
	}
	b.unquoted, err = jsontext.AppendUnquote(b.unquoted[:0], quoted)
	if err != nil {
		return err
	}
	one := measured(b.unquoted)
	if one.problem == "" && one.size <= work.FileBytesMax {
		if err := b.store(one.hash, b.unquoted); err != nil {
			return err
		}
	}
	b.records = append(b.records, '"')
	b.records = strconv.AppendInt(b.records, int64(len(b.staged.list)), 10)
	b.records = append(b.records, '"')
	b.staged.list = append(b.staged.list, one)
	if at := b.dec.InputOffset(); at-b.read >= pauseBytes {
		b.read = at
		b.pause()
	}
	return b.bound()
}

// copyValue copies a value as it is.
func (b *bundleStream) copyValue() error {
	value, err := b.dec.ReadValue()
	if err != nil {
		return err
	}
	b.records = append(b.records, value...)
	return b.bound()
}

func (b *bundleStream) bound() error {
	if len(b.records) > b.most {
		return errTooManyRecords
	}
	return nil
}

func (b *bundleStream) add(text string) { b.records = append(b.records, text...) }

// separate adds a comma between two members.
func (b *bundleStream) separate() {
	if len(b.records) > 0 && !bytes.HasSuffix(b.records, []byte("{")) {
		b.records = append(b.records, ',')
	}
}
