package main

import (
	"reflect"
	"strings"
)

// needWhole are the commands that describe all others.
var needWhole = map[string]bool{"help": true, "completion": true}

// grammarOf returns the struct that the command line is parsed into: the program with no other
// command than the one that args begin with, where that is enough. Building the grammar of all
// commands takes longer than the rest of a start, and hosts of agents start the program often.
func grammarOf(args []string) any {
	if len(args) > 0 && !needWhole[args[0]] {
		if field, known := commandField(reflect.TypeFor[program](), args[0]); known {
			return reflect.New(reflect.StructOf([]reflect.StructField{field})).Interface()
		}
	}
	return new(program)
}

// commandField returns the field of a command by its name. A name of several words is not found:
// only hidden commands have one.
func commandField(
	in reflect.Type, name string,
) (field reflect.StructField, known bool) {
	for i := range in.NumField() {
		one := in.Field(i)
		if one.Anonymous {
			if field, known = commandField(one.Type, name); known {
				return field, true
			}
			continue
		}
		called := one.Tag.Get("name")
		if called == "" {
			called = strings.ToLower(one.Name)
		}
		if called == name {
			return reflect.StructField{Name: one.Name, Type: one.Type, Tag: one.Tag}, true
		}
	}
	return reflect.StructField{}, false
}
