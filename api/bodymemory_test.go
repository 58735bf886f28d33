package api

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"pws/api/jsonschema"
)

// bodyMemory is how many bytes decoding allocates at most for each byte of a body, beside
// bodyMemoryLeast.
const (
	bodyMemory      = 8
	bodyMemoryLeast = 256 << 10
)

// worstBodies are bodies of a size that weigh as much as possible for a type with these members.
func worstBodies(members []string, size int) map[string]string {
	repeat := func(head, unit, tail string) string {
		return head + strings.Repeat(unit, max(size-len(head)-len(tail), 0)/len(unit)) + tail
	}
	var distinct strings.Builder
	for i := 0; distinct.Len() < size-40; i++ {
		fmt.Fprintf(&distinct, `"u%d":1,`, i)
	}
	bodies := map[string]string{
		"unknown members":  `{` + distinct.String() + `"a":1}`,
		"a duplicate name": `{` + distinct.String() + `"u7":1}`,
		"nesting":          repeat(``, `{"a":`, ``),
	}
	for _, name := range members {
		head := `{"` + name + `":`
		bodies[name+": objects"] = repeat(head+`[`, `{},`, `{}]}`)
		bodies[name+": texts"] = repeat(head+`[`, `"",`, `""]}`)
		bodies[name+": members"] = head + `{` + distinct.String() + `"a":1}}`
		bodies[name+": members of an element"] = head + `[{` + distinct.String() + `"a":1}]}`
		bodies[name+": nesting"] = repeat(head, `[`, ``)
		bodies[name+": an escaped text"] = repeat(head+`"`, `\u0041`, `"}`)
		bodies[name+": digits"] = repeat(head, `9`, `}`)
	}
	return bodies
}

// TestMemoryOfEveryBody decodes the worst bodies of every operation, at its largest body but not
// more than 256 KiB, or with PWS_CUT_ALL a mebibyte.
func TestMemoryOfEveryBody(t *testing.T) {
	largest := 256 << 10
	if os.Getenv("PWS_CUT_ALL") != "" {
		largest = 1 << 20
	}
	for _, op := range Table {
		if op.RawMedia != nil {
			continue
		}
		size := min(op.BodyLimit(RequestBytesMax), largest)
		var members []string
		if op.Request != nil {
			schemas := jsonschema.NewSchemas("#/$defs/")
			schemas.Add(op.Request, jsonschema.Request)
			name := jsonschema.NameOf(op.Request, jsonschema.Request)
			document := schemas.Document("", name)
			properties, _ := document.Get("properties").(jsonschema.Object)
			for _, one := range properties {
				members = append(members, one.Name)
			}
		}
		for name, text := range worstBodies(members, size) {
			body, into := []byte(text), op.NewRequest()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := jsonschema.Decode(body, into)
			runtime.ReadMemStats(&after)
			used := int(after.TotalAlloc - before.TotalAlloc)
			if used > bodyMemory*len(body)+bodyMemoryLeast {
				t.Errorf("%s, %s: %d KiB for a body of %d KiB: %.80v",
					op.Name, name, used>>10, len(body)>>10, err)
			}
		}
	}
}
