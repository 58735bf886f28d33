package api

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"

	"pws/api/jsonschema"
)

// answerFiller sets the fields of an answer at random.
type answerFiller struct{ dice *rand.Rand }

var answerTexts = []string{
	"", "plain", "a \"quoted\" \\ text\n\t\x01", "ä€😀", "\u2028 <tag> & more", "12345678901234567890",
}

func (f answerFiller) fill(v reflect.Value, depth int) {
	switch v.Type() {
	case reflect.TypeFor[Time]():
		v.SetInt(f.dice.Int64N(4_000_000_000_000))
		return
	case reflect.TypeFor[Custom]():
		v.Set(reflect.ValueOf(Custom{text: []byte(`{"own":"data"}`)}))
		return
	}
	switch v.Kind() {
	case reflect.Slice:
		if isRawJSON(v.Type()) {
			v.SetBytes([]byte(`{"raw":[1,null]}`))
			return
		}
		f.fillList(v, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Field(i)
			if field.CanSet() && f.dice.IntN(4) > 0 {
				f.fill(field, depth)
			}
		}
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.dice.IntN(4) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.SetString(answerTexts[f.dice.IntN(len(answerTexts))])
			f.fill(value, depth-1)
			v.SetMapIndex(key, value)
		}
	case reflect.Interface:
		if v.NumMethod() == 0 && depth > 0 {
			v.Set(reflect.ValueOf(map[string]any{"b": 1.5, "a": []any{"x", nil, true}}))
		}
	case reflect.String:
		v.SetString(answerTexts[f.dice.IntN(len(answerTexts))])
	case reflect.Bool:
		v.SetBool(f.dice.IntN(2) == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(int8(f.dice.Uint64())))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(uint8(f.dice.Uint64())))
	case reflect.Float64:
		v.SetFloat(f.dice.Float64() * 1000)
	}
}

// isRawJSON reports whether values are lists of bytes. All of these in answers are JSON, which is
// never empty.
func isRawJSON(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func (f answerFiller) fillList(v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), f.dice.IntN(4), 4))
	for i := range v.Len() {
		f.fill(v.Index(i), depth-1)
	}
}

// TestAnswersAreWrittenAsByTheLibrary compares random answers of all operations, byte for byte.
func TestAnswersAreWrittenAsByTheLibrary(t *testing.T) {
	for _, op := range Table {
		if op.Response == nil || op.Response.Kind() != reflect.Struct || op.Response.NumField() == 0 {
			continue
		}
		compared := 0
		for seed := range 100 {
			f := answerFiller{rand.New(rand.NewPCG(uint64(seed), 1))}
			value := reflect.New(op.Response).Elem()
			f.fill(value, 6)
			want, err := json.Marshal(value.Interface(), json.Deterministic(true))
			if err != nil {
				// Something raw was left empty.
				continue
			}
			compared++
			var got bytes.Buffer
			known, err := jsonschema.Write(&got, value.Interface())
			if !known || err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%s, seed %d: %v, %v\n%s\n%s", op.Name, seed, known, err, got.Bytes(), want)
				break
			}
			if got := jsonschema.Append(nil, value.Addr().Interface()); !bytes.Equal(got, want) {
				t.Errorf("%s, seed %d: Append writes %s", op.Name, seed, got)
			}
		}
		if compared < 10 {
			t.Errorf("%s: only %d answers were compared", op.Name, compared)
		}
	}
}

// TestLargeAnswersAreWrittenInParts has a writer that refuses a part: nothing is written AFTER
// that.
func TestLargeAnswersAreWrittenInParts(t *testing.T) {
	type list struct {
		Texts []string `json:"texts"`
	}
	var data list
	for i := range 5000 {
		data.Texts = append(data.Texts, fmt.Sprint("text ", i))
	}
	want, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	w := &refusing{after: 1 << 20}
	if _, err := jsonschema.Write(w, data); err != nil || !bytes.Equal(w.got, want) || w.parts < 5 {
		t.Errorf("%d parts, %d bytes of %d, %v", w.parts, len(w.got), len(want), err)
	}
	if w.largest > 16<<10 {
		t.Errorf("a part of %d bytes", w.largest)
	}
	w = &refusing{after: 20_000}
	if _, err := jsonschema.Write(w, data); err != errRefused || w.late {
		t.Errorf("%v; written afterwards: %v", err, w.late)
	}
}

var errRefused = fmt.Errorf("no more room")

// refusing is a writer that refuses what is more than some bytes.
type refusing struct {
	got                   []byte
	after, parts, largest int
	refused, late         bool
}

func (r *refusing) Write(p []byte) (int, error) {
	r.late = r.late || r.refused
	if len(r.got)+len(p) > r.after {
		r.refused = true
		return 0, errRefused
	}
	r.parts++
	r.largest = max(r.largest, len(p))
	r.got = append(r.got, p...)
	return len(p), nil
}
