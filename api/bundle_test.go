package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pws/api"
	"pws/api/jsonschema"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Do implements api.Engine.
func (d *fakeEngine) Do(order api.Order) (api.Done, error) {
	return d.order(order.Project, order.Agent, order.Command)
}

// Readable implements api.Engine: there is no project but this one.
func (d *fakeEngine) Readable(project, agent id.ID) (bool, error) {
	return project == d.project.ID && d.project.Readable(agent), nil
}

// Summary implements api.Engine.
func (d *fakeEngine) Summary(id.ID) (*work.Project, error) { return d.project, nil }

func (d *fakeEngine) order(project, agent id.ID, command work.Command) (api.Done, error) {
	d.steps++
	stamp := work.Stamp{Now: d.now, Agent: agent}
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, d.steps))
	copy(stamp.Entropy[:], sum[:])
	stamp = stamp.In(project)
	if err := command.Authorize(d.project, agent); err != nil {
		return api.Done{}, err
	}
	decision, err := work.Decide(command, d.project, stamp)
	if err != nil || len(decision.Events) == 0 {
		return api.Done{Project: d.project, Result: decision.Result}, err
	}
	next := work.NewProject()
	if d.project != nil {
		next = d.project.Clone()
	}
	for _, event := range decision.Events {
		next.Apply(event, work.Moment{Now: d.now, Agent: agent})
	}
	for _, blob := range decision.Blobs {
		d.blobs[blob.Hash] = blob.Content
	}
	d.project = next
	return api.Done{Project: next, Result: decision.Result}, nil
}

func (d *fakeEngine) asks(name, who string) *api.Call {
	return &api.Call{
		Service: d.service, Operation: operation(name), Now: d.now, Query: map[string]string{},
		Agent: agent(who), Session: new(identity.Session), RequestID: fmt.Sprint(name, d.steps),
	}
}

// export returns the bundle of the project for an agent.
func (d *fakeEngine) export(t failer, who string, full bool) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := d.exportTo(&out, who, full); err != nil {
		t.Fatalf("export: %v", err)
	}
	return out.Bytes()
}

func (d *fakeEngine) exportTo(w io.Writer, who string, full bool) error {
	c := d.asks("project.export", who)
	c.Params = []string{d.project.ID.Format(id.Project)}
	// The sessions of this engine are no live ones, and an export asks for those.
	c.Session = nil
	if full {
		c.Query["history"] = "full"
	}
	reply, err := c.Operation.Run(c, c.Operation.NewRequest())
	if err != nil {
		return err
	}
	// The data is rendered after the call, when its memory may be reused.
	*c = api.Call{}
	return reply.Data.(api.Stream)(w)
}

// imports makes a project from the data of an export, on its own fakeEngine. An upload of the data
// must have the same result.
func imports(data []byte, who string) (*fakeEngine, api.ImportedData, error) {
	d, answer, err := importsAs(append(bytes.Clone(bytes.TrimSuffix(data, []byte("}"))),
		`,"visibility":"PRIVATE"}`...), who)
	sameAsUpload(data, who, d, err)
	return d, answer, err
}

// importsAs sends the body of a request unchanged.
func importsAs(body []byte, who string) (*fakeEngine, api.ImportedData, error) {
	d := newFakeEngine()
	d.join("ann", "ann")
	d.join("bob", "bob")
	d.now = testNow + 1_000_000_000
	c := d.asks("project.import", who)
	request := c.Operation.NewRequest()
	if err := jsonschema.Decode(body, request); err != nil {
		return nil, api.ImportedData{}, err
	}
	reply, err := c.Operation.Run(c, request)
	if err != nil {
		return nil, api.ImportedData{}, err
	}
	return d, reply.Data.(api.ImportedData), nil
}

func mustImport(t failer, data []byte) (*fakeEngine, api.ImportedData) {
	t.Helper()
	d, answer, err := imports(data, "bob")
	if err != nil {
		var refusal *fault.Error
		if errors.As(err, &refusal) {
			t.Fatalf("import: %v %v", err, refusal.Details)
		}
		t.Fatalf("import: %v", err)
	}
	return d, answer
}

// TestBundleRoundTrip exports, imports and exports again. All bundles are the same but for IDs.
func TestBundleRoundTrip(t *testing.T) {
	answer := schema(t, "project.export")
	rapid.Check(t, func(t *rapid.T) {
		d := anyProject(t)
		full := rapid.Bool().Draw(t, "full")
		first := d.export(t, "ann", full)
		fits(t, answer, first)
		again, counted := mustImport(t, first)
		second := again.export(t, "bob", full)
		fits(t, answer, second)
		if diff := cmp.Diff(sameForm(t, first, full), sameForm(t, second, full)); diff != "" {
			t.Fatalf("imported: %s", diff)
		}
		// A project without its earlier history can be exported with its own.
		mustImport(t, again.export(t, "bob", true))
		third, _ := mustImport(t, second)
		if diff := cmp.Diff(sameForm(t, first, full),
			sameForm(t, third.export(t, "bob", full), full)); diff != "" {
			t.Fatalf("imported twice: %s", diff)
		}
		if full && counted.Imported.Changesets != d.project.ChangesetsCount() ||
			!full && counted.Imported.Changesets != 1 ||
			counted.Imported.Tasks != d.project.TasksTotal() {
			t.Fatalf("counted %+v", counted.Imported)
		}
		checkImported(t, again.project)
		checkIDs(t, first, second, counted.IDs)
	})
}

// checkIDs expects the new IDs of all records that were imported, by those of the bundle.
func checkIDs(t failer, bundle, imported []byte, ids map[string]string) {
	t.Helper()
	before, after := object(t, bundle)["bundle"], object(t, imported)["bundle"]
	for _, section := range []string{
		"handoffs", "tasks", "artifacts", "verification", "discussions", "comments",
		"contributions", "imports",
	} {
		made := map[string]map[string]any{}
		for _, one := range at(after, section).([]any) {
			made[at(one, "id").(string)] = one.(map[string]any)
		}
		mapped := 0
		for _, one := range at(before, section).([]any) {
			record, known := made[ids[at(one, "id").(string)]]
			if !known {
				continue
			}
			mapped++
			for _, member := range []string{
				"title", "summary", "name", "body", "artifact_name", "priority",
			} {
				if old, ok := one.(map[string]any)[member]; ok && record[member] != old {
					t.Fatalf("%s: %s is %v, want %v", section, member, record[member], old)
				}
			}
		}
		if mapped != len(made) {
			t.Fatalf("%s: %d of %d new records are in id_map", section, mapped, len(made))
		}
	}
}

// checkImported checks what does not depend on the bundle: the agents of the records.
func checkImported(t failer, p *work.Project) {
	t.Helper()
	for nth := range p.ChangesetsCount() {
		c := p.ChangesetNumber(uint32(nth + 1))
		if c.Author != agent("bob") || c.Source != work.SourceImport ||
			c.ID.ProjectBits() != p.ID.ProjectBits() {
			t.Fatalf("changeset %d is %+v", nth, c)
		}
	}
	p.Tasks(id.ID{}, testNow, func(task *work.Task) bool {
		if task.CreatedBy != agent("bob") || task.Claim != nil {
			t.Fatalf("task %+v", task)
		}
		return true
	})
	if p.Owner != agent("bob") || p.Visibility != work.Private || len(p.Members()) != 1 {
		t.Fatalf("the project is %s's, %s, with %d members", p.Owner.Format(id.Agent),
			p.Visibility, len(p.Members()))
	}
}

// TestBundleOfAnotherFormatter: other programs may parse a bundle and write it again.
func TestBundleOfAnotherFormatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := anyProject(t).export(t, "ann", true)
		var value any
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("%v", err)
		}
		// Sorted keys, HTML escapes and spaces.
		again, err := json.MarshalIndent(value, "", "\t")
		if err != nil {
			t.Fatalf("%v", err)
		}
		mustImport(t, bytes.TrimSpace(again))
	})
}

// leastBundle has only the required members of a bundle.
const leastBundle = `{"bundle":{"format":"SERVICE_PROJECT_BUNDLE","bundle_version":1,` +
	`"project":{"id":"prj_00000000000000000000000001","name":"p",` +
	`"head_changeset_id":"chg_00000000000000000000000001"},"files":[],"history":[{` +
	`"id":"chg_00000000000000000000000001","sequence":1,` +
	`"author":{"agent_id":"agt_00000000000000000000000001"},"source":{"type":"PROJECT"},` +
	`"operations":[]}]}}`

func TestBundleOfLittle(t *testing.T) {
	d, answer := mustImport(t, []byte(leastBundle))
	if answer.Project.Name != "p" || d.project.ChangesetsCount() != 1 ||
		d.project.State().Version != 1 {
		t.Errorf("%+v", answer)
	}
	fits(t, schema(t, "project.export"), d.export(t, "bob", true))
}

// TestBundleInTheEngine imports without a key, twice, and with one.
func TestBundleInTheEngine(t *testing.T) {
	o := newTestEngine(t)
	ann := o.register("ann")
	body := strings.TrimSuffix(leastBundle, "}") + `,"visibility":"PRIVATE"}`
	seen := map[any]bool{}
	for _, key := range []string{"", "once", "once"} {
		_, data, err := o.call(ann, request{operation: "project.import", body: body, key: key})
		if err != nil {
			t.Fatal(err)
		}
		seen[at(data, "project", "id")] = true
	}
	if len(seen) != 2 {
		t.Errorf("%d projects, want 2", len(seen))
	}
}
