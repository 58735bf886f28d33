package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pws/api/jsonschema"
	"pws/internal/fault"
)

// BundleInput is a bundle in a request. Its digests are checked against its text, because a decoded
// Bundle no longer has it.
type BundleInput struct {
	bundle   Bundle
	problems []fault.Field
	// read means that bundle has the members that could be read.
	read bool
	// staged are the contents of a bundle that was read from a stream, nil for others.
	staged *stagedContents
}

// UnmarshalJSON reads the bundle; see Problems.
func (b *BundleInput) UnmarshalJSON(raw []byte) error {
	*b = BundleInput{problems: overfull(raw), staged: b.staged}
	if len(b.problems) > 0 {
		return nil
	}
	if err := jsonschema.Decode(raw, &b.bundle); err != nil {
		b.problems = problemsOf(err)
		if jsontext.Value(raw).Kind() != '{' {
			return nil
		}
		jsonschema.Read(raw, &b.bundle)
	}
	b.read = true
	if b.bundle.Integrity == nil {
		return nil
	}
	found, err := digestsOf(raw)
	if err != nil {
		return err
	}
	digests := b.bundle.Integrity.Sections
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		if found[name] != digests[name] {
			b.problems = append(b.problems, fault.Field{
				Field: name, Problem: "does not match its digest",
			})
		}
	}
	return nil
}

// Problems implements jsonschema.Checker.
func (b *BundleInput) Problems() []fault.Field { return b.problems }

// JSONSchema returns the main members of a bundle; the data of project.export has all of them.
func (BundleInput) JSONSchema() map[string]any {
	return map[string]any{
		"type":     "object",
		"required": []any{"format", "bundle_version", "project", "files", "history"},
		"properties": map[string]any{
			"format":         map[string]any{"const": bundleFormat},
			"bundle_version": map[string]any{"const": bundleVersion},
			"project": map[string]any{
				"type": "object", "description": "The project record.",
			},
			"files": map[string]any{
				"type": "array", "items": map[string]any{"type": "object"},
				"description": "The files with their contents, sorted by path in byte order.",
			},
			"history": map[string]any{
				"type": "array", "items": map[string]any{"type": "object"},
				"description": "All changesets with their operations.",
			},
		},
	}
}

// digestsOf returns the digests of the members of a bundle, as in its integrity. The text must be
// valid JSON. At most one element of a list is copied at a time.
func digestsOf(raw []byte) (map[string]string, error) {
	d := digester{sum: sha256.New()}
	found := map[string]string{}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		if name == "blobs" || name == "integrity" {
			err = dec.SkipValue()
		} else if err = d.section(dec, name); err == nil {
			found[name] = hex.EncodeToString(d.sum.Sum(nil))
			d.sum.Reset()
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

type digester struct {
	sum       hash.Hash
	canonical []byte
	stripped  []byte
}

func (d *digester) section(dec *jsontext.Decoder, name string) error {
	if dec.PeekKind() != '[' {
		value, err := dec.ReadValue()
		if err == nil {
			err = d.add(value)
		}
		return err
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	d.sum.Write([]byte("["))
	for count := 0; dec.PeekKind() != ']'; count++ {
		if count > 0 {
			d.sum.Write([]byte(","))
		}
		value, err := dec.ReadValue()
		if err == nil && name == "files" {
			value, err = d.strip(value)
		}
		if err == nil {
			err = d.add(value)
		}
		if err != nil {
			return err
		}
	}
	d.sum.Write([]byte("]"))
	_, err := dec.ReadToken()
	return err
}

func (d *digester) add(value jsontext.Value) error {
	canonical := jsontext.Value(append(d.canonical[:0], value...))
	err := canonical.Canonicalize()
	d.canonical = canonical
	d.sum.Write(canonical)
	return err
}

// strip returns the record of a file without its content.
func (d *digester) strip(record jsontext.Value) (jsontext.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(record))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	d.stripped = append(d.stripped[:0], '{')
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		text := name.String()
		if text == "content" {
			err = dec.SkipValue()
		} else {
			if len(d.stripped) > 1 {
				d.stripped = append(d.stripped, ',')
			}
			d.stripped = append(jsonschema.AppendString(d.stripped, text), ':')
			var value jsontext.Value
			value, err = dec.ReadValue()
			d.stripped = append(d.stripped, value...)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(d.stripped, '}'), nil
}
