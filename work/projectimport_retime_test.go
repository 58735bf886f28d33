package work

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestRetimeMovesAllTimes fills an event with one time wherever a number can be one, and looks
// which numbers keep it. A list of records that retime leaves out shows up here.
func TestRetimeMovesAllTimes(t *testing.T) {
	const from, to = 1_000_000, 2_000_000
	event := new(ProjectImported)
	fillTimes(reflect.ValueOf(event).Elem(), from, 0)
	event.retime(from, to)
	var kept []string
	keptTimes(reflect.ValueOf(event).Elem(), "", from, func(path string) {
		kept = append(kept, path)
	})
	// Times from before the import, or that no imported record has.
	before := []string{
		".Imported", ".Origin", ".Claim", ".Files", ".Handoffs[0].Deleted",
		".Verifications[0].Deleted", ".Contributions[0].Deleted", ".Reviews[0].Deleted",
	}
	kept = slices.DeleteFunc(kept, func(path string) bool {
		return slices.ContainsFunc(before, func(part string) bool {
			return strings.Contains(path, part)
		})
	})
	if len(kept) > 0 {
		t.Errorf("these times stay: %q", kept)
	}
	if event.State.UpdatedAt != to || event.Contributions[0].Reviews[0].CreatedAt != to {
		t.Error("times of records were not moved")
	}
}

// fillTimes sets the numbers below a value, with one element in each list.
func fillTimes(v reflect.Value, to int64, depth int) {
	const deepest = 8
	if depth > deepest {
		return
	}
	switch v.Kind() {
	case reflect.Int64:
		if v.CanSet() {
			v.SetInt(to)
		}
	case reflect.Pointer:
		if v.CanSet() {
			v.Set(reflect.New(v.Type().Elem()))
			fillTimes(v.Elem(), to, depth+1)
		}
	case reflect.Slice:
		if v.CanSet() {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fillTimes(v.Index(0), to, depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fillTimes(v.Field(i), to, depth+1)
		}
	}
}

// keptTimes reports the paths of numbers that have a value.
func keptTimes(v reflect.Value, path string, value int64, report func(path string)) {
	switch v.Kind() {
	case reflect.Int64:
		if v.Int() == value {
			report(path)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			keptTimes(v.Elem(), path, value, report)
		}
	case reflect.Slice:
		for i := range v.Len() {
			keptTimes(v.Index(i), fmt.Sprintf("%s[%d]", path, i), value, report)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			keptTimes(v.Field(i), path+"."+v.Type().Field(i).Name, value, report)
		}
	}
}
