package setup

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the expected files")

// hostPlace is that of the user, or of a project.
func hostPlace(project bool) Place {
	place := Place{
		Home:   "/home/u",
		Lookup: func(string) (string, bool) { return "", false },
	}
	if project {
		place.Dir = "/home/u/project"
	}
	return place
}

// TestHosts compares what each host gets with the files in testdata.
func TestHosts(t *testing.T) {
	for _, host := range Hosts {
		for _, project := range []bool{false, true} {
			parts, err := Parts(host, hostPlace(project))
			if errors.Is(err, ErrNoPart) && host == "agents-md" && !project {
				continue
			}
			if err != nil {
				t.Fatal(host, err)
			}
			var out strings.Builder
			files := map[string][]byte{}
			for _, part := range parts {
				fmt.Fprintf(&out, "%s %s\n", part.What, filepath.ToSlash(part.Path))
				if part.Add != nil {
					fmt.Fprintf(&out, "add  %q\ndrop %q\n", part.Add, part.Drop)
				}
				if files[part.Path], err = part.Put(files[part.Path]); err != nil {
					t.Fatal(host, err)
				}
			}
			for _, path := range slices.Sorted(keys(files)) {
				fmt.Fprintf(&out, "\n== %s\n%s", filepath.ToSlash(path), files[path])
			}
			for _, part := range parts {
				if files[part.Path], err = part.Remove(files[part.Path]); err != nil {
					t.Fatal(host, err)
				}
			}
			for path, left := range files {
				if len(left) > 0 {
					t.Errorf("%s leaves %s: %s", host, path, left)
				}
			}
			golden(t, fmt.Sprintf("%s-project-%t", host, project), out.String())
		}
	}
}

func keys(files map[string][]byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		for path := range files {
			if !yield(path) {
				return
			}
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s differs (%v):\n%s", path, err, got)
	}
}

// everyPart calls do with each part of each host.
func everyPart(t interface{ Fatal(...any) }, do func(name string, part Part)) {
	for _, host := range Hosts {
		for _, project := range []bool{false, true} {
			parts, err := Parts(host, hostPlace(project))
			if err != nil && !errors.Is(err, ErrNoPart) {
				t.Fatal(host, err)
			}
			for _, part := range parts {
				do(fmt.Sprintf("%s %s of a project %t", host, part.What, project), part)
			}
		}
	}
}

// anyJSON draws a text of JSON as people write it.
func anyJSON(t *rapid.T) string {
	var value func(depth int, indent string) string
	extra := func(label string) string {
		return rapid.SampledFrom([]string{"", "", "", " // a note\n", " /* a note */ "}).Draw(t, label)
	}
	names := []string{
		"mcpServers", "servers", "mcp", "hooks", "SessionStart", "sessionStart", "other", "version",
		"command", "a b",
	}
	value = func(depth int, indent string) string {
		kind := rapid.IntRange(0, 4).Draw(t, "kind")
		if depth == 0 {
			kind = 0
		}
		if depth > 3 || kind > 2 {
			return rapid.SampledFrom([]string{"1", `"x"`, "null", `"a // b"`, "true"}).Draw(t, "leaf")
		}
		many := rapid.IntRange(0, 3).Draw(t, "many")
		own := slices.Clone(rapid.Permutation(names).Draw(t, "names"))[:many]
		newline, inner, end := "\n"+indent+"\t", indent+"\t", "\n"+indent
		if rapid.Bool().Draw(t, "inline") {
			newline, end = "", ""
		}
		open, shut := "{", "}"
		if kind == 2 {
			open, shut = "[", "]"
		}
		var out strings.Builder
		out.WriteString(open + extra("first"))
		for nth, name := range own {
			out.WriteString(newline)
			if open == "{" {
				out.WriteString(`"` + name + `": `)
			}
			out.WriteString(value(depth+1, inner))
			if nth < many-1 || rapid.IntRange(0, 3).Draw(t, "comma") == 0 {
				out.WriteString(",")
			}
			out.WriteString(extra("after"))
		}
		out.WriteString(end + shut)
		return out.String()
	}
	return value(0, "") + rapid.SampledFrom([]string{"", "\n", "\n// end\n"}).Draw(t, "end")
}

// meaning is a text without comments, as values; ours is taken out.
func meaning(t *rapid.T, text []byte) any {
	plain, err := hujson.Standardize(slices.Clone(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var all any
	if err := json.Unmarshal(plain, &all); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return all
}

// TestEditsKeepAllElse puts entries into any texts and takes them out again.
func TestEditsKeepAllElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(anyJSON(t))
		everyPart(t, func(name string, part Part) {
			if !strings.HasSuffix(part.Path, ".json") {
				return
			}
			with, err := part.Put(text)
			if err != nil {
				// A member that must be an object or a list is something else: nothing is changed.
				return
			}
			again, err := part.Put(with)
			if err != nil || string(again) != string(with) {
				t.Fatalf("%s, twice (%v):\n%s\nthen\n%s", name, err, with, again)
			}
			without, err := part.Remove(with)
			if err != nil {
				t.Fatalf("%s, removing from %s: %v", name, with, err)
			}
			was, is := pruned(meaning(t, text)), map[string]any(nil)
			if len(without) > 0 {
				is = pruned(meaning(t, without))
			}
			if len(was) != len(is) || len(is) > 0 && !reflect.DeepEqual(was, is) {
				t.Fatalf("%s, put and removed:\n%s\nthen\n%s", name, text, without)
			}
			for _, note := range []string{"// a note", "/* a note */", "// end"} {
				if len(without) > 0 && strings.Count(string(text), note) !=
					strings.Count(string(without), note) {
					t.Fatalf("%s, a note is lost:\n%s\nthen\n%s", name, text, without)
				}
			}
		})
	})
}

// pruned is the members without objects and lists that are empty, and without the version of
// Cursor's hooks: removing may take those.
func pruned(all any) map[string]any {
	object, _ := all.(map[string]any)
	out := map[string]any{}
	for name, value := range object {
		switch inner := value.(type) {
		case map[string]any:
			if inner = pruned(inner); len(inner) > 0 {
				out[name] = inner
			}
		case []any:
			if len(inner) > 0 {
				out[name] = inner
			}
		default:
			if name != "version" {
				out[name] = value
			}
		}
	}
	return out
}

// TestRemovalRestoresTheText has files as people have them.
func TestRemovalRestoresTheText(t *testing.T) {
	for _, text := range []string{
		"{\n  \"theme\": \"dark\"\n}\n",
		"{\n\t\"theme\": \"dark\", // mine\n\t\"hooks\": {\n\t\t\"Stop\": []\n\t},\n}\n",
		"{\r\n    \"mcpServers\": {\r\n        \"other\": {\"command\": \"o\"}\r\n    }\r\n}\r\n",
		"\xef\xbb\xbf{\n  \"a\": 1\n}",
		`{"mcpServers": {"other": {"command": "o"}}, "version": 1, "hooks": {"Stop": [{}]}}`,
		"{\n  // nothing but this\n}\n",
		"{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\"hooks\": [{\"type\": \"command\"," +
			" \"command\": \"mine\"}]}\n    ]\n  }\n}\n",
	} {
		everyPart(t, func(name string, part Part) {
			if !strings.HasSuffix(part.Path, ".json") {
				return
			}
			with, err := part.Put([]byte(text))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			without, err := part.Remove(with)
			if err != nil || string(without) != text {
				t.Errorf("%s (%v):\n%q\nwith\n%q\nwithout\n%q", name, err, text, with, without)
			}
		})
	}
}

// TestStaleEntriesAreReplaced has entries of an earlier version, and some twice.
func TestStaleEntriesAreReplaced(t *testing.T) {
	const before = `{
  "hooks": {
    "SessionStart": [
      {"hooks": [{"type": "command", "command": "mine"},
        {"type": "command", "command": "/opt/pws hook session-start"}]},
      {"hooks": [{"type": "command", "command": "pws hook session-start --old"}]},
      {"hooks": [{"type": "command", "command": "pws hook session-start"}]}
    ],
    "Stop": [{"hooks": [{"type": "command", "command": "pws hook session-end"}]}]
  },
  "mcpServers": {"pws": {"command": "/old/pws", "env": {"PWS_PROFILE": "bee"}}}
}`
	parts, err := Parts("gemini", hostPlace(false))
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(before)
	for _, part := range parts {
		if text, err = part.Put(text); err != nil {
			t.Fatal(err)
		}
	}
	shown := string(text)
	for word, want := range map[string]int{
		`"command": "mine"`: 1, "hook session-start": 1, "--old": 0, `"PWS_PROFILE": "bee"`: 1,
		"/old/pws": 0, "hook beat": 1,
	} {
		if got := strings.Count(shown, word); got != want {
			t.Errorf("%q is there %d times, want %d:\n%s", word, got, want, shown)
		}
	}
	for _, part := range parts {
		if text, err = part.Remove(text); err != nil {
			t.Fatal(err)
		}
	}
	if left := string(text); strings.Contains(left, "pws") || !strings.Contains(left, `"mine"`) {
		t.Errorf("left:\n%s", left)
	}
}

// TestEditsRefuseWhatTheyDoNotUnderstand changes nothing in broken files.
func TestEditsRefuseWhatTheyDoNotUnderstand(t *testing.T) {
	for _, text := range []string{
		"[]", "{", `{"mcpServers": [], "servers": 1, "mcp": "x", "hooks": []}`,
		`{"mcpServers": {}, "mcpServers": {}, "servers": {}, "servers": {}, "mcp": {}, "mcp": {}, ` +
			`"hooks": {}, "hooks": {}}`,
	} {
		everyPart(t, func(name string, part Part) {
			if !strings.HasSuffix(part.Path, ".json") {
				return
			}
			if out, err := part.Put([]byte(text)); err == nil {
				t.Errorf("%s takes %s: %s", name, text, out)
			}
		})
	}
}

func TestPutTableIsIdempotent(t *testing.T) {
	for _, text := range []string{
		"", "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = \"o\"\n", "[a]\nb = 1\n",
		"mcp_servers.other.command = \"o\"\n", "[a]\r\nb = 1\r\n", "[a]\n\n\n",
	} {
		with, err := putTable([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, err := putTable(with)
		if err != nil || string(again) != string(with) || !strings.HasPrefix(string(with), text) {
			t.Errorf("%q, twice: %v\n%s\nthen\n%s", text, err, with, again)
		}
		without, err := removeTable(with)
		if err != nil || string(without) != text {
			t.Errorf("%q, removed: %v\n%q", text, err, without)
		}
	}
	// The table that Codex itself writes, and an old one.
	const other = "[mcp_servers.pws]\ncommand = \"pws\"\nargs = [\"mcp\"]\nstartup_timeout_sec = 5\n"
	if with, err := putTable([]byte(other)); err != nil || string(with) != other {
		t.Errorf("of Codex: %v\n%s", err, with)
	}
	const old = "[mcp_servers.pws]\ncommand = \"/old\"\n[mcp_servers.pws.env]\nA = \"b\"\n[x]\ny = 1\n"
	with, err := putTable([]byte(old))
	if err != nil || strings.Contains(string(with), "/old") || !strings.Contains(string(with), "[x]") {
		t.Errorf("an old one: %v\n%s", err, with)
	}
	for _, bad := range []string{"= 1", "mcp_servers = {other = {command = \"o\"}}\n"} {
		if with, err := putTable([]byte(bad)); err == nil {
			t.Errorf("%q gives %s", bad, with)
		}
	}
	if _, err := removeTable([]byte("mcp_servers = {pws = {command = \"o\"}}\n")); err == nil {
		t.Error("a table in one line was removed")
	}
}

func TestPutBlockIsIdempotent(t *testing.T) {
	for _, text := range []string{
		"", "# Mine\n", "# Mine\n\nText.\n", "# Mine\r\n\r\nText.\r\n", "# Mine\n\n\n",
	} {
		with := putBlock([]byte(text), agentsBlock)
		again := putBlock(with, agentsBlock)
		if string(again) != string(with) || !strings.HasPrefix(string(with), text) {
			t.Errorf("%q, twice:\n%s", text, again)
		}
		if without := removeBlock(with); string(without) != text {
			t.Errorf("%q, removed: %q", text, without)
		}
		// Edited, and there a second time.
		edited := strings.Replace(string(with), "outlives", "ends", 1)
		fixed := string(putBlock([]byte(edited+block("second")+"End.\n"), agentsBlock))
		if fixed != string(with)+"End.\n" {
			t.Errorf("%q, edited and doubled:\n%s", text, fixed)
		}
	}
}

// TestLostEndOfABlock has a first mark whose end was lost: the user's text after it stays.
func TestLostEndOfABlock(t *testing.T) {
	lost := strings.Replace(block("once\n"), blockEnd+"\n", "", 1) + "\n# Mine\n\nText.\n"
	with := string(putBlock([]byte(lost), agentsBlock))
	if !strings.HasPrefix(with, lost) || string(putBlock([]byte(with), agentsBlock)) != with {
		t.Errorf("put:\n%s", with)
	}
	edited := strings.Replace(with, "outlives", "ends", 1)
	if fixed := string(putBlock([]byte(edited), agentsBlock)); fixed != with {
		t.Errorf("replaced:\n%s", fixed)
	}
	if without := string(removeBlock([]byte(with))); without != lost {
		t.Errorf("removed:\n%s", without)
	}
	const lostTable = "# pws:begin, written by pws setup\n# Mine.\n[other]\na = 1 # mine\n"
	table, err := putTable([]byte(lostTable))
	if err != nil || !strings.HasPrefix(string(table), lostTable) {
		t.Errorf("put: %v\n%s", err, table)
	}
	if without, err := removeTable(table); err != nil || string(without) != lostTable {
		t.Errorf("removed: %v\n%s", err, without)
	}
}
