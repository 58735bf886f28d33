package fieldtest

import (
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

type nested struct {
	Known int `cbor:"1,keyasint,omitempty"`
	New   int `cbor:"2,keyasint,omitempty"`
}

type event struct {
	ID   int      `cbor:"1,keyasint"`
	List []nested `cbor:"2,keyasint,omitempty"`
	New  *nested  `cbor:"3,keyasint,omitempty"`
}

const knownKeys = "7\n7 1\n7 2\n7 2.1\n"

// TestFormats: an event needs a format if it has a new key, also in a record of a list.
func TestFormats(t *testing.T) {
	inList := func(e *event) bool {
		return slices.ContainsFunc(e.List, func(one nested) bool { return one.New != 0 })
	}
	for name, one := range map[string]struct {
		newer  func(e *event) bool
		faults []string
	}{
		"right": {func(e *event) bool { return e.New != nil || inList(e) }, nil},
		"none": {func(*event) bool { return false }, []string{
			`*fieldtest.event with "List[].New" set has the key "7 2.2", which older members of ` +
				`a group do not know`,
			`*fieldtest.event with "New" set has the key "7 3", which older members of a group ` +
				`do not know`,
			`*fieldtest.event with "New.Known" set has the key "7 3", which older members of a ` +
				`group do not know`,
			`*fieldtest.event with "New.New" set has the key "7 3", which older members of a ` +
				`group do not know`,
		}},
		"too many": {func(e *event) bool { return e.New != nil || len(e.List) > 0 }, []string{
			`*fieldtest.event with "List" set needs the format 4 and has nothing new`,
			`*fieldtest.event with "List[].Known" set needs the format 4 and has nothing new`,
		}},
	} {
		formats := Formats{
			Encode: func(record any) ([]byte, error) { return cbor.Marshal(record) },
			Format: func(record any) uint64 {
				if e, ok := record.(*event); ok && one.newer(e) {
					return 4
				}
				return 0
			},
		}
		faults := formats.Faults([]byte(knownKeys), map[string]any{"7": new(event)})
		if !slices.Equal(faults, one.faults) {
			t.Errorf("%s: %q", name, faults)
		}
		faults = formats.Faults([]byte(knownKeys), map[string]any{"8": new(nested)})
		if len(faults) != 3 {
			t.Errorf("%s: a new kind has the faults %q", name, faults)
		}
	}
}

func TestKeys(t *testing.T) {
	formats := Formats{Encode: func(record any) ([]byte, error) { return cbor.Marshal(record) }}
	const want = knownKeys + "7 2.2\n7 3\n7 3.1\n7 3.2\n10\n10 1\n10 2\n"
	keys := formats.Keys(map[string]any{"7": new(event), "10": new(nested)})
	if string(keys) != want {
		t.Errorf("%q", keys)
	}
}
