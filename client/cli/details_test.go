package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// TestReportSaysWhy has details of refusals of the interface.
func TestReportSaysWhy(t *testing.T) {
	for details, want := range map[string]string{
		"":   "",
		"{}": "",
		`{"fields":[{"field":"status","problem":"is no status"},{"field":"limit","problem":"is 0"}],` +
			`"fields_truncated":true,"recommended_action":"FIX_REQUEST"}`: "  status: is no status\n" +
			"  limit: is 0\n  fields_truncated: true\n",
		`{"path":"a//b","problem":"has an empty part"}`: "  path: a//b\n  problem: has an empty part\n",
		`{"quota":"keys","limit":16}`:                   "  limit: 16\n  quota: keys\n",
		`{"retry_after_seconds":7,"remaining":0,"recommended_retry_at":"2026-01-01T00:00:00Z"}`: "" +
			"  retry_after_seconds: 7\n",
		`{"paths":["a","b"],"next_calls":[{"operation":"file.read"}]}`: "  paths: a, b\n",
		`{"path\u001b":"\u001b[2J\nx"}`:                                "  path\\x1b: \\x1b[2J x\n",
		`{"text":"` + strings.Repeat("ü", 301) + `"}`: "  text: " + strings.Repeat("ü", 299) +
			"…\n",
	} {
		var out bytes.Buffer
		env := &Env{Err: &out, Lookup: func(string) (string, bool) { return "", false }}
		Report(&client.Failure{
			Status: 400, Code: "SOME", Message: "No.", Details: jsontext.Value(details),
		}, false, env)
		if got := out.String(); got != "pws: SOME: No.\n"+want {
			t.Errorf("%s:\n%s", details, got)
		}
	}
}
