package id

import (
	"regexp"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

func TestParseFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want ID
		copy(want[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
		text := want.Format(Project)
		if !regexp.MustCompile(Pattern(Project)).MatchString(text) {
			t.Fatalf("%q does not match its pattern", text)
		}
		if standard := strings.ToLower(ulid.ULID(want).String()); text[4:] != standard {
			t.Fatalf("%q, the ULID is %q", text, standard)
		}
		got, ok := Parse(Project, text)
		if !ok || got != want {
			t.Fatalf("Parse(%q) = %v, %v", text, got, ok)
		}
	})
}

func TestParseRejects(t *testing.T) {
	good := New(1, [10]byte{1}).Format(Project)
	for _, text := range []string{
		"", "prj_", good[4:], "chg_" + good[4:], good + "0", good[:len(good)-1],
		"prj_0000000000000000000000000A", "prj_0000000000000000000000000u",
		"prj_8zzzzzzzzzzzzzzzzzzzzzzzzz", "prj_0000000000000000000000000\x00",
	} {
		if got, ok := Parse(Project, text); ok {
			t.Errorf("Parse(%q) = %v, want refused", text, got)
		}
	}
}

func TestTimeAndOrder(t *testing.T) {
	at := int64(1_763_600_000_123)
	first := New(at, [10]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 254})
	if first.Millis() != at {
		t.Fatalf("Millis = %d", first.Millis())
	}
	next := first.Next()
	if first.Compare(next) >= 0 || next.Millis() != at {
		t.Fatalf("Next of %v = %v", first, next)
	}
	if next.Next().Millis() != at+1 {
		t.Fatalf("the carry of a full entropy goes into the time")
	}
}

func BenchmarkAppend(b *testing.B) {
	buffer := make([]byte, 0, 64)
	for b.Loop() {
		buffer = ID{1, 2, 3, 15: 9}.Append(buffer[:0], Project)
	}
}
