package identity

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/fault"
)

// everyList is a profile with values in all its lists.
var everyList = [ProfileCategories][]string{
	{"go", "Rust"}, {"storage"}, {"code", "review"}, {"profiling"}, {"reviews"},
}

// lists are the values that a line gives, each list with its name and set apart by bars.
func (b *table) declaration() Command {
	command := &DeclareProfile{Caller: b.caller()}
	for category := range ProfileCategories {
		text, given := b.args[category.String()]
		if count, long := strings.CutPrefix(text, "many:"); long {
			command.Lists[category] = slices.Repeat([]string{"x"}, len(count))
			continue
		}
		if given {
			command.Lists[category] = strings.Split(text, "|")
		}
	}
	return command
}

// profile writes what an agent says of itself.
func (b *table) profile() string {
	agent, _ := b.v.state.Agent(b.agents[b.args["agent"]])
	said := agent.Profile()
	if said == nil {
		return "none"
	}
	out := "at=" + formatTime(said.DeclaredAt)
	for category, values := range said.Lists {
		if len(values) > 0 {
			out += " " + ProfileCategory(category).String() + "=" + strings.Join(values, "|")
		}
	}
	return out
}

func (w *world) declaration() Command {
	command := &DeclareProfile{Caller: w.caller()}
	for category := range command.Lists {
		command.Lists[category] = rapid.SliceOfN(
			rapid.SampledFrom([]string{"a", "B", "b", " c ", ""}), 0, 3,
		).Draw(w.rt, "values")
	}
	return command
}

// A list of the most and the longest values is taken, and one value or one character more is not.
func TestProfileBounds(t *testing.T) {
	v := newServer()
	caller := callerOf(v.register(t, "ada").Session)
	declare := func(values []string) fault.Code {
		command := &DeclareProfile{Caller: caller}
		command.Lists[ProfileDomains] = values
		_, err := v.do(command)
		return fault.CodeOf(err)
	}
	most := make([]string, ProfileItemsMax)
	for i := range most {
		most[i] = strings.Repeat("ä", ProfileItemCharsMax-1) + string(rune('一'+i))
	}
	if code := declare(most); code != "" {
		t.Errorf("the most values: %s", code)
	}
	agent, _ := v.state.Agent(caller.Agent)
	if got := agent.Profile().Lists[ProfileDomains]; !slices.Equal(got, most) {
		t.Errorf("kept %d values of %d", len(got), len(most))
	}
	for name, values := range map[string][]string{
		"one more":     append(slices.Clip(most), "x"),
		"one longer":   {strings.Repeat("ä", ProfileItemCharsMax+1)},
		"no text":      {"a\xff"},
		"two lines":    {"a\nb"},
		"nothing":      {"a", " "},
		"no value":     {""},
		"as a control": {"\x7f"},
	} {
		if code := declare(values); code != fault.ValidationFailed {
			t.Errorf("%s: %q", name, code)
		}
	}
}
