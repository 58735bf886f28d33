package sizelimit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pws/api/jsonschema"
)

// decode reads a document strictly enough for these tests.
func decode(t rapid.TB, text []byte) map[string]any {
	t.Helper()
	if !utf8.Valid(text) {
		t.Fatalf("not UTF-8: %q", text)
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return object
}

// texts are strings whose JSON is longer than they are, for some.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringN(0, 300, -1),
		rapid.Map(rapid.IntRange(0, 200), func(n int) string { return strings.Repeat(`"\`, n) }),
		rapid.Map(rapid.IntRange(0, 100), func(n int) string { return strings.Repeat("\u0001", n) }),
		rapid.Map(rapid.IntRange(0, 2000), func(n int) string { return strings.Repeat("😀", n) }),
	)
}

// object is a wire struct that loses its parts.
type object struct {
	ID   int      `json:"id"`
	Text string   `json:"text" size:"cut"`
	Form Form     `json:"form"`
	Rest []string `json:"rest,omitzero" size:"rest"`
}

func record(id int, text string, rest []string) Record {
	return Record{Chars: 50, Make: func(form Form) (any, bool) {
		if form != Full {
			return &object{ID: id, Text: text, Form: form}, false
		}
		return &object{ID: id, Text: text, Rest: rest}, false
	}}
}

// document has lists, a value, and an object with a list of its own.
type document struct {
	First     int        `json:"first"`
	A         []any      `json:"a,omitzero"`
	B         []any      `json:"b,omitzero"`
	Value     string     `json:"value,omitzero"`
	Inner     *innerPart `json:"inner,omitzero"`
	Gone      *innerPart `json:"gone,omitzero"`
	Fixed     string     `json:"fixed,omitzero" size:"fixed"`
	Truncated []string   `json:"truncated_sections,omitzero"`
	Chars     int        `json:"approximate_chars"`
}

type innerPart struct {
	Must bool  `json:"must"`
	C    []any `json:"c,omitzero"`
}

// newDocument is one with its places: two lists, one of the object, and the one value.
func newDocument() (*Document, []*Place) {
	o := &document{Inner: new(innerPart), Fixed: "text"}
	d := New(o, &o.Truncated)
	return d, []*Place{d.Place(&o.A), d.Place(&o.B), d.Place(&o.Inner.C), d.Place(&o.Value)}
}

func items() *rapid.Generator[Item] {
	return rapid.Custom(func(t *rapid.T) Item {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			chars := rapid.SampledFrom([]int{5, 200, Unlimited}).Draw(t, "chars")
			return Text{texts().Draw(t, "text"), chars}
		case 1:
			return Raw(jsonschema.AppendString(nil, texts().Draw(t, "raw")))
		}
		return record(rapid.IntRange(0, 1e6).Draw(t, "id"), texts().Draw(t, "member"),
			rapid.SliceOfN(texts(), 0, 3).Draw(t, "list"))
	})
}

// filled is a document with sections that fill its places; several fill one list.
func filled(t *rapid.T) (*Document, []Section) {
	d, places := newDocument()
	var sections []Section
	value := false
	for n := range rapid.IntRange(0, 8).Draw(t, "sections") {
		s := Section{
			Name:  rapid.SampledFrom([]string{"", "a", "b", fmt.Sprint(n)}).Draw(t, "name"),
			Share: rapid.IntRange(0, 40).Draw(t, "share"),
			Lost:  rapid.Bool().Draw(t, "lost"),
		}
		for _, item := range rapid.SliceOfN(items(), 0, 8).Draw(t, "items") {
			_, isRecord := item.(Record)
			line := isRecord && s.Share > 0 && rapid.Bool().Draw(t, "line")
			at := rapid.IntRange(0, 3).Draw(t, "place")
			if at == 3 && value {
				at = 0
			}
			value = value || at == 3
			s.Entries = append(s.Entries, Entry{Place: places[at], Item: item, Line: line})
		}
		sections = append(sections, s)
	}
	return d, sections
}

// TestNeverTooLong: the text is JSON, never longer than it may be, says how long it is, and names
// exactly the sections that lost something.
func TestNeverTooLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, sections := filled(t)
		least := len(d.fixed) + 60
		for i := range sections {
			least += reserve(&sections[i])
		}
		most := least + rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 20_000)).Draw(t, "more")
		declared := slices.Clone(sections)
		text := d.Build(most, sections)
		if len(text) > most {
			t.Fatalf("%d bytes, at most %d may be: %s", len(text), most, text)
		}
		got := decode(t, text)
		if got["approximate_chars"] != float64(len(text)) || got["fixed"] != "text" {
			t.Fatalf("%v, not %d: %s", got["approximate_chars"], len(text), text)
		}
		checkLost(t, got, declared)
	})
}

// checkLost compares what is there with what was entered.
func checkLost(t *rapid.T, got map[string]any, declared []Section) {
	whole := map[string]bool{}
	for i := range declared {
		s := &declared[i]
		lost := s.Lost
		for _, entry := range s.Entries {
			full, fit := entry.Item.Append(nil, Unlimited)
			lost = lost || fit != Whole || !bytes.Equal(entry.text, full)
		}
		if before, seen := whole[s.Name]; !seen || before {
			whole[s.Name] = !lost
		}
	}
	var want []string
	for name, all := range whole {
		if name != "" && !all {
			want = append(want, name)
		}
	}
	named := []string{}
	list, _ := got["truncated_sections"].([]any)
	for _, name := range list {
		named = append(named, fmt.Sprint(name))
	}
	slices.Sort(want)
	slices.Sort(named)
	if !slices.Equal(named, want) {
		t.Fatalf("named %v, lost %v", named, want)
	}
}

// TestAppendTextFits: a text is never longer than it may be, and what is there of it is its
// beginning.
func TestAppendTextFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := texts().Draw(t, "text")
		chars := rapid.IntRange(1, 300).Draw(t, "chars")
		room := rapid.IntRange(-10, 700).Draw(t, "room")
		out, fit := AppendText([]byte("before"), text, chars, room)
		written := out[len("before"):]
		if fit == Missing {
			if len(written) > 0 || room >= 6*textBytesMin+len(ellipsis)+2 {
				t.Fatalf("missing in %d bytes: %q", room, written)
			}
			return
		}
		if len(written) > room {
			t.Fatalf("%d bytes in %d", len(written), room)
		}
		var got string
		if err := json.Unmarshal(written, &got); err != nil {
			t.Fatal(err)
		}
		if utf8.RuneCountInString(got) > chars && fit != Whole {
			t.Fatalf("%d characters", utf8.RuneCountInString(got))
		}
		kept := strings.TrimSuffix(got, ellipsis)
		if fit == Whole && got != text || fit != Whole && !strings.HasPrefix(text, kept) {
			t.Fatalf("%q is no beginning of %q", got, text)
		}
	})
}

// TestJSONBytes: the measure is that of the writer, for what is not UTF-8 too.
func TestJSONBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string {
			return string(b)
		})).Draw(t, "text")
		size := len(jsonschema.AppendString(nil, text)) - len(`""`)
		if got := within(text, size); got != text {
			t.Fatalf("%q does not fit its own size", text)
		}
		if got := within(text, size-1); text != "" && got == text {
			t.Fatalf("%q fits too little", text)
		}
	})
}

func TestTextsAreShortened(t *testing.T) {
	for _, c := range []struct {
		text  string
		chars int
		want  string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöü", 3, "äöü"}, {"äöüß", 3, "äö…"},
		{"abcd", 1, "…"}, {"😀😀", 2, "😀😀"},
	} {
		if got := Shorten(c.text, c.chars); got != c.want {
			t.Errorf("Shorten(%q, %d) = %q, not %q", c.text, c.chars, got, c.want)
		}
	}
}

// TestFirstSectionGetsTheSurplus: of two sections with too much the first has more, and the second
// has its share.
func TestFirstSectionGetsTheSurplus(t *testing.T) {
	d, places := newDocument()
	sections := []Section{{Name: "one", Share: 30}, {Name: "two", Share: 20}}
	for range 100 {
		text := Text{strings.Repeat("x", 90), Unlimited}
		for i := range sections {
			sections[i].Entries = append(sections[i].Entries, Entry{Place: places[i], Item: text})
		}
	}
	text := d.Build(2000, sections)
	one, two := places[0].count, places[1].count
	if len(text) < 1900 || one < 2*two || two < 3 {
		t.Fatalf("%d and %d items in %d bytes", one, two, len(text))
	}
}

// TestFirstItemIsCut: the only long item of a section has all the room that there is.
func TestFirstItemIsCut(t *testing.T) {
	d, places := newDocument()
	text := d.Build(1000, []Section{{
		Name: "one", Share: 10, Entries: []Entry{
			{Place: places[0], Item: Text{strings.Repeat("x", 5000), Unlimited}},
		},
	}})
	if list, _ := decode(t, text)["a"].([]any); len(text) < 980 || len(list) != 1 {
		t.Fatalf("%d bytes: %s", len(text), text)
	}
}

// TestSharedList: of a list of two sections the first one's items come first, also where its first
// item was cut to the share and written again.
func TestSharedList(t *testing.T) {
	d, places := newDocument()
	sections := []Section{{Share: 10}, {Share: 10}}
	for i := range sections {
		text := Text{fmt.Sprint(i) + strings.Repeat("x", 300), Unlimited}
		sections[i].Entries = []Entry{{Place: places[2], Item: text}}
	}
	inner, _ := decode(t, d.Build(2000, sections))["inner"].(map[string]any)
	list, _ := inner["c"].([]any)
	if len(list) != 2 || len(fmt.Sprint(list...)) != 602 || fmt.Sprint(list[0])[0] != '0' {
		t.Fatalf("%v", list)
	}
}

// TestShortObjects: where one object is too large, it and those behind it are short.
func TestShortObjects(t *testing.T) {
	d, places := newDocument()
	s := Section{Name: "one", Share: 10}
	for n := range 20 {
		rest := []string{strings.Repeat("r", 10)}
		if n == 2 {
			rest[0] = strings.Repeat("r", 5000)
		}
		s.Entries = append(s.Entries, Entry{Place: places[0], Item: record(n, "text", rest)})
	}
	list, _ := decode(t, d.Build(2000, []Section{s}))["a"].([]any)
	if len(list) != 20 {
		t.Fatalf("%d objects", len(list))
	}
	for n, one := range list {
		if object, _ := one.(map[string]any); object["form"] != float64(min(max(n-1, 0), 1)) {
			t.Errorf("object %d has the form %v", n, object["form"])
		}
	}
}

// TestShortLinesComeBeforeWholeOnes: lines are short until all sections had their turn; then the
// first ones are whole as far as there is room, and what is missing is named.
func TestShortLinesComeBeforeWholeOnes(t *testing.T) {
	build := func(most int) (list []any, names any) {
		d, places := newDocument()
		sections := []Section{{Name: "one", Share: 50}, {Name: "two", Share: 1}}
		for n := range 20 {
			rest := []string{strings.Repeat("r", 100)}
			sections[0].Entries = append(sections[0].Entries,
				Entry{Place: places[0], Item: record(n, "text", rest), Line: n > 1})
			sections[1].Entries = append(sections[1].Entries,
				Entry{Place: places[1], Item: Raw(`"0123456789"`)})
		}
		got := decode(t, d.Build(most, sections))
		if others, _ := got["b"].([]any); len(others) != 20 {
			t.Fatalf("in %d bytes %d of the others", most, len(others))
		}
		list, _ = got["a"].([]any)
		return list, got["truncated_sections"]
	}
	for _, c := range []struct{ most, whole int }{{1500, 2}, {2000, 5}, {5000, 20}} {
		list, names := build(c.most)
		whole := 0
		for _, one := range list {
			if object, _ := one.(map[string]any); object["rest"] != nil {
				whole++
			}
		}
		if len(list) != 20 || whole < c.whole || (names == nil) != (whole == 20) {
			t.Errorf("in %d bytes %d objects, %d whole, lost %v", c.most, len(list), whole, names)
		}
	}
}

// TestRecordShrinks: an object loses its rest before its text, and its text before itself.
func TestRecordShrinks(t *testing.T) {
	record := record(7, strings.Repeat("t", 40), []string{strings.Repeat("r", 40)})
	for _, c := range []struct {
		room int
		fit  Fit
		keys int
	}{{200, Whole, 4}, {100, Cut, 3}, {80, Cut, 3}, {60, Cut, 3}, {40, Missing, 0}} {
		out, fit := record.Append(nil, c.room)
		if fit != c.fit || len(out) > c.room {
			t.Errorf("in %d bytes: %v, %s", c.room, fit, out)
			continue
		}
		if c.keys > 0 && len(decode(t, out)) != c.keys {
			t.Errorf("in %d bytes: %s", c.room, out)
		}
	}
}

// TestTotalCountsItself: the length counts its own digits, across each power of ten.
func TestTotalCountsItself(t *testing.T) {
	for _, bytes := range []int{0, 8, 9, 96, 97, 98, 995, 996, 997, 9994, 9995, 9996, 99_994} {
		got := total(bytes)
		if got != bytes+len(fmt.Sprint(got)) {
			t.Errorf("total(%d) = %d", bytes, got)
		}
	}
}
