package fieldtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

// Formats checks which stored records need a newer format of the log than the first one, because
// they have a key that programs did not know from the beginning. Keys are paths through maps:
// "2.14" is the key 14 of what the key 2 has, which may be a list.
type Formats struct {
	// Encode returns CBOR of a pointer to a record.
	Encode func(record any) ([]byte, error)
	// Format returns the format that a record needs, 0 for all.
	Format func(record any) uint64
}

// FormatAdvice says what makes an event need a format.
const FormatAdvice = "Give each of these events a method Format, see Newer in " +
	"internal/datadir/format.go. It returns a new format of internal/logformat where the " +
	"field is set, in a record of the event too, and 0 elsewhere. The field has omitempty or " +
	"omitzero, or all such events need the format. testdata/fields.txt stays as it is."

// firstFormat is that of a group that has not agreed on another one, see package replica.
const firstFormat = 1

// Keys returns the keys that records can have, a line each: the name of the record, a space and the
// path. A record also has a line without a path. Records are pointers to empty ones by their names.
func (f Formats) Keys(records map[string]any) []byte {
	all := map[string]bool{}
	f.each(records, func(_ string, lines []string, _ any) {
		for _, line := range lines {
			all[line] = true
		}
	})
	return []byte(strings.Join(slices.SortedFunc(maps.Keys(all), byNumbers), "\n") + "\n")
}

// Faults returns what is wrong with the formats of records. One that has a key that is not among
// the known lines needs a newer format, and no other does.
func (f Formats) Faults(known []byte, records map[string]any) (faults []string) {
	lines := map[string]bool{}
	for line := range strings.Lines(string(known)) {
		lines[strings.TrimSuffix(line, "\n")] = true
	}
	f.each(records, func(path string, has []string, record any) {
		at := slices.IndexFunc(has, func(line string) bool { return !lines[line] })
		switch format := f.Format(record); {
		case at >= 0 && format <= firstFormat:
			faults = append(faults, fmt.Sprintf(
				"%T with %q set has the key %q, which older members of a group do not know",
				record, path, has[at]))
		case at < 0 && format != 0:
			faults = append(faults, fmt.Sprintf(
				"%T with %q set needs the format %d and has nothing new", record, path, format))
		}
	})
	slices.Sort(faults)
	return faults
}

// each yields the empty records, and each with one leaf set, with the lines of its keys.
func (f Formats) each(
	records map[string]any, yield func(path string, lines []string, record any),
) {
	for name, empty := range records {
		one := func(leaf Leaf, record any) {
			data, err := f.Encode(record)
			var decoded any
			if err == nil {
				err = cbor.Unmarshal(data, &decoded)
			}
			if err != nil {
				panic(fmt.Sprintf("%T with %s: %v", record, leaf.Path, err))
			}
			yield(leaf.Path, appendKeys([]string{name}, name+" ", decoded), record)
		}
		one(Leaf{}, empty)
		changed(empty, one)
	}
}

// appendKeys appends the paths of the keys in a decoded value.
func appendKeys(lines []string, path string, value any) []string {
	switch value := value.(type) {
	case map[any]any:
		for key, below := range value {
			at := path + fmt.Sprint(key)
			lines = appendKeys(append(lines, at), at+".", below)
		}
	case []any:
		for _, element := range value {
			lines = appendKeys(lines, path, element)
		}
	}
	return lines
}

// byNumbers compares lines by the numbers in them.
func byNumbers(a, b string) int {
	numbers := func(line string) (all []int) {
		for _, part := range strings.FieldsFunc(line, func(r rune) bool { return r < '0' || r > '9' }) {
			var n int
			fmt.Sscan(part, &n)
			all = append(all, n)
		}
		return all
	}
	if c := slices.Compare(numbers(a), numbers(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}
