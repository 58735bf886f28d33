package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"pws/internal/fault"
	"pws/internal/id"
)

type operation struct {
	Op      string  `json:"op" check:"required,enum=PUT|DELETE|RENAME"`
	Path    string  `json:"path" check:"required,bytes=1..512"`
	NewPath *string `json:"new_path" check:"bytes=1..512"`
	Content *string `json:"content" check:"content"`
}

func (o *operation) Problems() []fault.Field {
	if o.Op == "RENAME" && o.NewPath == nil {
		return []fault.Field{{Field: "new_path", Problem: "is required for RENAME"}}
	}
	return nil
}

type inner struct {
	Deep *inner `json:"deep"`
	N    int    `json:"n" check:"min=1,max=9"`
}

type richRequest struct {
	Name       string            `json:"name" check:"required,chars=1..12,line"`
	Project    string            `json:"project" check:"id=prj_"`
	Note       string            `json:"note" check:"text,chars=2..4000"`
	Topics     []string          `json:"topics" check:"items=0..3" each:"chars=1..4,pattern=^[a-z]+$"`
	Operations []operation       `json:"operations" check:"items=1..100"`
	Count      int32             `json:"count" check:"min=-5,max=500"`
	Size       uint64            `json:"size"`
	Ratio      float64           `json:"ratio"`
	Flag       *bool             `json:"flag" check:"required"`
	Labels     map[string]string `json:"labels" check:"items=0..2" each:"chars=0..5"`
	Inner      *inner            `json:"inner"`
	Place      inner             `json:"place"`
	When       *string           `json:"when" check:"time"`
	Extra      any               `json:"extra"`
	Cleared    *string           `json:"cleared" check:"required,nullable"`
	embedded
}

type embedded struct {
	Body string `json:"body"`
}

type none struct{}

const good = `"name":"n","flag":true,"cleared":null`

func fieldsOf(t testing.TB, err error) []fault.Field {
	t.Helper()
	var refusal *fault.Error
	if !errors.As(err, &refusal) || refusal.Code != fault.ValidationFailed {
		t.Fatalf("not a validation fault: %v", err)
	}
	fields, ok := refusal.Details["fields"].([]fault.Field)
	if !ok || len(fields) == 0 {
		t.Fatalf("no fields in %v", refusal.Details)
	}
	return fields
}

func TestDecodeFindsEveryFault(t *testing.T) {
	cases := []struct{ body, want string }{
		{`{}`, "name|flag|cleared"},
		{`{` + good + `}`, ""},
		{`{"n\u0061me":"n","flag":true,"cleared":null}`, ""},
		{`{"name":"","flag":null,"cleared":"x"}`, "name|flag"},
		{`{` + good + `,"Count":1}`, "Count"},
		{`{` + good + `,"count":1.0}`, "count"},
		{`{` + good + `,"count":1e2}`, "count"},
		{`{` + good + `,"count":-6}`, "count"},
		{`{` + good + `,"count":99999999999999999999}`, "count"},
		{`{` + good + `,"count":2147483648}`, "count"},
		{`{` + good + `,"count":null,"size":18446744073709551615}`, ""},
		{`{` + good + `,"size":-1}`, "size"},
		{`{` + good + `,"ratio":1e999}`, "ratio"},
		{`{` + good + `,"project":"prj_1"}`, "project"},
		{`{` + good + `,"project":""}`, "project"},
		{`{` + good + `,"note":""}`, "note"},
		{`{` + good + `,"n\u006fte":""}`, "note"},
		{`{` + good + `,"note":null}`, ""},
		{`{` + good + `,"note":"a\u0000b"}`, "note"},
		{`{` + good + `,"note":"a\u0007b"}`, "note"},
		{`{` + good + `,"note":"a\n\tb"}`, ""},
		{`{` + good + `,"body":"a\u0000b"}`, "body"},
		{`{` + good + `,"body":"a\u0007b"}`, ""},
		{`{"name":"a\nb","flag":true,"cleared":null}`, "name"},
		{`{"name":"ääääääääääää","flag":true,"cleared":null}`, ""},
		{`{"name":"äääääääääääää","flag":true,"cleared":null}`, "name"},
		{`{` + good + `,"topics":["a","",null,"B",1,"abcde"]}`,
			"topics[1]|topics[2]|topics"},
		{`{` + good + `,"operations":[]}`, "operations"},
		{`{` + good + `,"operations":[{"op":"PUT","path":"a"},{"op":"put","path":"","x":1}]}`,
			"operations[1].op|operations[1].path|operations[1].x"},
		{`{` + good + `,"operations":[{"op":"RENAME","path":"a"}]}`, "operations[0].new_path"},
		{`{` + good + `,"labels":{"a":"123456"}}`, "labels.a"},
		{`{` + good + `,"labels":{"a":"","b":"","c":""}}`, "labels"},
		{`{` + good + `,"labels":{"a":""}}`, ""},
		{`{` + good + `,"inner":{"deep":{"deep":{"n":0}}}}`, "inner.deep.deep.n"},
		{`{` + good + `,"place":{"n":0}}`, "place.n"},
		{`{` + good + `,"place":{}}`, ""},
		{`{` + good + `,"place":[]}`, "place"},
		{`{` + good + `,"when":"2026-11-20"}`, "when"},
		{`{` + good + `,"when":"2026-11-20T09:06:00.000Z"}`, ""},
		{`{` + good + `,"extra":{"a":[1,{}]}}`, ""},
		{`{` + good + `,"Name":1,"na_me":2}`, "Name|na_me"},
		{`[]`, ""},
		{`null`, ""},
	}
	for _, c := range cases {
		var into richRequest
		err := Decode([]byte(c.body), &into)
		if c.want == "" && strings.HasPrefix(c.body, "{") {
			if err != nil {
				t.Errorf("%s: %v %v", c.body, err, fieldsOf(t, err))
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: accepted", c.body)
			continue
		}
		var got []string
		for _, one := range fieldsOf(t, err) {
			got = append(got, one.Field)
		}
		if joined := strings.Join(got, "|"); joined != c.want {
			t.Errorf("%s: faults %q, want %q", c.body, joined, c.want)
		}
	}
}

func TestFaultsAdvise(t *testing.T) {
	var into richRequest
	err := Decode([]byte(`{`+good+`,"NAME":"x","op":1,"operations":[]}`), &into)
	want := []fault.Field{
		{Field: "NAME", Problem: `unknown member; did you mean "name"?`},
		{Field: "op", Problem: "unknown member"},
		{Field: "operations", Problem: "must not be empty"},
	}
	if diff := cmp.Diff(want, fieldsOf(t, err)); diff != "" {
		t.Error(diff)
	}
	many := `{` + good + `,"operations":[` + strings.Repeat(`{},`, 300) + `{}]}`
	if got := len(fieldsOf(t, Decode([]byte(many), &into))); got != faultsMax {
		t.Errorf("%d faults", got)
	}
}

func TestDecodeRejectsNonStrictJSON(t *testing.T) {
	deep := func(n int) string {
		return `{` + good + `,"extra":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	cases := []string{
		"", " \n", "\xef\xbb\xbf{}", `{`, `{"name":"a"`, `{} {}`, `{}x`, `{"name":"a","name":"b"}`,
		"{\"name\":\"\xff\"}", `{"name":"\ud800"}`, `{"name":"\udc00\ud800"}`, `{'name':1}`,
		`{"name":01}`, `{"name":"a",}`, `{"x":{"a":1,"\u0061":2}}`, "{\"name\":\"a\nb\"}", deep(64), `{"x":{"a":1,"a":2}}`,
		strings.Repeat("[", 100000), `{"extra":` + deep(70) + `}`, `nul`,
	}
	for _, body := range cases {
		var into richRequest
		err := Decode([]byte(body), &into)
		if fault.CodeOf(err) != fault.InvalidJSON {
			t.Errorf("%.60q: %v", body, err)
			continue
		}
		var refusal *fault.Error
		errors.As(err, &refusal)
		if refusal.Details["offset"] == nil || refusal.Details["problem"] == "" {
			t.Errorf("%.60q: details %v", body, refusal.Details)
		}
	}
	var into richRequest
	if err := Decode([]byte(deep(63)), &into); err != nil {
		t.Errorf("nesting of 64: %v", err)
	}
}

func TestNoBody(t *testing.T) {
	var into none
	for _, body := range []string{"", " ", "{}", " {} "} {
		if err := Decode([]byte(body), &into); err != nil {
			t.Errorf("%q: %v", body, err)
		}
	}
	if err := Decode([]byte(`{"a":1}`), &into); fault.CodeOf(err) != fault.ValidationFailed {
		t.Errorf("a member for none: %v", err)
	}
}

func TestDecodeKeepsNoReferenceToTheBody(t *testing.T) {
	type text struct {
		Content *string `json:"content" check:"required"`
		Raw     any     `json:"raw"`
	}
	for _, size := range []int{10, 1 << 20} {
		for _, unit := range []string{
			"x", "\n", "é", "😀", `"`, "\u2028", "\x01\t\r\b\f\\/",
		} {
			want := strings.Repeat(unit, size/len(unit))
			quoted, _ := json.Marshal(want)
			body := append(append([]byte(`{"raw":"abc","content":`), quoted...), '}')
			var into text
			if err := Decode(body, &into); err != nil {
				t.Fatal(err)
			}
			for i := range body {
				body[i] = 'Z'
			}
			if *into.Content != want || into.Raw != "abc" {
				t.Errorf("%q ×%d changed", unit, size)
			}
		}
	}
	escaped := `{"content":"` + strings.Repeat(`\u0041\ud83d\uDE00\u00e9\u20AC\/`, 9000) + `"}`
	var into text
	if err := Decode([]byte(escaped), &into); err != nil ||
		*into.Content != strings.Repeat("A😀é€/", 9000) {
		t.Error("escapes of a large string", err)
	}
	if err := Decode([]byte(`{"content":5,"raw":"`+strings.Repeat("a", largeBody)+`"}`),
		&text{}); fieldsOf(t, err)[0].Field != "content" {
		t.Error(err)
	}
}

func TestLargeStringsAreCopiedOnce(t *testing.T) {
	type text struct {
		Content *string `json:"content"`
	}
	body := []byte(`{"content":"` + strings.Repeat(`line of text\n`, 80000) + `"}`)
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			var into text
			if err := Decode(body, &into); err != nil {
				b.Fatal(err)
			}
		}
	})
	if got := result.AllocedBytesPerOp(); got > int64(len(body))*11/10 {
		t.Errorf("%d bytes allocated for a body of %d", got, len(body))
	}
}

// TestListsOfAbsentMembers is about the cost of many elements that leave members out in a large
// body: it must not be the product of both.
func TestListsOfAbsentMembers(t *testing.T) {
	type element struct {
		Title string `json:"title" check:"chars=1..20"`
		Kind  string `json:"kind" check:"chars=1..20"`
	}
	type list struct {
		Content *string   `json:"content"`
		List    []element `json:"list"`
	}
	took := func(elements int) time.Duration {
		body := []byte(`{"content":"` + strings.Repeat("line of text ", 200_000) + `","list":[` +
			strings.Repeat(`{"title":"one"},`, elements-1) + `{"title":"one"}]}`)
		best := time.Hour
		for range 3 {
			began := time.Now()
			if err := Decode(body, new(list)); err != nil {
				t.Fatal(err)
			}
			best = min(best, time.Since(began))
		}
		return best
	}
	if one, many := took(1), took(400); many > 8*one {
		t.Errorf("a list of 400 takes %v, of one %v", many, one)
	}
}

func TestDeclarationsThatPanic(t *testing.T) {
	for _, one := range []any{
		struct {
			A string `json:"a" check:"wrong"`
		}{},
		struct {
			A string `json:"a" check:"chars=5..1"`
		}{},
		struct {
			A string `json:"a" each:"chars=0..1"`
		}{},
		struct{ A string }{},
		struct {
			A chan int `json:"a"`
		}{},
		struct {
			A []byte `json:"a"`
		}{},
	} {
		for attempt := range 2 {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("attempt %d: %T compiled", attempt, one)
					}
				}()
				Compile(reflect.TypeOf(one))
			}()
		}
	}
}

func TestSchemaAgreesWithDecode(t *testing.T) {
	schema := compileSchema(t, SchemaOf(reflect.TypeFor[richRequest](), Request, ""))
	prj := id.New(1, [10]byte{2}).Format(id.Project)
	for _, body := range []string{
		`{` + good + `}`, `{}`, `{` + good + `,"x":1}`, `{` + good + `,"project":"` + prj + `"}`,
		`{` + good + `,"project":"x"}`, `{` + good + `,"count":501}`, `{` + good + `,"count":"5"}`,
		`{` + good + `,"operations":[{"op":"PUT","path":"a"}]}`, `{` + good + `,"operations":[]}`,
		`{` + good + `,"operations":[{"op":"P","path":"a"}]}`, `{` + good + `,"topics":["A"]}`,
		`{` + good + `,"topics":["a"],"labels":{"a":"b"}}`, `{` + good + `,"note":null}`,
		`{` + good + `,"inner":null,"place":{"n":3}}`, `{` + good + `,"inner":{"n":10}}`,
		`{` + good + `,"labels":{"a":1}}`, `{` + good + `,"flag":null}`, `{` + good + `,"note":"a"}`,
	} {
		var into richRequest
		decodeErr := Decode([]byte(body), &into)
		value, err := validator.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(body, `"flag"`) > 1 {
			continue
		}
		if schemaErr := schema.Validate(value); (schemaErr == nil) != (decodeErr == nil) {
			t.Errorf("%s: decode %v, schema %v", body, decodeErr, schemaErr)
		}
	}
}

func compileSchema(t *testing.T, document Object) *validator.Schema {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource("mem:///one", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("mem:///one")
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return schema
}

type listResponse struct {
	Items  []inner  `json:"items"`
	Cursor *string  `json:"next_cursor"`
	Gone   string   `json:"gone,omitempty"`
	Own    selfMade `json:"own"`
}

type selfMade struct{}

func (selfMade) JSONSchema() map[string]any { return map[string]any{"type": "string"} }

func TestResponseSchemaIsDeterministic(t *testing.T) {
	want := `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"/l",` +
		`"$ref":"#/$defs/ListResponse","$defs":{"Inner":{"type":"object","properties":{` +
		`"deep":{"anyOf":[{"$ref":"#/$defs/Inner"},{"type":"null"}]},` +
		`"n":{"type":"integer","minimum":1,"maximum":9}},"required":["deep","n"]},` +
		`"ListResponse":{"type":"object","properties":{"items":{"type":"array","items":` +
		`{"$ref":"#/$defs/Inner"}},"next_cursor":{"description":"Null at the end.",` +
		`"type":["string","null"]},"gone":{"type":"string"},"own":{"type":"string"}},` +
		`"required":["items","next_cursor","own"]}}}`
	Describe(reflect.TypeFor[listResponse]().PkgPath(), "listResponse.Cursor Null at the end.\n")
	document := SchemaOf(reflect.TypeFor[listResponse](), Response, "/l")
	got, err := json.Marshal(document)
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
	compileSchema(t, document)
	all := NewSchemas("#/$defs/")
	all.Add(reflect.TypeFor[listResponse](), Response)
	all.Add(reflect.TypeFor[*listResponse](), Request)
	names := strings.Join(all.Names(), " ")
	if names != "Inner InnerInput ListResponse ListResponseInput" {
		t.Error(names)
	}
	for _, name := range all.Names() {
		compileSchema(t, all.Document("mem:///"+name, name))
	}
	if all.Document("x", "absent") != nil {
		t.Error("a document without a definition")
	}
}

func TestAppendString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		sameString(t, s)
		sameString(t, rapid.String().Draw(t, "text"))
	})
	for c := range 256 {
		for i := range 17 {
			s := strings.Repeat("a", i) + string([]byte{byte(c)}) + "tail of the string"
			sameString(t, s)
		}
	}
}

func sameString(t interface{ Fatalf(string, ...any) }, s string) {
	out := AppendString([]byte("x"), s)
	var got string
	if err := json.Unmarshal(out[1:], &got); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && got != want {
		t.Fatalf("%q became %q", s, got)
	}
	var viaStd string
	std, _ := json.Marshal(s)
	_ = json.Unmarshal(std, &viaStd)
	if got != viaStd {
		t.Fatalf("%q became %q, encoding/json makes %q", s, got, viaStd)
	}
	if jsonv2.Unmarshal(out[1:], &got) != nil {
		t.Fatalf("%q is not strict: %s", s, out[1:])
	}
}

func TestAppendTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		millis := rapid.Int64Range(millisMin, millisMax).Draw(t, "millis")
		want := time.UnixMilli(millis).UTC().Format(`"2006-01-02T15:04:05.000Z"`)
		if got := string(AppendTime(nil, millis)); got != want {
			t.Fatalf("%d: %s, want %s", millis, got, want)
		}
	})
	for day := int64(millisMin); day < millisMax; day += 11 * 24 * 60 * 60 * 1000 {
		want := time.UnixMilli(day).UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`)
		if got := AppendTime(nil, day); !bytes.Equal(got, want) {
			t.Fatalf("%d: %s, want %s", day, got, want)
		}
	}
	for _, far := range []int64{-1 << 63, 1<<63 - 1} {
		if got := AppendTime(nil, far); len(got) != 26 {
			t.Errorf("%d: %s", far, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{` + good + `}`))
	f.Add([]byte(`{` + good + `,"operations":[{"op":"PUT","path":"a","content":"\n"}],"extra":[1]}`))
	f.Add([]byte(`{` + good + `,"topics":["a"],"labels":{"a":""},"place":{"n":1},"count":1.5}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var into richRequest
		err := Decode(body, &into)
		if err != nil {
			if code := fault.CodeOf(err); code != fault.InvalidJSON &&
				code != fault.ValidationFailed {
				t.Fatal(err)
			}
			return
		}
		again, err := jsonv2.Marshal(&into)
		if err != nil {
			t.Fatal(err)
		}
		root := use{plan: planOf(reflect.TypeFor[richRequest]()), check: noCheck}
		faults := collect(body, &root, reflect.Value{})
		if len(faults) > 0 || Strict(body, DepthMax) != nil {
			t.Fatalf("%q: the quick way accepted what has faults %v", body, faults)
		}
		// Absent members are written as zero values, which bounds may refuse; everything else must
		// come back as it was.
		var second richRequest
		if err := jsonv2.Unmarshal(again, &second, strict); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		third, err := jsonv2.Marshal(&second, jsonv2.Deterministic(true))
		first, _ := jsonv2.Marshal(&into, jsonv2.Deterministic(true))
		if err != nil || !bytes.Equal(first, third) {
			t.Fatalf("%s became %s: %v", first, third, err)
		}
		var std richRequest
		if err := json.Unmarshal(body, &std); err != nil {
			t.Fatalf("accepted %q: %v", body, err)
		}
	})
}

func FuzzAppendString(f *testing.F) {
	f.Add("plain", 3)
	f.Fuzz(func(t *testing.T, s string, _ int) { sameString(t, s) })
}

func BenchmarkAppendString1KiB(b *testing.B) {
	text := strings.Repeat("func main() { return nil }\n", 40)[:1024]
	dst := make([]byte, 0, 4096)
	b.SetBytes(1024)
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendString(dst[:0], text)
	}
}

func BenchmarkAppendTime(b *testing.B) {
	dst := make([]byte, 0, 64)
	for b.Loop() {
		dst = AppendTime(dst[:0], 1_763_600_000_123)
	}
}

func BenchmarkDecode300B(b *testing.B) {
	type put struct {
		Content     *string `json:"content" check:"required,content"`
		ContentType string  `json:"content_type" check:"chars=1..200,line"`
		Message     string  `json:"message" check:"chars=1..500,text"`
	}
	body := []byte(`{"content":"` + strings.Repeat("abcdefgh\\n", 30) +
		`","content_type":"text/plain"}`)
	b.ReportAllocs()
	for b.Loop() {
		var into put
		if err := Decode(body, &into); err != nil {
			b.Fatal(err)
		}
	}
}

// TestBoundsWithoutAMinimum: a list that may be empty for this check may not be for the rules.
func TestBoundsWithoutAMinimum(t *testing.T) {
	for words, want := range map[string]string{
		"items=0..100": "must have at most 100 items", "items=1..100": "must have 1 to 100 items",
	} {
		if got := CompileCheck(words).Items(101); got != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
}
