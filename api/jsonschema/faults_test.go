package jsonschema

import (
	"strings"
	"testing"

	"pws/internal/fault"
)

// even is a number that reads anything and says later what is wrong with it.
type even struct{ problem string }

func (e *even) UnmarshalJSON(raw []byte) error {
	e.problem = ""
	if text := string(raw); !strings.HasSuffix(text, "2") {
		e.problem = "is not even: " + text
	}
	return nil
}

func (e *even) MarshalJSON() ([]byte, error) { return []byte("2"), nil }

func (e *even) Problems() []fault.Field {
	if e.problem == "" {
		return nil
	}
	return []fault.Field{{Problem: e.problem}}
}

type evens struct {
	Name string  `json:"name" check:"required,chars=1..3"`
	List []even  `json:"list"`
	One  *even   `json:"one"`
	Two  refused `json:"two"`
}

type refused struct {
	N int `json:"n" check:"max=9"`
}

// validating is a request with rules whose faults are reported together with those of its
// members.
type validating struct{ evens }

func (r *validating) Validate(faults []fault.Field) error {
	if r.Name == "odd" || r.Two.N == 7 {
		faults = append(faults, fault.Field{Field: "own", Problem: "is odd"})
	}
	return fault.Invalid(faults...)
}

func TestFaultsOfCustomDecodersAreReportedToo(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"name":"a","list":[2,12],"one":2}`, ""},
		{`{"name":"a","list":[2,3,null,{}]}`, "list[1]|list[2]|list[3]"},
		{`{"name":"abcd","list":[3],"one":5}`, "name|list[0]|one"},
		{`{"list":[3],"one":null,"two":{"n":10},"three":3}`, "list[0]|two.n|three|name"},
	} {
		var into evens
		checkFaults(t, c.body, Decode([]byte(c.body), &into), c.want)
	}
}

func TestErrorListsAllFaults(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"name":"odd","list":[3]}`, "list[0]|own"},
		{`{"name":"odd","two":{"n":10}}`, "two.n|own"},
		{`{"name":"odd","no":1}`, "no|own"},
		{`{"no":1,"two":{"n":7}}`, "no|name|own"},
		// A member of a wrong type does not hide faults of the others, wherever it is.
		{`{"name":7,"two":{"n":7}}`, "name|own"},
		{`{"list":7,"two":{"n":7},"name":[{"x":{}}]}`, "list|name|own"},
		{`{"two":{"m":{},"n":7},"one":[],"name":7}`, "two.m|one|name|own"},
		{`{"two":[{"n":7}],"name":"odd"}`, "two|own"},
		{`{"two":{"n":"7"},"name":7}`, "two.n|name"},
		// Rules across members are checked by the handler.
		{`{"name":"odd"}`, ""},
	} {
		var into validating
		checkFaults(t, c.body, Decode([]byte(c.body), &into), c.want)
	}
}

func checkFaults(t *testing.T, body string, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("%s: %v", body, err)
		}
		return
	}
	var got []string
	for _, one := range fieldsOf(t, err) {
		got = append(got, one.Field)
	}
	if joined := strings.Join(got, "|"); joined != want {
		t.Errorf("%s: faults %q, want %q", body, joined, want)
	}
}
