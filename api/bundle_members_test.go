package api_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/id"
	"pws/work"
)

// TestBundleKeepsEveryField imports an exported project whose records have a value in every field
// that a client can set. IDs are new in the imported project; everything else must be the same.
func TestBundleKeepsEveryField(t *testing.T) {
	d := newFakeEngine()
	d.join("ann", "ann")
	d.create(t, work.About{Name: "sample"})
	d.publish(t, "one", writes("a.txt", "1"))
	task := work.TaskSpec{Priority: work.PriorityHigh}
	fillTexts(&task)
	task.Description = strings.Repeat("what ", 600)
	task.Conditions = append(task.Conditions, "x"+strings.Repeat("until ", 330))
	d.task(t, task)
	handoff := work.Continuation{}
	fillTexts(&handoff)
	handoff.NextActions = append(handoff.NextActions, strings.Repeat("next ", 390))
	d.do(t, "ann", &work.CreateHandoff{Continuation: handoff})
	statement := work.Statement{Custom: []byte(`{"a":1}`)}
	fillTexts(&statement)
	d.do(t, "ann", &work.UpdateState{Statement: statement})
	finding := work.Finding{
		Entity: d.project.Entity(), Kind: work.ExternalAttestation, Outcome: work.Passed,
	}
	fillTexts(&finding)
	d.do(t, "ann", &work.CreateVerification{Finding: finding})

	imported, _ := mustImport(t, d.export(t, "ann", true))
	p := imported.project
	p.Tasks(id.ID{}, testNow, func(one *work.Task) bool {
		whole, err := one.WithTexts(imported.Blob)
		if err != nil || whole == one {
			t.Fatalf("the texts of the task are in memory, or not stored: %v", err)
		}
		checkKept(t, task, whole.Spec)
		return true
	})
	latest := p.LatestHandoff()
	texts, err := imported.Blob(latest.Away.Hash)
	if err != nil {
		t.Fatal(err)
	}
	if latest, err = latest.WithTexts(texts); err != nil {
		t.Fatal(err)
	}
	checkKept(t, handoff, latest.Continuation)
	checkKept(t, statement, p.State().Statement)
	p.Verifications(id.ID{}, func(one *work.Verification) bool {
		checkKept(t, finding, one.Finding)
		return true
	})
}

// fillTexts gives every text of a record its own value, and fails for a field of a new type, which
// has to be set before.
func fillTexts(record any) {
	of := reflect.ValueOf(record).Elem()
	for i := range of.NumField() {
		name, field := of.Type().Field(i).Name, of.Field(i)
		text := fmt.Sprintf("the %s", name)
		switch value := field.Addr().Interface().(type) {
		case *string:
			*value = text
		case *[]string:
			*value = []string{text, "another"}
		case *[]work.Note:
			for range 2 {
				note := work.Note{Reasoned: true}
				fillTexts(&note)
				*value = append(*value, note)
			}
		case *[]id.ID, *id.ID:
			// IDs of other records differ in the imported project.
		case **work.SpecAway:
			// The service sets it.
		default:
			if field.IsZero() {
				panic(fmt.Sprintf("%s.%s: set it", of.Type(), name))
			}
		}
	}
}

// checkKept compares a record with the imported one, without the IDs of other records.
func checkKept[T any](t *testing.T, before, after T) {
	t.Helper()
	ids := cmp.FilterPath(func(path cmp.Path) bool {
		of := path.Last().Type()
		return of == reflect.TypeFor[id.ID]() || of == reflect.TypeFor[[]id.ID]()
	}, cmp.Ignore())
	if diff := cmp.Diff(before, after, ids); diff != "" {
		t.Errorf("%T: %s", before, diff)
	}
}
