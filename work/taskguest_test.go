package work

import (
	"errors"
	"strings"
	"testing"

	"pws/internal/fault"
	"pws/internal/fieldtest"
)

// TestHoldersChangeProgressAlone: a limited holder may change the listed fields of a task and no
// other, and the error names the field that it may not change.
func TestHoldersChangeProgressAlone(t *testing.T) {
	allowed := map[string]bool{"Status": true, "Blocked": true, "Result": true}
	fieldtest.Changed(TaskChange{}, func(leaf fieldtest.Leaf, change TaskChange) {
		field, _, _ := strings.Cut(leaf.Path, ".")
		field = strings.TrimSuffix(field, "[]")
		update := UpdateTask{Change: change, Field: "task."}
		err := update.requireProgress()
		switch {
		case allowed[field] && err != nil:
			t.Errorf("%s: %v", leaf.Path, err)
		case !allowed[field] && fault.CodeOf(err) != fault.RoleRequired:
			t.Errorf("%s: a limited holder may change it: %v", leaf.Path, err)
		case !allowed[field] && field != "Away":
			// A change gets Away AFTER this check, with the texts that it is of.
			if fields := faultFields(t, err); len(fields) != 1 ||
				!strings.HasPrefix(fields[0].Field, "task.") {
				t.Errorf("%s: requireProgress does not name it: %v", leaf.Path, fields)
			}
		}
	})
}

// TestHoldersDoNotCancel: of the statuses, one that is not listed needs a role.
func TestHoldersDoNotCancel(t *testing.T) {
	for status := range TaskStatus(len(taskStatusNames) + 1) {
		update := UpdateTask{Change: TaskChange{Status: status}}
		if err := update.requireProgress(); (err != nil) != (status > TaskDone) {
			t.Errorf("status %d: %v", status, err)
		}
	}
}

func faultFields(t *testing.T, err error) []fault.Field {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatal(err)
	}
	fields, ok := f.Details["fields"].([]fault.Field)
	if !ok {
		t.Fatalf("the fields are %v", f.Details["fields"])
	}
	return fields
}
