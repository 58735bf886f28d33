package http

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pws/api/jsonschema"
)

// TestMemoryOfAMessage parses messages of a mebibyte that were made to weigh as much as possible.
func TestMemoryOfAMessage(t *testing.T) {
	const size, factor = 1 << 20, 4
	var distinct strings.Builder
	for i := 0; distinct.Len() < size; i++ {
		fmt.Fprintf(&distinct, `"u%d":1,`, i)
	}
	members := distinct.String()
	for name, text := range map[string]string{
		"members of the message": `{` + members + `"id":1}`,
		"parameters":             `{"id":1,"params":{` + members + `"a":1}}`,
		"metadata":               `{"id":1,"params":{"_meta":{` + members + `"a":1}}}`,
		"arguments":              `{"id":1,"params":{"arguments":{` + members + `"a":1}}}`,
		"one argument":           `{"id":1,"params":{"arguments":{"a":{` + members + `"a":1}}}}`,
		"a batch":                `[` + strings.Repeat(`{"id":1},`, size/9) + `{}]`,
		"nesting":                strings.Repeat(`{"params":`, size/10),
		"a duplicate name":       `{` + members + `"u7":1}`,
		"an escaped name":        `{"` + strings.Repeat(`\u0061`, size/6) + `":1}`,
	} {
		var m message
		var before, after runtime.MemStats
		body := []byte(text)
		runtime.ReadMemStats(&before)
		if m.parse(body) != nil {
			m.parseLoose(body)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > factor*size {
			t.Errorf("%s: %.1f bytes for each byte", name, float64(used)/size)
		}
	}
}

func TestNestingOfAMessage(t *testing.T) {
	for depth, strict := range map[int]bool{
		10: true, jsonschema.DepthMax: true, messageDepthMax + 1: false, 10_000: false,
	} {
		var m message
		nested := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		if err := m.parse([]byte(nested)); (err == nil) != strict {
			t.Errorf("nesting of %d: %v", depth, err)
		}
	}
}

// TestTheNameOfAToolBoundsItsMessage declares messages beyond the limit of their tool and sends
// none of them.
func TestTheNameOfAToolBoundsItsMessage(t *testing.T) {
	f := startMCP(t, Config{}, nil)
	for _, called := range f.mcp.tools {
		limit := called.route.bodyMax + messageRoom
		if limit >= f.cfg.BodyMax {
			continue
		}
		w := f.dial(t)
		w.send(fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer good\r\n"+
			"Mcp-Name: %s\r\nContent-Length: %d\r\n\r\n", called.Name, limit+1))
		a := w.receive("POST")
		if want := fmt.Sprintf(`"limit_bytes":%d`, limit); a.status != 413 || !a.close ||
			!strings.Contains(string(a.body), want) {
			t.Errorf("%s: %d %s, want %s", called.Name, a.status, a.body, want)
		}
	}
}
