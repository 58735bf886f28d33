package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pws/internal/fault"
)

// withCounts is the sample bundle with other counts in its summaries of verification records.
func withCounts(t *testing.T, counts string) []byte {
	t.Helper()
	data := object(t, sampleBundle(t))
	bundle := data["bundle"].(map[string]any)
	delete(bundle, "integrity")
	for _, section := range []string{"manifest", "provenance"} {
		summary := bundle[section].(map[string]any)["verification"].(map[string]any)
		summary["counts"] = json.RawMessage(counts)
	}
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestBundleWithoutOutcomeCounts imports a bundle of a version that did not count by outcome.
func TestBundleWithoutOutcomeCounts(t *testing.T) {
	earlier := withCounts(t, `{"self_reports":0,"external_attestations":1}`)
	if _, made, err := imports(earlier, "bob"); err != nil {
		t.Errorf("a bundle of an earlier version is refused: %v", err)
	} else if counts := made.Project.Evidence.Counts; counts.Attestations.Passed != 1 {
		t.Errorf("the counts of the import are %+v", counts)
	}
	for _, counts := range []string{
		`{"self_reports":"1"}`, `{"more":1}`, `7`, `{"self_reports":{"passed":1,"more":2}}`,
	} {
		_, _, err := imports(withCounts(t, counts), "bob")
		var refusal *fault.Error
		if !errors.As(err, &refusal) || refusal.Code != fault.ValidationFailed ||
			!strings.Contains(fmt.Sprint(refusal.Details), "manifest.verification.counts") {
			t.Errorf("%s: %v", counts, err)
		}
	}
}
