package main

import (
	"bytes"
	"testing"

	"github.com/alecthomas/kong"
)

// TestOneCommandIsParsedAsInTheWholeProgram compares, for each command, its help and the error of
// an unknown flag by its own grammar with those of the whole program.
func TestOneCommandIsParsedAsInTheWholeProgram(t *testing.T) {
	whole := parserOf(t, new(program))
	alone := 0
	for _, command := range whole.Model.Leaves(false) {
		words := []string{}
		for at := command; at.Type != kong.ApplicationNode; at = at.Parent {
			words = append([]string{at.Name}, words...)
		}
		grammar := grammarOf(words)
		if _, all := grammar.(*program); !all {
			alone++
		}
		for _, flag := range []string{"--help", "--no-such-flag"} {
			args := append(words[:len(words):len(words)], flag)
			got, want := parseOutput(t, grammar, args), parseOutput(t, new(program), args)
			if got != want {
				t.Errorf("pws %v, grammar of the command:\n%s\nwhole:\n%s", args, got, want)
			}
		}
	}
	if alone < 100 {
		t.Errorf("%d commands are parsed by a grammar of their own, want at least 100", alone)
	}
}

func TestUnknownCommandsAreParsedByTheWholeProgram(t *testing.T) {
	lines := [][]string{nil, {"help"}, {"completion"}, {"--help"}, {"nonsense"}, {"Commands"}}
	for _, args := range lines {
		if _, all := grammarOf(args).(*program); !all {
			t.Errorf("grammarOf(%q) is not the whole program", args)
		}
	}
}

func parserOf(t *testing.T, grammar any, more ...kong.Option) *kong.Kong {
	t.Helper()
	parser, err := kong.New(grammar, append(options(new(settings)), more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

func parseOutput(t *testing.T, grammar any, args []string) string {
	var out bytes.Buffer
	parser := parserOf(t, grammar, kong.Writers(&out, &out), kong.Exit(func(int) {}))
	if _, err := parser.Parse(args); err != nil {
		out.WriteString(err.Error())
	}
	return out.String()
}

func BenchmarkParse(b *testing.B) {
	for _, args := range [][]string{{"version"}, {"help"}} {
		b.Run(args[0], func(b *testing.B) {
			for range b.N {
				if _, err := kong.New(grammarOf(args), options(new(settings))...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
