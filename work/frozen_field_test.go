package work_test

import (
	"fmt"
	"strings"
	"testing"

	"pws/internal/datadir"
	"pws/internal/fieldtest"
	"pws/work"
)

// emptyEvents are empty events by their kinds.
func emptyEvents(t *testing.T) map[work.Kind]work.Event {
	events := map[work.Kind]work.Event{}
	for kind := work.Kind(1); kind != 0; kind++ {
		if !work.Known(kind) {
			continue
		}
		event, err := work.DecodeEvent(kind, []byte{0xa0})
		if err != nil {
			t.Fatal(err)
		}
		events[kind] = event
	}
	return events
}

// TestFrozenFields: members of a group may run the program of the first format, whose fields are in
// a file that never changes. An event that has another one is written only once the group has
// agreed on a format with it. A record may be in several events: each of them needs the format.
func TestFrozenFields(t *testing.T) {
	events := fieldtest.Formats{
		Encode: func(event any) ([]byte, error) {
			return work.EncodeEvent(nil, event.(work.Event))
		},
		Format: func(event any) uint64 { return datadir.FormatOf([]any{event}) },
	}
	records := map[string]any{}
	for kind, event := range emptyEvents(t) {
		records[fmt.Sprint(kind)] = event
	}
	known := frozen(t, "testdata/fields.txt", func() []byte { return events.Keys(records) })
	if faults := events.Faults(known, records); len(faults) > 0 {
		t.Errorf("%s\n%s", strings.Join(faults, "\n"), fieldtest.FormatAdvice)
	}
}
