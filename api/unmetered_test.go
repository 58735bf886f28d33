package api

import (
	"slices"
	"testing"

	"pws/internal/fault"
)

// Exactly the writes that are not listed as unmetered declare QUOTA_EXCEEDED for stored bytes.
func TestUnmeteredOperations(t *testing.T) {
	known := map[string]bool{}
	for _, op := range Table {
		known[op.Name] = op.Writes()
		metered := op.Writes() && !slices.Contains(unmetered, op.Name)
		declared := slices.Contains(op.Codes(), fault.QuotaExceeded)
		if metered != op.StoresBytes() || metered && !declared ||
			!metered && declared && !slices.Contains(op.Errors, fault.QuotaExceeded) {
			t.Errorf("%s: metered %v, declared %v", op.Name, metered, declared)
		}
	}
	for _, name := range unmetered {
		if !known[name] {
			t.Errorf("%s is no write", name)
		}
	}
}
