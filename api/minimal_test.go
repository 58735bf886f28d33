package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pws/api/jsonschema"
)

// minimalMax bounds the minimal answer of every example, in bytes.
const minimalMax = 1400

// neededLater are members of the examples that later calls need, by operation.
var neededLater = map[string]string{
	"agent.register_start":    "challenge_id challenge signing_payload expires_at",
	"agent.register_complete": "agent.id key.id session.id session.credential session.expires_at",
	"auth.challenge":          "challenge_id challenge signing_payload",
	"auth.session":            "session.credential session.expires_at",
	"key.add_start":           "challenge_id challenge signing_payload",
	"project.create":          "project.id project.head_changeset_id project.version",
	"project.fork":            "project.id project.head_changeset_id",
	"project.update":          "project.version",
	"file.write":              "file.blob_hash changeset.id created",
	"file.edit":               "file.blob_hash changeset.id",
	"file.delete":             "changeset.id",
	"changeset.publish":       "changeset.id changeset.operation_count",
	"state.update":            "state.version state.changeset_id",
	"handoff.create":          "handoff.id",
	"checkpoint.create":       "checkpoint.id changeset.id state.version state_dropped handoff.id",
	"task.create":             "task.id task.version",
	"task.claim":              "task.id claim.id claim.fencing_token claim.expires_at",
	"task.renew":              "claim.fencing_token claim.expires_at claim.renew_after_seconds",
	"task.claim_next":         "task.id task.title task.description claim.id claim.fencing_token",
	"task.update":             "task.status task.claim.expires_at",
	"workspace.open":          "workspace.id workspace.head_changeset_id workspace.revision",
	"workspace.file.write":    "file.blob_hash revision",
	"turn.take":               "workspace.id turn.expires_at",
	"workspace.submit":        "contribution.id contribution.current_revision_id workspace.status",
	"contribution.accept":     "contribution.status changeset.id",
	"project.import":          "project.id changeset.id imported.files left_out.artifacts",
	"artifact.create":         "artifact.id",
	"project.watch":           "watch.watching",
	"inbox.update":            "updated",
}

// exampleData is the data of the recorded answer of an operation.
func exampleData(t *testing.T, op *Operation) []byte {
	t.Helper()
	text, err := os.ReadFile("docs/examples/" + op.Name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var example struct {
		Response struct {
			Body struct{ Data json.RawMessage }
		}
	}
	if err := json.Unmarshal(text, &example); err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, example.Response.Body.Data); err != nil {
		t.Fatal(err)
	}
	return compact.Bytes()
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

// TestMinimalAnswers: the minimal answer of every write is a part of the full one, has nothing that
// its schema does not list, is small, and has what later calls need.
func TestMinimalAnswers(t *testing.T) {
	seen := 0
	for _, op := range Table {
		filter := op.Minimal()
		if (filter != nil) != op.Writes() {
			t.Errorf("%s: writes %v, has a minimal answer %v", op.Name, op.Writes(), filter != nil)
		}
		if filter == nil {
			continue
		}
		full := exampleData(t, op)
		small := filter.Apply(bytes.Clone(full))
		whole, minimal := decoded(t, full), decoded(t, small)
		if len(small) > minimalMax {
			t.Errorf("%s: %d bytes: %s", op.Name, len(small), small)
		}
		all := jsonschema.NewSchemas("#/$defs/")
		all.AddFiltered(op.MinimalName(), filter)
		if problem := isPart(minimal, whole, all, all.Document("", op.MinimalName())); problem != "" {
			t.Errorf("%s: %s in %s", op.Name, problem, small)
		}
		for _, path := range strings.Fields(neededLater[op.Name]) {
			if memberAt(minimal, path) == nil {
				t.Errorf("%s: no %s in %s", op.Name, path, small)
			}
		}
		if neededLater[op.Name] != "" {
			seen++
		}
		if again := filter.Apply(bytes.Clone(small)); !bytes.Equal(again, small) {
			t.Errorf("%s: %s, a second time %s", op.Name, small, again)
		}
	}
	if seen != len(neededLater) {
		t.Errorf("%d of %d operations are there", seen, len(neededLater))
	}
}

// isPart compares a minimal value with the full one and its schema. It returns the first problem.
func isPart(small, full any, all *jsonschema.Schemas, schema jsonschema.Object) string {
	if ref, refers := schema.Get("$ref").(string); refers {
		schema = all.Document("", strings.TrimPrefix(ref, "#/$defs/"))
	}
	switch small := small.(type) {
	case map[string]any:
		whole, _ := full.(map[string]any)
		properties, _ := schema.Get("properties").(jsonschema.Object)
		for name, one := range small {
			if one == nil || whole[name] == nil {
				return name + " is null or not in the full answer"
			}
			declared, _ := properties.Get(name).(jsonschema.Object)
			if declared == nil {
				return name + " is not in the schema"
			}
			if problem := isPart(one, whole[name], all, declared); problem != "" {
				return problem
			}
		}
	case []any:
		whole, _ := full.([]any)
		items, _ := schema.Get("items").(jsonschema.Object)
		if len(small) != len(whole) || len(small) == 0 {
			return "a list is empty or of another length"
		}
		for i := range small {
			if problem := isPart(small[i], whole[i], all, items); problem != "" {
				return problem
			}
		}
	default:
		if fmt.Sprint(small) != fmt.Sprint(full) {
			return fmt.Sprintf("%v is not %v", small, full)
		}
	}
	return ""
}

func memberAt(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// TestMinimalNames: two writes share a schema of the minimal answer only if it is the same, and
// every listed name is that of a member.
func TestMinimalNames(t *testing.T) {
	listed := slices.Concat(minimalTexts, minimalFlags, minimalWhole, minimalLists, minimalInner)
	defs, used := map[string]string{}, map[string]bool{}
	for _, op := range Table {
		if op.Minimal() == nil {
			continue
		}
		all := jsonschema.NewSchemas("#/$defs/")
		all.AddFiltered(op.MinimalName(), op.Minimal())
		text, err := all.Document("", op.MinimalName()).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if other, known := defs[op.MinimalName()]; known && other != string(text) {
			t.Errorf("%s: another schema has the name %s", op.Name, op.MinimalName())
		}
		defs[op.MinimalName()] = string(text)
		for _, name := range slices.Concat(listed, op.Kept) {
			used[name] = used[name] || strings.Contains(string(text), `"`+name+`":`)
		}
	}
	for name, found := range used {
		if !found {
			t.Errorf("no minimal answer has %s", name)
		}
	}
}

// TestMinimalChangeset bounds the minimal answer to a changeset of 100 operations.
func TestMinimalChangeset(t *testing.T) {
	const bytesMax = 1000
	at := slices.IndexFunc(Table, func(op *Operation) bool { return op.Name == "changeset.publish" })
	op := Table[at]
	var data struct {
		Changeset map[string]json.RawMessage `json:"changeset"`
	}
	if err := json.Unmarshal(exampleData(t, op), &data); err != nil {
		t.Fatal(err)
	}
	var one []json.RawMessage
	if err := json.Unmarshal(data.Changeset["operations"], &one); err != nil {
		t.Fatal(err)
	}
	many, err := json.Marshal(slices.Repeat(one[:1], 100))
	if err != nil {
		t.Fatal(err)
	}
	data.Changeset["operations"] = many
	full, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	whole := len(full)
	small := op.Minimal().Apply(full)
	t.Logf("%d bytes of %d", len(small), whole)
	if len(small) > bytesMax || whole < 10*bytesMax {
		t.Errorf("%d bytes of %d: %s", len(small), whole, small)
	}
}
