package api

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pws/api/jsonschema"
)

// toolNames are those of the published interface.
const toolNames = "project.create project.read project.manifest project.resume " +
	"project.checkpoint project.grep file.list file.read file.write file.edit changeset.commit " +
	"handoff.create task.list task.claim " +
	"workspace.create workspace.file.read workspace.file.write workspace.file.edit " +
	"workspace.file.delete " +
	"workspace.refresh contribution.submit contribution.read contribution.diff " +
	"contribution.review contribution.accept contribution.reject project.fork artifact.create " +
	"artifact.read artifact.list artifact.import project.relations project.relation.create " +
	"project.provenance search opportunities discussion.list discussion.create discussion.read " +
	"discussion.comment project.watch project.unwatch inbox.read inbox.update events.poll " +
	"verification.list verification.read verification.create file.read_batch project.export " +
	"report.create " +
	"agent.me project.list project.update member.list task.create task.update task.renew " +
	"task.release task.next contribution.list contribution.withdraw workspace.list " +
	"workspace.close changeset.list changeset.diff"

const coreNames = "agent.me project.list project.create project.resume project.checkpoint " +
	"file.list file.read file.edit project.grep changeset.commit task.list task.next task.update " +
	"search handoff.create inbox.read"

func TestToolNames(t *testing.T) {
	var all, core, plain []string
	for _, one := range Tools(Table) {
		all, plain = append(all, one.Name), append(plain, one.Plain)
		if one.Operation.Core {
			core = append(core, one.Name)
		}
	}
	for got, want := range map[*[]string]string{&all: toolNames, &core: coreNames} {
		names := strings.Fields(want)
		slices.Sort(names)
		slices.Sort(*got)
		if !slices.Equal(*got, names) {
			t.Errorf("%v, want %v", *got, names)
		}
	}
	slices.Sort(plain)
	if len(slices.Compact(plain)) != len(all) {
		t.Error("two tools have one name with underscores")
	}
}

// TestToolArguments: no argument is ambiguous, except those that query and body share.
func TestToolArguments(t *testing.T) {
	for _, one := range Tools(Table) {
		seen := map[string]bool{KeyArgument: one.Operation.Idempotency != NoKey ||
			one.Operation.Category == CategoryWrite}
		for _, param := range one.Operation.pathParams() {
			if seen[param.Name] {
				t.Errorf("%s has %s twice", one.Name, param.Name)
			}
			seen[param.Name] = true
		}
		shared := one.Operation.bodyMembers()
		for _, name := range shared {
			if seen[name] {
				t.Errorf("%s has %s twice", one.Name, name)
			}
			seen[name] = true
		}
		for _, param := range one.Operation.Query {
			if seen[param.Name] && !slices.Contains(shared, param.Name) {
				t.Errorf("%s has %s twice", one.Name, param.Name)
			}
		}
	}
}

func renderedTools(t *testing.T, tools []*Tool, core bool) []byte {
	t.Helper()
	text, err := RenderTools(tools, core)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestToolCatalogue holds the lists to what an agent can afford to read: about 17,000 tokens, and
// 6,000 for the core.
func TestToolCatalogue(t *testing.T) {
	const bytesMax, coreBytesMax = 4 * 17_000, 4 * 6000
	tools := Tools(Table)
	whole, core := renderedTools(t, tools, false), renderedTools(t, tools, true)
	t.Logf("%d bytes, the core %d", len(whole), len(core))
	if len(whole) > bytesMax || len(core) > coreBytesMax {
		for _, one := range tools {
			text, _ := json.Marshal(one.listed())
			t.Logf("%s %d", one.Name, len(text))
		}
		t.Errorf("the catalogue has %d bytes, its core %d", len(whole), len(core))
	}
	if again, _ := RenderTools(Tools(Table), false); !bytes.Equal(whole, again) {
		t.Error("the catalogue is not the same twice")
	}
	var list []struct {
		Name, Title, Description string
		InputSchema              struct {
			Type       string
			Properties map[string]struct {
				// Type is a name, or a list of names with null.
				Type        any
				Description string
			}
			Required             []string
			AdditionalProperties *bool
			OneOf, AnyOf, AllOf  []any
		}
		OutputSchema map[string]any
		Annotations  map[string]bool
	}
	if err := json.Unmarshal(whole, &list); err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		input := one.InputSchema
		if one.Title == "" || input.Type != "object" || input.AdditionalProperties == nil ||
			*input.AdditionalProperties || input.OneOf != nil || input.AnyOf != nil ||
			input.AllOf != nil || len(one.Annotations) != 4 {
			t.Errorf("%s: %+v", one.Name, one)
		}
		for name, property := range input.Properties {
			if property.Description == "" || property.Type == nil {
				t.Errorf("%s: %s is not described", one.Name, name)
			}
		}
		for _, name := range input.Required {
			if _, known := input.Properties[name]; !known {
				t.Errorf("%s requires %s", one.Name, name)
			}
		}
		if one.OutputSchema["type"] != "object" || one.OutputSchema["required"] != nil ||
			one.OutputSchema["additionalProperties"] != nil {
			t.Errorf("%s: %v", one.Name, one.OutputSchema)
		}
		// A refusal is no data, and has to pass where a client validates it against the
		// schema of the data.
		properties, _ := one.OutputSchema["properties"].(map[string]any)
		for _, name := range []string{
			"code", "message", "details", nextStepKey, nextCallsKey, NextCallKey,
		} {
			if properties[name] != nil {
				t.Errorf("%s: data has %s, as a refusal", one.Name, name)
			}
		}
	}
}

var (
	sentencePattern = regexp.MustCompile(`[.?!]( |$)`)
	dottedPattern   = regexp.MustCompile(`\b[a-z_]+(\.[a-z_]+)+\b`)
)

// TestToolTexts: a few sentences each, which name tools and nothing else.
func TestToolTexts(t *testing.T) {
	tools := Tools(Table)
	texts := map[string]string{
		"instructions": Instructions("https://pws.example", false),
		"core":         Instructions("https://pws.example", true),
	}
	for _, one := range tools {
		texts[one.Name] = one.description()
		if n := len(sentencePattern.FindAllString(one.description(), -1)); n < 2 || n > 3 {
			t.Errorf("%s: %d sentences", one.Name, n)
		}
	}
	for name, text := range texts {
		for _, found := range dottedPattern.FindAllString(text, -1) {
			known := slices.ContainsFunc(tools, func(one *Tool) bool { return one.Name == found })
			switch {
			case known, strings.HasPrefix(found, "details."), strings.HasSuffix(found, ".md"),
				found == "pws.example":
			default:
				t.Errorf("%s: %s is no tool", name, found)
			}
		}
	}
	const instructionsMax = 1500
	if n := len(texts["instructions"]); n > instructionsMax {
		t.Errorf("the instructions have %d characters", n)
	}
	if got := PlainNames(tools).Replace("workspace.file.read, file.read_batch, search"); got !=
		"workspace_file_read, file_read_batch, search" {
		t.Errorf("plain: %s", got)
	}
}

func TestToolHints(t *testing.T) {
	want := map[string][3]bool{
		"file.read": {true, false, true}, "file.write": {false, true, true},
		"workspace.file.delete": {false, true, true}, "contribution.reject": {false, true, false},
		"task.claim": {false, false, false}, "inbox.update": {false, false, false},
		"project.watch": {false, false, true}, "project.unwatch": {false, true, true},
		"file.read_batch": {true, false, true}, "report.create": {false, false, false},
		"project.checkpoint": {false, true, false}, "changeset.commit": {false, true, true},
		"file.edit": {false, true, false}, "workspace.file.edit": {false, true, false},
	}
	for _, one := range Tools(Table) {
		hints := one.hints()
		got := [3]bool{
			hints.Get("readOnlyHint") == true, hints.Get("destructiveHint") == true,
			hints.Get("idempotentHint") == true,
		}
		if expected, listed := want[one.Name]; listed && got != expected {
			t.Errorf("%s: %v", one.Name, got)
		}
		if hints.Get("openWorldHint") != false {
			t.Errorf("%s: open world", one.Name)
		}
	}
}

// TestOpaqueMembers: what somebody put there is left as it is.
func TestOpaqueMembers(t *testing.T) {
	for _, one := range Tools(Table) {
		if one.Name == "project.checkpoint" && len(one.Opaque) == 0 {
			t.Errorf("%s: %q", one.Name, one.Opaque)
		}
	}
	node := jsonschema.SchemaOf(Tools(Table)[0].Operation.Response, jsonschema.Response, "")
	if node.Get("$ref") == nil {
		t.Errorf("%v", node)
	}
}
