package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// CompletionCommand prints the script that completes command lines in a shell.
type CompletionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the script. A shell reads it when it starts:
//
//	source <(pws completion bash)      in ~/.bashrc
//	source <(pws completion zsh)       in ~/.zshrc, after compinit
//	pws completion fish | source       in ~/.config/fish/config.fish
func (c *CompletionCommand) Run(parsed *kong.Context, env *Env) error {
	places := placesOf(parsed.Model.Node, "")
	return completions[c.Shell](env.Out, parsed.Model.Name, places)
}

var completions = map[string]func(out io.Writer, program string, places []place) error{
	"bash": completeBash, "zsh": completeZsh, "fish": completeFish,
}

// place is a command at which a word can be completed.
type place struct {
	// at is the words of the command, each with a space before it; empty for the program itself.
	at       string
	commands []named
	flags    []flagWords
	// words are those of the arguments that are one of a few.
	words []string
}

// named is a word and what it means.
type named struct{ word, help string }

type flagWords struct {
	// words are the long form and the short one, if there is one.
	words []string
	help  string
	// takesValue is true for a flag with a value, which is one of values if there are any.
	takesValue bool
	values     []string
}

// placesOf lists a command and those below it, without hidden ones.
func placesOf(node *kong.Node, at string) []place {
	here := place{at: at}
	for _, group := range node.AllFlags(true) {
		for _, flag := range group {
			words := []string{"--" + flag.Name}
			if flag.Short != 0 {
				words = append(words, "-"+string(flag.Short))
			}
			here.flags = append(here.flags, flagWords{
				words: words, help: firstSentence(flag.Help), takesValue: !flag.IsBool(),
				values: enumOf(flag.Value),
			})
		}
	}
	for _, argument := range node.Positional {
		here.words = append(here.words, enumOf(argument)...)
	}
	places := []place{here}
	for _, child := range node.Children {
		if child.Hidden || child.Type != kong.CommandNode {
			continue
		}
		places[0].commands = append(places[0].commands, named{child.Name, firstSentence(child.Help)})
		places = append(places, placesOf(child, at+" "+child.Name)...)
	}
	return places
}

func enumOf(value *kong.Value) (all []string) {
	if value.Enum == "" {
		return nil
	}
	for _, word := range value.EnumSlice() {
		if word != "" {
			all = append(all, word)
		}
	}
	slices.Sort(all)
	return all
}

func firstSentence(help string) string {
	first, _, _ := strings.Cut(help, ". ")
	return strings.TrimSuffix(first, ".")
}

// quote makes a word of a text for all three shells.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// script writes lines and keeps the first error.
type script struct {
	out io.Writer
	err error
}

func (s *script) line(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.out, format+"\n", args...)
	}
}

// walk prints the lines that find the command in the words before the cursor. Words that are no
// commands, such as flags, are passed over.
func (s *script) walk(places []place, separator string) {
	var known []string
	for _, one := range places[1:] {
		known = append(known, quote(one.at))
	}
	s.line("      %s) at=\"$at $word\" ;;", strings.Join(known, separator))
}

// all returns everything that can stand at a place.
func (p place) all() (all []named) {
	all = append(all, p.commands...)
	for _, word := range p.words {
		all = append(all, named{word, ""})
	}
	for _, flag := range p.flags {
		for _, word := range flag.words {
			all = append(all, named{word, flag.help})
		}
	}
	return all
}

// valued calls a function with each flag of a place whose value is one of a few, and with what the
// shell sees of it: the place and the word.
func (p place) valued(each func(pattern, values string)) {
	for _, flag := range p.flags {
		for _, word := range flag.words {
			if flag.takesValue {
				each(quote(p.at+" "+word), strings.Join(flag.values, " "))
			}
		}
	}
}

func completeBash(out io.Writer, program string, places []place) error {
	s := &script{out: out}
	s.line("# bash completion of %s. In ~/.bashrc: source <(%s completion bash)", program, program)
	s.line("_%s() {", program)
	s.line("  local cur=${COMP_WORDS[COMP_CWORD]} at= word words i")
	s.line("  for ((i = 1; i < COMP_CWORD; i++)); do")
	s.line("    word=${COMP_WORDS[i]}")
	s.line("    case \"$at $word\" in")
	s.walk(places, "|")
	s.line("    esac")
	s.line("  done")
	s.line("  COMPREPLY=()")
	s.line("  case \"$at ${COMP_WORDS[COMP_CWORD-1]}\" in")
	for _, one := range places {
		one.valued(func(pattern, values string) {
			s.line("    %s) COMPREPLY=($(compgen -W %s -- \"$cur\")); return ;;", pattern, quote(values))
		})
	}
	s.line("  esac")
	s.line("  case \"$at\" in")
	for _, one := range places {
		var words []string
		for _, word := range one.all() {
			words = append(words, word.word)
		}
		s.line("    %s) words=%s ;;", quote(one.at), quote(strings.Join(words, " ")))
	}
	s.line("  esac")
	s.line("  # Flags are offered after a dash, or where there is nothing else.")
	s.line("  if [[ $cur != -* ]]; then")
	s.line("    words=\" $words\" words=${words%%%% -*}")
	s.line("  fi")
	s.line("  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))")
	s.line("}")
	s.line("complete -o default -F _%s %s", program, program)
	return s.err
}

func completeZsh(out io.Writer, program string, places []place) error {
	s := &script{out: out}
	s.line("#compdef %s", program)
	s.line("# zsh completion of %s. In ~/.zshrc, after compinit: source <(%s completion zsh)", program,
		program)
	s.line("_%s() {", program)
	s.line("  local at= word i")
	s.line("  local -a found")
	s.line("  for ((i = 2; i < CURRENT; i++)); do")
	s.line("    word=$words[i]")
	s.line("    case \"$at $word\" in")
	s.walk(places, "|")
	s.line("    esac")
	s.line("  done")
	s.line("  case \"$at $words[CURRENT-1]\" in")
	for _, one := range places {
		one.valued(func(pattern, values string) {
			action := "_files"
			if values != "" {
				action = "compadd -- " + values
			}
			s.line("    %s) %s; return ;;", pattern, action)
		})
	}
	s.line("  esac")
	s.line("  case \"$at\" in")
	for _, one := range places {
		var words []string
		for _, word := range one.all() {
			text := strings.ReplaceAll(word.word, ":", `\:`)
			if word.help != "" {
				text += ":" + word.help
			}
			words = append(words, quote(text))
		}
		s.line("    %s) found=(%s) ;;", quote(one.at), strings.Join(words, " "))
	}
	s.line("  esac")
	s.line("  # Flags are offered after a dash only.")
	s.line("  [[ $PREFIX == -* ]] || found=(${found:#-*})")
	s.line("  (( $#found )) && _describe %s found || _files", program)
	s.line("}")
	s.line("if [[ $funcstack[1] == _%s ]]; then _%s \"$@\"; else compdef _%s %s; fi", program,
		program, program, program)
	return s.err
}

func completeFish(out io.Writer, program string, places []place) error {
	s := &script{out: out}
	s.line("# fish completion of %s: %s completion fish | source", program, program)
	s.line("function __%s_at", program)
	s.line("  set -l at ''")
	s.line("  for word in (commandline -opc)[2..-1]")
	s.line("    switch \"$at $word\"")
	var known []string
	for _, one := range places[1:] {
		known = append(known, quote(one.at))
	}
	s.line("      case %s", strings.Join(known, " "))
	s.line("        set at \"$at $word\"")
	s.line("    end")
	s.line("  end")
	s.line("  test \"$at\" = \"$argv[1]\"")
	s.line("end")
	for _, one := range places {
		begin := fmt.Sprintf("complete -c %s -n %s", program, quote("__"+program+"_at "+quote2(one.at)))
		for _, command := range one.commands {
			s.line("%s -f -a %s -d %s", begin, quote(command.word), fishQuote(command.help))
		}
		if len(one.words) > 0 {
			s.line("%s -f -a %s", begin, quote(strings.Join(one.words, " ")))
		}
		for _, flag := range one.flags {
			form := "-l " + strings.TrimPrefix(flag.words[0], "--")
			if len(flag.words) > 1 {
				form += " -s " + strings.TrimPrefix(flag.words[1], "-")
			}
			switch {
			case len(flag.values) > 0:
				form += " -x -a " + quote(strings.Join(flag.values, " "))
			case flag.takesValue:
				form += " -r"
			}
			s.line("%s %s -d %s", begin, form, fishQuote(flag.help))
		}
	}
	return s.err
}

// quote2 is a word of a command line that is quoted as a whole.
func quote2(text string) string { return `"` + text + `"` }

// fishQuote is quote for fish, whose single quotes know a backslash.
func fishQuote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
