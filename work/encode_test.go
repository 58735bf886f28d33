package work

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/id"
)

func drawID(t *rapid.T, label string) (out id.ID) {
	copy(out[:], rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, label))
	return out
}

// The short way to the bytes of a changeset and the encoder for all events agree to the byte.
func TestChangesetBytesAreThoseOfTheEncoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		event := &ChangesetPublished{
			ID: drawID(t, "id"), Message: rapid.String().Draw(t, "message"),
			Source:   Source(rapid.IntRange(1, 9).Draw(t, "source")),
			SourceID: drawID(t, "source id"),
		}
		for range rapid.IntRange(0, 30).Draw(t, "ops") {
			op := OpRecord{
				Action: Action(rapid.IntRange(1, 4).Draw(t, "action")),
				Path:   rapid.String().Draw(t, "path"), From: rapid.String().Draw(t, "from"),
				Size: rapid.IntRange(0, 1<<33).Draw(t, "size"), Type: rapid.String().Draw(t, "type"),
			}
			copy(op.Blob[:], rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, "blob"))
			event.Ops = append(event.Ops, op)
		}
		want, err := encoding.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := EncodeEvent(nil, event); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("got  %x, %v\nwant %x", got, err, want)
		}
	})
}

// TestHeadKeysAreUnique: the encoder omits both fields of a key that two embedded structs use.
func TestHeadKeysAreUnique(t *testing.T) {
	owners := map[string]string{}
	var collect func(of reflect.Type)
	collect = func(of reflect.Type) {
		for i := range of.NumField() {
			field := of.Field(i)
			tag := field.Tag.Get("cbor")
			if tag == "" {
				collect(field.Type)
				continue
			}
			key, _, _ := strings.Cut(tag, ",")
			name := of.Name() + "." + field.Name
			if other, taken := owners[key]; taken {
				t.Errorf("%s and %s have the key %s", other, name, key)
			}
			owners[key] = name
		}
	}
	collect(reflect.TypeFor[headRecord]())
}
