package cli

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// house is a small command line with all that completion knows.
type house struct {
	Door struct {
		Open struct {
			Name string `arg:"" help:"The door."`
			Wide bool   `short:"w" help:"Open it wide. Mind the wind."`
		} `cmd:"" help:"Open it."`
		Paint struct {
			Colour string `short:"c" enum:"red,green" default:"red" help:"What isn't white."`
			With   string `help:"The brush." placeholder:"FILE"`
			Coat   string `arg:"" enum:"first,second" help:"Which one."`
		} `cmd:"" help:"Paint it: slowly."`
	} `cmd:"" help:"Doors."`
	Lock   struct{} `cmd:"" help:"Lock all."`
	Secret struct{} `cmd:"" hidden:""`
}

func completionOf(t *testing.T, shell string, grammar any) string {
	t.Helper()
	parser, err := kong.New(grammar, kong.Name("house"))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	command := CompletionCommand{Shell: shell}
	err = command.Run(&kong.Context{Kong: parser}, &Env{Out: &out})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestCompletionScripts(t *testing.T) {
	for shell := range completions {
		got, golden := completionOf(t, shell, new(house)), filepath.Join("testdata", "house."+shell)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || got != string(want) {
			t.Errorf("%s: %v; the script is\n%s", shell, err, got)
		}
	}
}

// TestCompletionInShells has the shells that are installed complete command lines.
func TestCompletionInShells(t *testing.T) {
	// The function complete prints what the shell offers behind the words of its arguments.
	harness := map[string]string{
		"bash": `complete_() { COMP_WORDS=(house "$@"); COMP_CWORD=$#; COMPREPLY=(); _house
			printf '%s\n' "${COMPREPLY[@]}"; }; complete_ "$@"`,
		"fish": `complete -C (string join ' ' -- house (string escape -- $argv[1..-2]) $argv[-1])`,
		// compadd and _describe belong to the line editor; here they print.
		"zsh": `compadd() { shift; print -l -- ${(M)@:#$PREFIX*} }
			_files() { print files }
			_describe() { print -l -- ${(M)${(P)2}:#$PREFIX*} }
			complete_() { words=(house "$@"); CURRENT=$#words; PREFIX=$words[-1]; _house }
			complete_ "$@"`,
	}
	for shell, run := range harness {
		program, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not installed", shell)
			continue
		}
		for line, want := range map[string]string{
			"": "door lock", "do": "door", "door ": "open paint", "door p": "paint",
			"door open -": "--help --wide -h -w", "door paint ": "first second",
			"door paint --colour ": "green red", "door paint -c r": "red",
			"door paint first --c": "--colour", "lock --h": "--help", "sec": "", "-w door p": "paint",
		} {
			t.Run(shell+" "+line, func(t *testing.T) {
				text := completionOf(t, shell, new(house)) + "\n" + run
				args := []string{"-c", text, "house"}
				switch shell {
				case "bash":
					args = slices.Insert(args, 0, "--norc")
				case "zsh":
					args = []string{"-f", "-c", "compdef() { }\n" + text, "house"}
				case "fish":
					args = []string{"--no-config", "-c", text, "--"}
				}
				out, err := exec.Command(program, append(args, strings.Split(line, " ")...)...).
					CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				var got []string
				for offered := range strings.Lines(string(out)) {
					word, _, _ := strings.Cut(strings.TrimSuffix(offered, "\n"), "\t")
					if shell == "zsh" {
						word, _, _ = strings.Cut(word, ":")
					}
					if word != "" && word != "files" {
						got = append(got, word)
					}
				}
				slices.Sort(got)
				if strings.Join(got, " ") != want {
					t.Errorf("offered %q, want %s", got, want)
				}
			})
		}
	}
}
