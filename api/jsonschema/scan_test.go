package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pws/internal/fault"
)

// agrees compares the scan of a text with the library, which reads strict JSON by default, and
// checks that what is trimmed is JSON again.
func agrees(t interface{ Fatalf(string, ...any) }, body []byte) {
	valid := jsontext.Value(body).IsValid()
	strictly := valid && Nests(body, DepthMax)
	if got := Strict(body, DepthMax) == nil; got != strictly {
		t.Fatalf("%q: strict %v, want %v", body, got, strictly)
	}
	if !strictly {
		return
	}
	root := use{plan: planOf(reflect.TypeFor[richRequest]()), check: noCheck}
	trimmed := trim(body, &root)
	if again := scan(trimmed, &root); again.verdict > unfit {
		t.Fatalf("%q became %q", body, trimmed)
	}
	// What is trimmed off is nothing that can be read.
	var whole, part richRequest
	_ = jsonv2.Unmarshal(body, &whole, lenient)
	_ = jsonv2.Unmarshal(trimmed, &part, lenient)
	for _, list := range []*[]string{&whole.Topics, &part.Topics} {
		*list = (*list)[:min(len(*list), 3)]
	}
	if len(whole.Labels) <= 2 && !reflect.DeepEqual(whole, part) {
		t.Fatalf("%q became %q: %+v, %+v", body, trimmed, whole, part)
	}
}

var jsonSamples = []string{
	`{` + good + `,"topics":["a","",null,"B",1,"abcde"],"x":{"y":[1,{}]}}`,
	`{"a":1,"b":[true,false,null,-0.5e+7,"\u00e9\ud83d\ude00\n"],"c":{}}`,
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"é":1,"\u00e9":2}`, `{"😀":1,"\ud83d\ude00":2}`,
	`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"\n":1,"c":1}`,
	`{"a\/":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"a/":1}`,
	`{"name":"n","inner":"x","topics":[],"labels":{},"note":"abc","place":{"n":2,"m":[]},"size":1.5}`,
	` [ 1 , 2 ] `, `"\ud83d"`, `"\udc00\ud83d"`, `"\ud83d\u0041"`, `01`, `1.`, `-`, `1e`, `truex`,
	`{"a" 1}`, `[1,]`, `{,}`, "\"\xff\"", "\"\xed\xa0\x80\"", "\"\x00\"", `"\x"`, `[1 2]`, `nul`,
	strings.Repeat("[", DepthMax) + strings.Repeat("]", DepthMax),
	strings.Repeat("[", DepthMax+1) + strings.Repeat("]", DepthMax+1),
}

func TestScanAgreesWithTheLibrary(t *testing.T) {
	for _, sample := range jsonSamples {
		agrees(t, []byte(sample))
		for i := range sample {
			agrees(t, []byte(sample[:i]))
			agrees(t, []byte(sample[i:]))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		body := []byte(rapid.SampledFrom(jsonSamples).Draw(t, "sample"))
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(body)-1).Draw(t, "at")
			body[at] = rapid.OneOf(
				rapid.Byte(), rapid.SampledFrom([]byte(`{}[]":,\u0e+-. ab`)),
			).Draw(t, "byte")
		}
		agrees(t, body)
	})
}

func FuzzScan(f *testing.F) {
	for _, sample := range jsonSamples {
		f.Add([]byte(sample))
	}
	f.Fuzz(func(t *testing.T, body []byte) { agrees(t, body) })
}

// large makes a body that is scanned BEFORE it is decoded.
func large(body string) []byte {
	return append([]byte(body), strings.Repeat(" ", scannedBody)...)
}

func TestSizeDoesNotChangeTheAnswer(t *testing.T) {
	for _, body := range append([]string{
		`{` + good + `}`, `{}`, `[]`, `null`, `{"name":7,"flag":true,"cleared":null,"count":1.5}`,
		`{` + good + `,"count":99999999999999999999,"inner":{"deep":[]},"place":7}`,
		`{` + good + `,"operations":[{"op":"RENAME","path":"a"},{"op":"PUT"},3],"labels":[]}`,
		`{` + good + `,"labels":{"a":"","b":"","c":""},"note":"\u0000\u0000"}`,
	}, jsonSamples...) {
		var small, big richRequest
		one, other := Decode([]byte(body), &small), Decode(large(body), &big)
		if diff := cmp.Diff(detailsOf(one), detailsOf(other)); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
		if one == nil && !reflect.DeepEqual(small, big) {
			t.Errorf("%s: %+v, %+v", body, small, big)
		}
	}
}

func detailsOf(err error) map[string]any {
	refusal, ok := err.(*fault.Error)
	if !ok {
		return nil
	}
	details := map[string]any{"code": refusal.Code}
	if refusal.Code == fault.ValidationFailed {
		maps.Copy(details, refusal.Details)
	}
	return details
}

func TestFaultsEndAtTheBounds(t *testing.T) {
	elements := func(n int) string { return strings.Repeat(`{"op":"PUT","path":"a"},`, n) }
	many := fmt.Sprintf(`{%s,"operations":[%s{"op":1}],"topics":["A"]}`, good, elements(100_000))
	var into richRequest
	want := []fault.Field{
		{Field: "operations", Problem: "must have 1 to 100 items"},
		{Field: "topics[0]", Problem: "must match ^[a-z]+$"},
	}
	if diff := cmp.Diff(want, fieldsOf(t, Decode([]byte(many), &into))); diff != "" {
		t.Error(diff)
	}
	if got := len(into.Operations); got != 100 {
		t.Errorf("%d elements were decoded", got)
	}
	unknown := `{` + good
	for i := range 5000 {
		unknown += fmt.Sprintf(`,"x%d":[{}]`, i)
	}
	err := Decode([]byte(unknown+`}`), &into)
	fields := fieldsOf(t, err)
	if len(fields) != faultsMax || fields[99].Field != "x99" {
		t.Errorf("%d faults, the last of %s", len(fields), fields[len(fields)-1].Field)
	}
	if detailsOf(err)["fields_truncated"] != true {
		t.Error("the answer does not say that there may be more faults")
	}
	if err := Decode([]byte(`{}`), &into); detailsOf(err)["fields_truncated"] != nil {
		t.Error("three faults are said to be truncated")
	}
}

// memory is what a function allocates, in bytes.
func memory(run func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc) // #nosec G115 -- a difference
}

// TestMemoryIsBoundedByTheBody decodes bodies of a mebibyte that were made to weigh as much as
// possible.
func TestMemoryIsBoundedByTheBody(t *testing.T) {
	const size, factor = 1 << 20, 3
	repeat := func(head, unit, tail string) string {
		return head + strings.Repeat(unit, (size-len(head)-len(tail))/len(unit)) + tail
	}
	distinct := func(head, format, tail string) string {
		var out strings.Builder
		out.WriteString(head)
		for i := 0; out.Len() < size; i++ {
			fmt.Fprintf(&out, format, i)
		}
		return out.String() + tail
	}
	for name, body := range map[string]string{
		"objects":       repeat(`{"operations":[`, `{},`, `{}]}`),
		"nulls":         repeat(`{"operations":[`, `null,`, `{}]}`),
		"strings":       repeat(`{"topics":[`, `"",`, `""]}`),
		"numbers":       repeat(`{"topics":[`, `1,`, `1]}`),
		"unknown":       distinct(`{"a":1`, `,"u%d":1`, `}`),
		"escaped":       distinct(`{"a":1`, `,"\u0061%d":1`, `}`),
		"near":          distinct(`{"a":1`, `,"Top_%d_ics":1`, `}`),
		"unknown lists": distinct(`{"a":1`, `,"%d":[[],{}]`, `}`),
		"map":           distinct(`{"labels":{"a":"b"`, `,"%d":""`, `}}`),
		"members":       distinct(`{"operations":[{"op":""`, `,"%d":1`, `}]}`),
		"duplicates":    distinct(`{"extra":{"a":1`, `,"u%d":1`, `,"u7":1}}`),
		"deep":          repeat(`{"extra":`, `[`, `1`),
		"deep names":    repeat(`{"extra":`, `{"name":`, `1`),
		"long name":     repeat(`{"`, `n`, `":1}`),
		"escaped name":  repeat(`{"`, `\u006e`, `":1}`),
		"long string":   repeat(`{"name":"`, `\u00e9`, `"}`),
		"long note":     repeat(`{"note":"`, `\n`, `"}`),
		"digits":        repeat(`{"count":`, `1`, `}`),
		"fraction":      repeat(`{"ratio":0.`, `1`, `}`),
		"time":          repeat(`{"when":"`, `1`, `"}`),
		"id":            repeat(`{"project":"prj_`, `1`, `"}`),
		"blanks":        repeat(`{"operations":[`, ` `, `]}`),
		"cut off":       repeat(`{"operations":[`, `{"op":"PUT"},`, ``),
	} {
		var into richRequest
		var err error
		used := memory(func() { err = Decode([]byte(body), &into) })
		if used -= int64(len(body)); used > factor*size {
			t.Errorf("%s: %.1f bytes for each byte", name, float64(used)/size)
		}
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func BenchmarkDecode100Operations(b *testing.B) {
	one := `{"op":"PUT","path":"src/package/file.go","content":"` +
		strings.Repeat(`line of text\n`, 20) + `"},`
	body := []byte(`{` + good + `,"operations":[` + strings.Repeat(one, 99) +
		strings.TrimSuffix(one, ",") + `]}`)
	if !json.Valid(body) {
		b.Fatal("not JSON")
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var into richRequest
		if err := Decode(body, &into); err != nil {
			b.Fatal(err)
		}
	}
}

// TestMembersAreBounded has an object of as many members as permitted, and of one more.
func TestMembersAreBounded(t *testing.T) {
	object := func(members int) []byte {
		text := []byte(`{"m0":0`)
		for i := 1; i < members; i++ {
			text = fmt.Appendf(text, `,"m%d":0`, i)
		}
		return append(text, '}')
	}
	var into struct {
		Name string `json:"name"`
	}
	if code := fault.CodeOf(Decode(object(MembersMax), &into)); code != fault.ValidationFailed {
		t.Errorf("%d members: %s", MembersMax, code)
	}
	err := Decode(object(MembersMax+1), &into)
	if fault.CodeOf(err) != fault.InvalidJSON || !strings.Contains(err.Error(), "262144 members") {
		t.Errorf("one more: %v", err)
	}
}
