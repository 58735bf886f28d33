package disk_test

import (
	"reflect"
	"strings"
	"testing"

	"pws/internal/disk"
)

// The methods of a Reader, with comparable results.
var readerParts = map[string]func(r *disk.Reader) any{
	"fixed0":  func(r *disk.Reader) any { return r.Fixed(0) },
	"fixed3":  func(r *disk.Reader) any { return r.Fixed(3) },
	"byte":    func(r *disk.Reader) any { return r.Byte() },
	"uvarint": func(r *disk.Reader) any { return r.Uvarint() },
	"varint":  func(r *disk.Reader) any { return r.Varint() },
	"count":   func(r *disk.Reader) any { return r.Count() },
	"bytes":   func(r *disk.Reader) any { return r.Bytes() },
	"text":    func(r *disk.Reader) any { return r.Text() },
}

func TestReader(t *testing.T) {
	ones := strings.Repeat("\xff", 9)
	for _, c := range []struct {
		part, from string
		want       any
		left       string
	}{
		{"fixed0", "", []byte{}, ""},
		{"fixed3", "abc", []byte("abc"), ""},
		{"fixed3", "abcd", []byte("abc"), "d"},
		{"byte", "ab", byte('a'), "b"},
		{"uvarint", "\x00a", uint64(0), "a"},
		{"uvarint", "\xac\x02a", uint64(300), "a"},
		{"uvarint", ones + "\x01a", uint64(1<<64 - 1), "a"},
		{"varint", "\x01a", int64(-1), "a"},
		{"varint", "\xd8\x04a", int64(300), "a"},
		{"varint", ones + "\x01a", int64(-1 << 63), "a"},
		{"count", "\x00", uint64(0), ""},
		{"count", "\x02ab", uint64(2), "ab"},
		{"bytes", "\x00a", []byte(nil), "a"},
		{"bytes", "\x02abc", []byte("ab"), "c"},
		{"text", "\x00a", "", "a"},
		{"text", "\x02abc", "ab", "c"},
	} {
		r := disk.NewReader([]byte(c.from))
		got := readerParts[c.part](&r)
		left := r.Len()
		if !reflect.DeepEqual(got, c.want) || r.Failed() || left != len(c.left) ||
			string(r.Fixed(left)) != c.left {
			t.Errorf("%s of %q: %#v, %d left, failed: %v", c.part, c.from, got, left, r.Failed())
		}
	}
}

func TestReaderFails(t *testing.T) {
	zeros := map[string]any{
		"fixed3": []byte{0, 0, 0}, "byte": byte(0), "uvarint": uint64(0), "varint": int64(0),
		"count": uint64(0), "bytes": []byte(nil), "text": "",
	}
	unended, overlong := "\x80\x80", strings.Repeat("\xff", 9)+"\x02abc"
	for _, c := range []struct {
		part string
		from []string
	}{
		{"fixed3", []string{"", "ab"}},
		{"byte", []string{""}},
		{"uvarint", []string{"", unended, overlong}},
		{"varint", []string{"", unended, overlong}},
		{"count", []string{"", unended, overlong, "\x01", "\x03ab"}},
		{"bytes", []string{"", unended, overlong, "\x01", "\x03ab"}},
		{"text", []string{"", unended, overlong, "\x01", "\x03ab"}},
	} {
		for _, from := range c.from {
			r := disk.NewReader([]byte(from))
			if got := readerParts[c.part](&r); !reflect.DeepEqual(got, zeros[c.part]) ||
				!r.Failed() || r.Len() != 0 {
				t.Errorf("%s of %q: %#v, %d left, failed: %v", c.part, from, got, r.Len(),
					r.Failed())
			}
		}
	}
	// After a failure there is nothing left, whatever follows.
	for part, zero := range zeros {
		r := disk.NewReader([]byte("\x01abc"))
		r.Fail()
		if got := readerParts[part](&r); !reflect.DeepEqual(got, zero) || !r.Failed() {
			t.Errorf("%s after a failure: %#v", part, got)
		}
	}
}

func TestReaderPartsAreIndependent(t *testing.T) {
	from := []byte("\x01abc")
	r := disk.NewReader(from)
	_ = append(r.Bytes(), 'x')
	_ = append(r.Fixed(1), 'y')
	if string(from) != "\x01abc" || r.Byte() != 'c' {
		t.Errorf("an append to a part left %q", from)
	}
}
