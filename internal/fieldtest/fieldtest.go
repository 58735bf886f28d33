// Package fieldtest walks all fields of values by reflection, including unexported ones. Tests use
// it to compare a state with the state restored from its saved form: a field that is not saved
// differs. Fields that are zero in all samples are reported, because the comparison does not test
// them.
package fieldtest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// Walk collects the fields of values. Fields are named "Type.Field" without type parameters.
type Walk struct {
	skip       map[string]string
	leaves     map[string]string
	set, known map[string]bool
	above      []unsafe.Pointer
}

// New makes a Walk that skips some fields; skip has a reason for each.
func New(skip map[string]string) *Walk {
	return &Walk{skip: skip, set: map[string]bool{}, known: map[string]bool{}}
}

// Leaves returns the text of every leaf of a value by its path. Values that refer to themselves are
// visited once. Locks are skipped.
func (w *Walk) Leaves(value any) map[string]string {
	w.leaves, w.above = map[string]string{}, nil
	w.walk("", reflect.ValueOf(value))
	return w.leaves
}

// Unset returns the fields of this module's types that were zero in all values so far, sorted.
func (w *Walk) Unset() (fields []string) {
	for _, field := range slices.Sorted(maps.Keys(w.known)) {
		if !w.set[field] {
			fields = append(fields, field)
		}
	}
	return fields
}

func (w *Walk) walk(path string, v reflect.Value) {
	if v.CanAddr() {
		// An unexported field is only readable through its address.
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || slices.Contains(w.above, v.UnsafePointer()) {
			return
		}
		w.above = append(w.above, v.UnsafePointer())
		w.walk(path, v.Elem())
		w.above = w.above[:len(w.above)-1]
	case reflect.Struct:
		if v.Type().PkgPath() != "sync" {
			w.fields(path, v)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			w.leaves[path] = fmt.Sprintf("%x", v.Interface())
			return
		}
		for i := range v.Len() {
			w.walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Map:
		w.entries(path, v)
	case reflect.Interface:
		switch {
		case v.Type().PkgPath() != "pws/internal/sorted":
			panic(path + ": a state must not contain a " + v.Type().String())
		case !v.IsNil():
			w.scan(path, v)
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		panic(path + ": a state must not contain a " + v.Kind().String())
	default:
		w.leaves[path] = fmt.Sprint(v.Interface())
	}
}

func (w *Walk) fields(path string, v reflect.Value) {
	typeName, _, _ := strings.Cut(v.Type().Name(), "[")
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		field := typeName + "." + name
		if _, skipped := w.skip[field]; skipped {
			continue
		}
		if strings.HasPrefix(v.Type().PkgPath(), "pws/") {
			w.note(field, v.Field(i))
		}
		w.walk(path+"."+name, v.Field(i))
	}
}

// note records whether a field is set. Each element of an array of lists counts as a field.
func (w *Walk) note(field string, v reflect.Value) {
	w.known[field] = true
	if !v.IsZero() {
		w.set[field] = true
	}
	if v.Kind() == reflect.Array && v.Type().Elem().Kind() == reflect.Slice {
		for i := range v.Len() {
			w.note(fmt.Sprintf("%s[%d]", field, i), v.Index(i))
		}
	}
}

// scan walks the entries of a sorted set or map in order, independent of its nodes.
func (w *Walk) scan(path string, tree reflect.Value) {
	scan, at := tree.MethodByName("Scan"), 0
	take := reflect.MakeFunc(scan.Type().In(0), func(entry []reflect.Value) []reflect.Value {
		for nth, part := range entry {
			w.walk(fmt.Sprintf("%s{%d,%d}", path, at, nth), addressable(part))
		}
		at++
		return []reflect.Value{reflect.ValueOf(true)}
	})
	scan.Call([]reflect.Value{take})
}

// entries walks a map. The path of an entry contains the text of its key.
func (w *Walk) entries(path string, v reflect.Value) {
	for entry := v.MapRange(); entry.Next(); {
		key := fmt.Sprintf("%s{%v}", path, addressable(entry.Key()).Interface())
		w.leaves[key] = "there"
		w.walk(key, addressable(entry.Value()))
	}
}

// addressable returns a copy whose unexported fields are readable.
func addressable(v reflect.Value) reflect.Value {
	held := reflect.New(v.Type()).Elem()
	held.Set(v)
	return held
}
