package fieldtest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

type inner struct {
	Text string
	yes  bool
}

type outer struct {
	inner
	Number int8
	Hash   [2]byte
	Pair   [2]uint16
	Texts  []string
	To     *inner
	Self   *outer
	List   []*inner
	raw    []byte
	call   func()
}

func TestChanged(t *testing.T) {
	to := &inner{Text: "t"}
	texts := []string{"a", "b"}[:1]
	record := outer{
		inner: inner{yes: true}, Number: 7, Texts: texts, To: to, raw: []byte{1}, call: t.FailNow,
	}
	plain := record
	plain.call = nil
	var paths []string
	Changed(record, func(leaf Leaf, changed outer) {
		paths = append(paths, leaf.Path)
		if changed.call == nil {
			t.Errorf("%s: the function is gone", leaf.Path)
		}
		changed.call = nil
		if reflect.DeepEqual(plain, changed) {
			t.Errorf("%s is not changed: %+v", leaf.Path, changed)
		}
		if leaf.Path == "Number" && (changed.Number != 8 || leaf.Type.Kind() != reflect.Int8) {
			t.Errorf("%v: %+v", leaf, changed)
		}
	})
	want := []string{
		"inner.Text", "inner.yes", "Number", "Hash", "Pair[0]", "Pair[1]", "Texts", "Texts[]",
		"To.Text", "To.yes", "Self", "Self.inner.Text", "Self.inner.yes", "Self.Number",
		"Self.Hash", "Self.Pair[0]", "Self.Pair[1]", "Self.Texts", "Self.Texts[]", "Self.To",
		"Self.To.Text", "Self.To.yes", "Self.List", "Self.List[].Text",
		"Self.List[].yes", "Self.raw", "List", "List[].Text", "List[].yes", "raw",
	}
	if !slices.Equal(paths, want) {
		t.Errorf("%q", paths)
	}
	if to.Text != "t" || texts[:2][1] != "b" || record.To != to {
		t.Error(fmt.Sprint("the record has changed: ", to, texts[:2]))
	}
}
