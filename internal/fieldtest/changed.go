package fieldtest

import (
	"fmt"
	"reflect"
	"slices"
	"unique"
	"unsafe"
)

// Leaf names what differs in a changed record. Path has the names of fields, "Outer.Inner", with []
// for an element of a list. Type is that of the leaf.
type Leaf struct {
	Path string
	Type reflect.Type
}

// Changed calls yield with copies of a record, each of which differs from it in one leaf, including
// unexported fields. A number is one higher, a text one character longer. A list has one more
// element, and a nil pointer points to a zero value; their elements and fields are leaves, too.
// Functions and fields that are never stored stay as they are. Tests use it for rules that name the
// fields of a record: a field that such a rule forgets makes no difference.
func Changed[T any](record T, yield func(leaf Leaf, changed T)) {
	changed(&record, func(leaf Leaf, changed any) { yield(leaf, *changed.(*T)) })
}

// changed is Changed for a pointer to a record. It yields a pointer to one that is used again.
func changed(record any, yield func(leaf Leaf, changed any)) {
	held := addressable(reflect.ValueOf(record).Elem())
	c := changer{yield: func(leaf Leaf) { yield(leaf, held.Addr().Interface()) }}
	c.change("", held)
}

type changer struct {
	yield func(Leaf)
	// above are the types of the pointers above a value, so that a type that contains itself ends.
	above []reflect.Type
}

// change changes each leaf of an addressable value and changes it back. What the value points to is
// copied BEFORE it is changed.
func (c *changer) change(path string, v reflect.Value) {
	v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	leaf := Leaf{path, v.Type()}
	if v.Type() == reflect.TypeFor[unique.Handle[string]]() {
		c.set(leaf, v, reflect.ValueOf(unique.Make("another text")))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.Tag.Get("cbor") == "-" {
				continue
			}
			name := field.Name
			if path != "" {
				name = path + "." + name
			}
			c.change(name, v.Field(i))
		}
	case reflect.Pointer:
		c.pointer(leaf, v)
	case reflect.Slice:
		c.list(leaf, v)
	case reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			c.bytes(leaf, v)
			return
		}
		for i := range v.Len() {
			c.change(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Func:
	default:
		c.set(leaf, v, another(v))
	}
}

// set yields a leaf with another value.
func (c *changer) set(leaf Leaf, v, value reflect.Value) {
	before := addressable(v)
	v.Set(value)
	c.yield(leaf)
	v.Set(before)
}

func (c *changer) bytes(leaf Leaf, v reflect.Value) {
	value := addressable(v)
	value.Index(0).SetUint(value.Index(0).Uint() ^ 1)
	c.set(leaf, v, value)
}

func (c *changer) pointer(leaf Leaf, v reflect.Value) {
	if slices.Contains(c.above, v.Type()) {
		return
	}
	c.above = append(c.above, v.Type())
	before, copied := addressable(v), reflect.New(v.Type().Elem())
	if v.IsNil() {
		c.set(leaf, v, copied)
	} else {
		copied.Elem().Set(v.Elem())
	}
	v.Set(copied)
	c.change(leaf.Path, copied.Elem())
	v.Set(before)
	c.above = c.above[:len(c.above)-1]
}

func (c *changer) list(leaf Leaf, v reflect.Value) {
	element := reflect.New(v.Type().Elem()).Elem()
	if element.Kind() == reflect.Pointer {
		element.Set(reflect.New(element.Type().Elem()))
	}
	longer := reflect.MakeSlice(v.Type(), v.Len(), v.Len()+1)
	reflect.Copy(longer, v)
	longer = reflect.Append(longer, element)
	c.set(leaf, v, longer)
	if element.Kind() != reflect.Uint8 {
		before := addressable(v)
		v.Set(longer)
		c.change(leaf.Path+"[]", longer.Index(v.Len()-1))
		v.Set(before)
	}
}

// another returns another value of the type of a number, a text or a bool.
func another(v reflect.Value) reflect.Value {
	value := addressable(v)
	switch {
	case value.CanInt():
		value.SetInt(value.Int() + 1)
	case value.CanUint():
		value.SetUint(value.Uint() + 1)
	case value.CanFloat():
		value.SetFloat(value.Float() + 1)
	case value.Kind() == reflect.String:
		value.SetString(value.String() + "x")
	case value.Kind() == reflect.Bool:
		value.SetBool(!value.Bool())
	default:
		panic("fieldtest: cannot change a " + value.Type().String())
	}
	return value
}
