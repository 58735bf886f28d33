package jsonschema

import (
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Nullable is an optional member of a request for which null and absence differ; for every other
// type they are the same. Checks and schema are those of T.
type Nullable[T any] struct {
	// Sent says that the member was there; Value is then nil where it was null.
	Sent  bool
	Value *T
}

// Cleared reports whether null was sent.
func (n *Nullable[T]) Cleared() bool { return n.Sent && n.Value == nil }

// UnmarshalJSONFrom reads a value or null, as strictly as what is around it.
func (n *Nullable[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	n.Sent = true
	return json.UnmarshalDecode(dec, &n.Value)
}

func (Nullable[T]) nullable() {}

var nullableType = reflect.TypeFor[interface{ nullable() }]()

// valueField is the place of Value in a Nullable, which is what its checks are about.
const valueField = 1
