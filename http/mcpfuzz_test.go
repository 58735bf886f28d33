package http

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzMessage parses arbitrary bodies. An accepted body is JSON, and so are its parts.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(rpcText("1", "tools/call", `"name":"a","arguments":{"b":{"c":[1,null]}}`)))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"\u0041","method":"\ud83d\ude00","params":{"_meta":7}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0"}]`))
	f.Add([]byte(`{"id":1,"id":2}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var m message
		if err := m.parse(body); err != nil {
			return
		}
		if !json.Valid(body) {
			t.Fatalf("taken: %q", body)
		}
		if m.isRequest() && m.hasID && !bytes.Contains(body, m.id) {
			t.Errorf("id %q of %q", m.id, body)
		}
		for _, one := range m.arguments {
			if !json.Valid(one.value) || !json.Valid(one.quoted) {
				t.Errorf("argument %q: %q", one.quoted, one.value)
			}
		}
	})
}

// FuzzWithoutNulls compares withoutNulls with a decoder and an encoder.
func FuzzWithoutNulls(f *testing.F) {
	f.Add([]byte(`{"a":null,"b":[null,{"c":null}],"d\"":null,"own":{"x":null},"e":"\\\":null"}`))
	f.Add([]byte(`{"a":null,"b":null}`))
	f.Add([]byte(`{"a":1,"b":null,"c":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		value := jsontext.Value(bytes.Clone(text))
		escapes := bytes.Contains(text, []byte(`\u`))
		if escapes || !value.IsValid() || value.Compact() != nil || value.Kind() != '{' {
			// Names of the service are never escaped.
			return
		}
		var want, got any
		if json.Unmarshal(value, &want) != nil {
			return
		}
		out := withoutNulls(bytes.Clone(value), [][]byte{[]byte(`"own"`)})
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%v: %q became %q", err, value, out)
		}
		if want = dropNulls(want); !reflect.DeepEqual(want, got) {
			t.Errorf("%q became %q", value, out)
		}
	})
}

func dropNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, one := range value {
			switch {
			case one == nil:
				delete(value, name)
			case name != "own":
				value[name] = dropNulls(one)
			}
		}
	case []any:
		for i, one := range value {
			value[i] = dropNulls(one)
		}
	}
	return value
}
