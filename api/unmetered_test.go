package api

import (
	"slices"
	"testing"

	"pws/internal/fault"
)

// Only writes are Unmetered, and exactly the other ones declare QUOTA_EXCEEDED without naming it.
func TestUnmeteredOperations(t *testing.T) {
	for _, op := range Table {
		declared := slices.Contains(op.Codes(), fault.QuotaExceeded)
		named := slices.Contains(op.Errors, fault.QuotaExceeded)
		switch {
		case op.Unmetered && !op.Writes():
			t.Errorf("%s is no write", op.Name)
		case op.Writes() && !op.Unmetered && !declared, !op.StoresBytes() && declared && !named:
			t.Errorf("%s stores bytes %v, declared %v", op.Name, op.StoresBytes(), declared)
		}
	}
}
