package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"pws/internal/datadir"
	"pws/internal/fieldtest"
)

// TestFrozenFields: members of a group may run the program of the first format, whose fields are in
// a file that never changes. An event that has another one is written only once the group has
// agreed on a format with it.
func TestFrozenFields(t *testing.T) {
	events := fieldtest.Formats{
		Encode: func(event any) ([]byte, error) { return EncodeEvent(nil, event.(Event)) },
		Format: func(event any) uint64 { return datadir.FormatOf([]any{event}) },
	}
	records := map[string]any{}
	for kind, fresh := range makers {
		records[fmt.Sprint(kind)] = fresh()
	}
	const name = "testdata/fields.txt"
	known, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && *update {
		known = events.Keys(records)
		err = os.WriteFile(name, known, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if faults := events.Faults(known, records); len(faults) > 0 {
		t.Errorf("%s\n%s", strings.Join(faults, "\n"), fieldtest.FormatAdvice)
	}
}
