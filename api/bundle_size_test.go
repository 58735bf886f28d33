package api_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pws/api"
	"pws/api/jsonschema"
)

// TestBundlesOfTooManyRecords: very many small records are refused before they are decoded.
func TestBundlesOfTooManyRecords(t *testing.T) {
	many := func(size int, record string) string {
		return "[" + strings.Repeat(record+",", size/(len(record)+1)) + record + "]"
	}
	const size = 4 << 20
	var names strings.Builder
	for i := range size / 8 {
		fmt.Fprintf(&names, `,"%x":""`, i)
	}
	for name, member := range map[string]string{
		"tasks":   `"tasks":` + many(size, `{}`),
		"history": `"history":` + many(size, `{}`),
		"nested":  `"history":[{"operations":` + many(size, `{}`) + `}]`,
		"files":   `"files":` + many(size, `{"path":"a","content":""}`),
		"blobs":   `"blobs":{` + names.String()[1:] + `}`,
	} {
		text := []byte(`{"bundle":{` + member + `},"visibility":"PRIVATE"}`)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := jsonschema.Decode(text, new(api.ImportProject))
		runtime.ReadMemStats(&after)
		if got := faultsOf(err); !strings.Contains(got, "many records") &&
			!strings.Contains(got, "must have at most") && !strings.Contains(got, "members") {
			t.Errorf("%s: %.300s", name, got)
		}
		// The JSON decoder keeps all names of an object to find duplicates.
		made := after.TotalAlloc - before.TotalAlloc
		if made > 4*size && name != "blobs" {
			t.Errorf("%s: %d bytes of text took %d of memory", name, len(text), made)
		}
	}
}
