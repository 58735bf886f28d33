package cli

import (
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// members makes a body of names and values; empty values are left out.
func members(pairs ...any) map[string]any {
	body := map[string]any{}
	for at := 0; at < len(pairs); at += 2 {
		name, _ := pairs[at].(string)
		if v := reflect.ValueOf(pairs[at+1]); v.IsValid() && !v.IsZero() {
			body[name] = pairs[at+1]
		}
	}
	return body
}

// contentOf is the content of a local file; of standard input if no file is named.
func (e *Env) contentOf(file string) (string, error) {
	if file == "" {
		file = "-"
	}
	return e.textOf("@" + file)
}

// jsonOf is a body of JSON in a local file, or in standard input for -.
func (e *Env) jsonOf(file string) (jsontext.Value, error) {
	text, err := e.textOf("@" + file)
	if err != nil {
		return nil, err
	}
	body := jsontext.Value(text)
	if !body.IsValid() {
		if file == "-" {
			file = "the input"
		}
		return nil, usagef("%s is no JSON", file)
	}
	return body, nil
}

// textOf is a text that a flag gives: as it is, of a file with @FILE, or of standard input with @-.
func (e *Env) textOf(flag string) (string, error) {
	name, isFile := strings.CutPrefix(flag, "@")
	switch {
	case !isFile:
		return flag, nil
	case name == "-":
		text, err := io.ReadAll(e.In)
		return string(text), err
	}
	text, err := os.ReadFile(e.path(name))
	return string(text), err
}
