package jsonschema

import (
	"reflect"
	"strings"
	"testing"
)

type bounded struct {
	Name  string   `json:"name" check:"chars=1..1000"`
	Note  string   `json:"note" check:"bytes=0..1000"`
	List  []string `json:"list" check:"items=0..10" each:"chars=1..100"`
	Inner struct {
		Text string `json:"text" check:"chars=1..500"`
		N    int    `json:"n"`
	} `json:"inner"`
}

// TestMaxBytesHoldsEveryValidBody has bodies of the largest values with every character escaped.
func TestMaxBytesHoldsEveryValidBody(t *testing.T) {
	pair := func(n int) string { return `"` + strings.Repeat(`\ud83d\ude00`, n) + `"` }
	list := strings.Repeat(pair(100)+", ", 9) + pair(100)
	body := `{"name": ` + pair(1000) + `, "note": "` + strings.Repeat(`\u0041`, 1000) +
		`", "list": [` + list + `], "inner": {"text": ` + pair(500) + `, "n": -9223372036854775808}}`
	var into bounded
	if err := Decode([]byte(body), &into); err != nil {
		t.Fatal(err)
	}
	got := MaxBytes(reflect.TypeFor[bounded](), 1<<20)
	if len(body) > got || got > len(body)+2048 {
		t.Errorf("a limit of %d bytes for a body of %d", got, len(body))
	}
}

func TestMaxBytesOfEndlessTypes(t *testing.T) {
	type lists struct {
		List []string `json:"list"`
	}
	type contents struct {
		Text string `json:"text" check:"content"`
	}
	type maps struct {
		Map map[string]string `json:"map"`
	}
	type large struct {
		List [][]string `json:"list" check:"items=0..9000000000000000000"`
	}
	for _, one := range []reflect.Type{
		reflect.TypeFor[lists](), reflect.TypeFor[contents](), reflect.TypeFor[maps](),
		reflect.TypeFor[inner](), reflect.TypeFor[richRequest](), reflect.TypeFor[large](),
	} {
		if got := MaxBytes(one, 1<<20); got != 1<<20 {
			t.Errorf("%v: %d bytes", one, got)
		}
	}
	if got := MaxBytes(reflect.TypeFor[none](), 1<<20); got != 4<<10 {
		t.Errorf("an empty object: %d bytes", got)
	}
}
