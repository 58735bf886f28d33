package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pws/client"
)

// TestInputThatIsNoJSON gives it to the commands that take a body.
func TestInputThatIsNoJSON(t *testing.T) {
	p := newHookPlace(t)
	for _, input := range []string{`{"a`, "", "{} {}", "{\"a\":\"\xff\"}"} {
		env, _ := p.env(strings.NewReader(input))
		other, _ := p.env(strings.NewReader(input))
		for name, err := range map[string]error{
			"checkpoint": (&CheckpointCommand{Input: "-"}).Run(t.Context(), env),
			"state edit": (&StateEditCommand{Input: "-"}).Run(t.Context(), other),
		} {
			var usage UsageError
			if !errors.As(err, &usage) || err.Error() != "the input is no JSON" {
				t.Errorf("%s with %q: %v", name, input, err)
			}
		}
	}
}

// TestTextsThatAreNotUTF8 says which one it is.
func TestTextsThatAreNotUTF8(t *testing.T) {
	p := newHookPlace(t)
	if err := os.WriteFile(filepath.Join(p.dir, "latin.txt"), []byte("a\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		"": "x.txt: the input is not UTF-8", "latin.txt": "latin.txt is not UTF-8",
	} {
		env, _ := p.env(strings.NewReader("a\xff"))
		err := (&FileWriteCommand{Path: "x.txt", From: from}).Run(t.Context(), env)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v", from, err)
		}
	}
}

// TestOneFullStop: a sentence that quotes an error has no second one.
func TestOneFullStop(t *testing.T) {
	text := unread(Binding{}, &client.Failure{Code: "X", Message: "No."}, &Env{})
	if strings.Contains(text, "..") {
		t.Error(text)
	}
}

// endless is an input that has no end, and counts what is read of it.
type endless struct{ read int }

func (e *endless) Read(into []byte) (int, error) {
	e.read += len(into)
	return len(into), nil
}

// TestInputThatIsTooLarge gives more than a request may have: it is refused before all is read.
func TestInputThatIsTooLarge(t *testing.T) {
	p := newHookPlace(t)
	large, err := os.Create(filepath.Join(p.dir, "large.bin"))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(large.Truncate(bodyMax+1), large.Close())
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(env *Env, file string) error{
		"file write": func(env *Env, file string) error {
			return (&FileWriteCommand{Path: "x", From: file}).Run(t.Context(), env)
		},
		"checkpoint": func(env *Env, file string) error {
			c := &CheckpointCommand{Message: "m", File: []string{"x=" + file}}
			return c.Run(t.Context(), env)
		},
		"api": func(env *Env, file string) error {
			c := &APICommand{Method: "POST", Path: "x", Input: file}
			return c.Run(t.Context(), env)
		},
	} {
		input := new(endless)
		env, _ := p.env(input)
		for file, called := range map[string]string{"large.bin": "large.bin", "-": "the input"} {
			err := run(env, file)
			if err == nil || !strings.HasPrefix(err.Error(), called+" is larger than 16 MiB") {
				t.Errorf("%s of %s: %v", name, file, err)
			}
		}
		if input.read > 2*bodyMax {
			t.Errorf("%s has read %d bytes", name, input.read)
		}
	}
}
