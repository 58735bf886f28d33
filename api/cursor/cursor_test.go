package cursor

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/fault"
)

func TestDecodeReadsWhatEncodeWrote(t *testing.T) {
	codec := New([]byte("secret"))
	other := New([]byte("another secret"))
	rapid.Check(t, func(t *rapid.T) {
		binding := rapid.String().Draw(t, "binding")
		payload := rapid.SliceOfN(rapid.Byte(), 0, PayloadMax).Draw(t, "payload")
		text := codec.Encode(binding, payload)
		got, err := codec.Decode(binding, text)
		if err != nil || !bytes.Equal(got, payload) {
			t.Fatalf("%v: %x, want %x", err, got, payload)
		}
		foreign := rapid.String().Draw(t, "foreign")
		if _, err := codec.Decode(foreign, text); foreign != binding && !refused(err) {
			t.Fatalf("accepted for %q", foreign)
		}
		if _, err := other.Decode(binding, text); !refused(err) {
			t.Fatal("accepted under another secret")
		}
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		changed := []byte(text)
		changed[at] = rapid.Byte().Draw(t, "byte")
		if _, err := codec.Decode(binding, string(changed)); string(changed) != text &&
			!refused(err) {
			t.Fatalf("accepted %q for %q", changed, text)
		}
	})
}

func refused(err error) bool { return fault.CodeOf(err) == fault.PaginationCursorInvalid }

func TestOneTextForOneCursor(t *testing.T) {
	codec := New([]byte("secret"))
	for size := range 8 {
		text := codec.Encode("b", bytes.Repeat([]byte{7}, size))
		for _, twin := range []string{
			"", text + "=", text + "A", text[:len(text)-1], "\n" + text, text + "\n", " " + text,
			text[:4] + "\r\n" + text[4:], strings.Repeat("A", 2000), "AA", text + text,
		} {
			if _, err := codec.Decode("b", twin); !refused(err) {
				t.Errorf("%q: %v", twin, err)
			}
		}
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		for _, last := range alphabet {
			twin := text[:len(text)-1] + string(last)
			if _, err := codec.Decode("b", twin); twin != text && !refused(err) {
				t.Errorf("%q is a twin of %q", twin, text)
			}
		}
	}
}

func TestPayloadIsBounded(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New(nil).Encode("b", make([]byte, PayloadMax+1))
}

func TestConcurrentUse(t *testing.T) {
	codec := New([]byte("s"))
	done := make(chan string, 8)
	for range cap(done) {
		go func() {
			text := "p"
			for range 200 {
				payload, err := codec.Decode("b", codec.Encode("b", []byte(text)))
				if err != nil {
					text = err.Error()
				} else {
					text = string(payload)
				}
			}
			done <- text
		}()
	}
	for range cap(done) {
		if got := <-done; got != "p" {
			t.Errorf("%q, want p", got)
		}
	}
}

// Comparing cursors must not disclose whether hidden events lie between them.
func TestCursorsHideTheirPayloads(t *testing.T) {
	codec := New([]byte("secret"))
	payload := bytes.Repeat([]byte{0}, 10)
	seen := map[string]bool{}
	ones := make([]int, 8*len(payload))
	const rounds = 2000
	for range rounds {
		text := codec.Encode("b", payload)
		if seen[text] {
			t.Fatalf("%q was issued twice", text)
		}
		seen[text] = true
		raw, err := encoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		for bit := range ones {
			ones[bit] += int(raw[headLen+bit/8]>>(bit%8)) & 1
		}
	}
	// 2,000 throws of a coin are hardly ever 300 away from their half.
	for bit, count := range ones {
		if count < rounds/2-300 || count > rounds/2+300 {
			t.Errorf("bit %d of the payload shows in %d of %d cursors", bit, count, rounds)
		}
	}
}

// TestFrozenCursor reads a cursor that a client has, and refuses it under another version.
func TestFrozenCursor(t *testing.T) {
	const text = "AmtHAEnQ8F98zfJg3eRWl1uRUG0GVTB8Jfdjm3rchqdVkHmX4pFaaw"
	codec := New([]byte("secret"))
	if got, err := codec.Decode("list", text); err != nil || string(got) != "payload" {
		t.Errorf("%q, %v", got, err)
	}
	raw, err := encoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	for raw[0] = range byte(255) {
		if _, err := codec.Decode("list", encoding.EncodeToString(raw)); raw[0] != 2 && !refused(err) {
			t.Errorf("version %d: %v", raw[0], err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	codec := New([]byte("secret"))
	f.Add("b", codec.Encode("b", []byte("payload")))
	f.Add("", "")
	f.Fuzz(func(t *testing.T, binding, text string) {
		payload, err := codec.Decode(binding, text)
		if err != nil {
			if !refused(err) {
				t.Fatal(err)
			}
			return
		}
		again, err := codec.Decode(binding, codec.Encode(binding, payload))
		if err != nil || !bytes.Equal(again, payload) {
			t.Fatalf("%q: %v: %x, want %x", text, err, again, payload)
		}
	})
}

func BenchmarkEncodeDecode(b *testing.B) {
	codec := New([]byte("secret"))
	payload := make([]byte, 24)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := codec.Decode("projects?", codec.Encode("projects?", payload)); err != nil {
			b.Fatal(err)
		}
	}
}
