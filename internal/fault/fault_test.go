package fault

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
)

// TestCatalogIsWhole checks that every entry is complete and has an error status.
func TestCatalogIsWhole(t *testing.T) {
	form := regexp.MustCompile(`^[A-Z]+(_[A-Z]+)*$`)
	statuses := []int{400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 415, 416, 429, 431, 500, 503}
	for _, entry := range Catalog {
		if !form.MatchString(string(entry.Code)) || entry.Description == "" ||
			!slices.Contains(statuses, entry.Status) {
			t.Errorf("%+v", entry)
		}
		if entry.Action != "" && !form.MatchString(entry.Action) {
			t.Errorf("%s recommends %q", entry.Code, entry.Action)
		}
		if got := Lookup(entry.Code); got.Status != entry.Status {
			t.Errorf("Lookup(%s) = %+v", entry.Code, got)
		}
	}
}

func TestLookupOfUnknownCodePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Lookup of an unknown code did not panic")
		}
	}()
	Lookup("NO_SUCH_CODE")
}

func TestCodeOf(t *testing.T) {
	refused := New(FileNotFound, "gone").With("path", "a").With("path", "b")
	for _, c := range []struct {
		err  error
		want Code
	}{
		{nil, ""},
		{refused, FileNotFound},
		{fmt.Errorf("wrapped: %w", refused), FileNotFound},
		{errors.New("anything else"), Internal},
		{Invalid(Field{"name", "is required"}), ValidationFailed},
	} {
		if got := CodeOf(c.err); got != c.want {
			t.Errorf("CodeOf(%v) = %q, want %q", c.err, got, c.want)
		}
	}
	if refused.Details["path"] != "b" || refused.Error() != "FILE_NOT_FOUND: gone" {
		t.Errorf("%+v", refused)
	}
}

// TestSeveralFaultsAreListed checks that a single fault is unchanged, and that several are listed.
func TestSeveralFaultsAreListed(t *testing.T) {
	if err := Several(nil); err != nil {
		t.Errorf("nothing wrong is %v", err)
	}
	one := New(FileNotFound, "gone").With("path", "a")
	if err := Several([]error{one}); err != error(one) || one.Details["faults"] != nil {
		t.Errorf("one fault became %+v", err)
	}
	other := Invalid(Field{"name", "is required"})
	whole, ok := Several([]error{one, other}).(*Error)
	if !ok || whole.Code != FileNotFound || whole.Message != "gone" || whole.Details["path"] != "a" {
		t.Fatalf("the whole is %+v", whole)
	}
	parts, _ := whole.Details["faults"].([]Part)
	if len(parts) != 2 || parts[0].Code != FileNotFound || parts[0].Details["path"] != "a" ||
		parts[1].Code != ValidationFailed || parts[1].Details["fields"] == nil {
		t.Errorf("the parts are %+v", parts)
	}
	if one.Details["faults"] != nil {
		t.Error("the first fault was changed")
	}
	broken := errors.New("disk")
	if err := Several([]error{one, broken}); err != broken {
		t.Errorf("a fault of our own became %v", err)
	}
}
