package cli

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// members makes a body of names and values; empty values are left out.
func members(pairs ...any) map[string]any {
	body := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		if v := reflect.ValueOf(pairs[i+1]); v.IsValid() && !v.IsZero() {
			body[name] = pairs[i+1]
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
	text, err := e.readInput(file, bodyMax)
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
	if !isFile {
		return flag, nil
	}
	text, err := e.readInput(name, bodyMax)
	if err == nil && !utf8.Valid(text) {
		if name == "-" {
			name = "the input"
		}
		err = fmt.Errorf("%s is not UTF-8", name)
	}
	return string(text), err
}

// bodyMax is the largest body of a request that the service takes, in bytes.
const bodyMax = 16 << 20

// readInput reads a local file, or standard input for -. Errors: those of the file system; an error
// for what is larger than most bytes, before all of it is read.
func (e *Env) readInput(name string, most int64) (text []byte, err error) {
	from, called := e.In, "the input"
	if name != "-" {
		file, err := os.Open(e.path(name))
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		from, called = file, name
	}
	text, err = io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("%s is larger than %d MiB, the most that the service takes in a request",
			called, most>>20)
	}
	return text, err
}
