package jsonschema

import (
	"reflect"
	"strings"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

type clearable struct {
	Title  string             `json:"title"`
	Parent Nullable[string]   `json:"parent" check:"chars=2..5"`
	Inner  Nullable[inner]    `json:"inner"`
	List   Nullable[[]string] `json:"list" check:"items=0..2" each:"chars=1..3"`
}

func TestNullDiffersFromAbsence(t *testing.T) {
	padding := strings.Repeat(" ", largeBody)
	for _, c := range []struct {
		body    string
		sent    bool
		cleared bool
		faults  string
	}{
		{body: `{}`},
		{body: `{"parent":null}`, sent: true, cleared: true},
		{body: `{"p\u0061rent":null}`, sent: true, cleared: true},
		{body: `{"parent":"abc"}`, sent: true},
		{body: `{"parent":"ab\u0063"` + padding + `}`, sent: true},
		{body: `{"parent":""}`, faults: "parent"},
		{body: `{"parent":1}`, faults: "parent"},
		{body: `{"parent":"abcdef","inner":{"n":0,"x":1},"list":["","abcd"],"title":2}`,
			faults: "parent|inner.n|inner.x|list[0]|list[1]|title"},
		{body: `{"inner":{"deep":{"n":12}}}`, faults: "inner.deep.n"},
		{body: `{"inner":[]}`, faults: "inner"},
		{body: `{"list":["a","b","c"]}`, faults: "list"},
	} {
		var into clearable
		err := Decode([]byte(c.body), &into)
		if c.faults != "" {
			var got []string
			for _, one := range fieldsOf(t, err) {
				got = append(got, one.Field)
			}
			if joined := strings.Join(got, "|"); joined != c.faults {
				t.Errorf("%s: faults %s", c.body, joined)
			}
			continue
		}
		if err != nil || into.Parent.Sent != c.sent || into.Parent.Cleared() != c.cleared {
			t.Errorf("%.40s: %+v %v", c.body, into.Parent, err)
		}
		if c.sent && !c.cleared && *into.Parent.Value != "abc" {
			t.Errorf("%.40s: %q", c.body, *into.Parent.Value)
		}
	}
	var into clearable
	body := `{"inner":{"n":3,"deep":null},"list":[]}`
	if err := Decode([]byte(body), &into); err != nil || into.Inner.Value.N != 3 ||
		into.List.Value == nil || into.Parent.Sent {
		t.Errorf("%+v %v", into, err)
	}
}

func TestNullableSchemaIsThatOfItsValue(t *testing.T) {
	schema := compileSchema(t, SchemaOf(reflect.TypeFor[clearable](), Request, ""))
	for body, holds := range map[string]bool{
		`{}`: true, `{"parent":null,"inner":null,"list":null}`: true, `{"parent":"abc"}`: true,
		`{"inner":{"n":3}}`: true, `{"parent":""}`: false, `{"parent":1}`: false,
		`{"inner":{"n":10}}`: false, `{"inner":{"x":1}}`: false, `{"list":["abcd"]}`: false,
	} {
		value, err := validator.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != holds {
			t.Errorf("%s: %v", body, err)
		}
	}
}
