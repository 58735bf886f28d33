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
	"pws/api/shape"
	"pws/identity"
	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Do implements api.Engine.
func (d *desk) Do(order api.Order) (api.Done, error) {
	return d.order(order.Project, order.Agent, order.Command)
}

// Linked implements api.Engine: nothing names the project.
func (d *desk) Linked(index.Link, id.ID, int) []id.ID { return nil }

func (d *desk) order(project, agent id.ID, command work.Command) (api.Done, error) {
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
	next := new(work.Project)
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

func (d *desk) asks(name, who string) *api.Call {
	return &api.Call{
		Service: d.service, Operation: operation(name), Now: d.now, Query: map[string]string{},
		Agent: agent(who), Session: new(identity.Session), RequestID: fmt.Sprint(name, d.steps),
	}
}

// export is the bundle of the project as an agent gets it.
func (d *desk) export(t failer, who string, full bool) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := d.exportTo(&out, who, full); err != nil {
		t.Fatalf("export: %v", err)
	}
	return out.Bytes()
}

func (d *desk) exportTo(w io.Writer, who string, full bool) error {
	c := d.asks("project.export", who)
	c.Params = []string{d.project.ID.Format(id.Project)}
	if full {
		c.Query["history"] = "full"
	}
	reply, err := c.Operation.Run(c, c.Operation.NewRequest())
	if err != nil {
		return err
	}
	// The call is over, and its memory is another's, when the data is made.
	*c = api.Call{}
	return reply.Data.(api.Stream)(w)
}

// imports makes a project of the data of an export, on a desk of its own.
func imports(data []byte, who string) (*desk, api.ImportedData, error) {
	return importsAs(append(bytes.Clone(bytes.TrimSuffix(data, []byte("}"))),
		`,"visibility":"PRIVATE"}`...), who)
}

// importsAs sends the body of a request as it is.
func importsAs(body []byte, who string) (*desk, api.ImportedData, error) {
	d := newDesk()
	d.join("ann", "ann")
	d.join("bob", "bob")
	d.now = testNow + 1_000_000_000
	c := d.asks("project.import", who)
	request := c.Operation.NewRequest()
	if err := shape.Decode(body, request); err != nil {
		return nil, api.ImportedData{}, err
	}
	reply, err := c.Operation.Run(c, request)
	if err != nil {
		return nil, api.ImportedData{}, err
	}
	return d, reply.Data.(api.ImportedData), nil
}

func mustImport(t failer, data []byte) (*desk, api.ImportedData) {
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

// anyText has what a text of a request may have.
func anyText(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"x", "two\nlines", "tab\t\"quoted\" \\", "é😀\u2028", strings.Repeat("word ", 50),
	}).Draw(t, "text")
}

func anyTexts(t *rapid.T) []string {
	return rapid.SliceOfN(rapid.Custom(anyText), 0, 3).Draw(t, "texts")
}

var bundlePaths = []string{"a.go", "b/c.md", "b/d.txt", "e/f/g", "ü.txt", "h"}

func anyOperation(t *rapid.T) work.Operation {
	path := rapid.SampledFrom(bundlePaths)
	one := work.Operation{
		Action: work.Action(rapid.IntRange(1, 4).Draw(t, "action")), Path: path.Draw(t, "path"),
	}
	if one.Action == work.Rename {
		one.NewPath = path.Draw(t, "new path")
	}
	if one.Action == work.Create || one.Action == work.Modify {
		one.Content = textBlob(rapid.SampledFrom([]string{
			"", "one\n", "two\r\n", "\x01\u2028\"😀", strings.Repeat("long", 500),
		}).Draw(t, "content"))
		one.ContentType = rapid.SampledFrom([]string{"text/plain", "text/markdown"}).Draw(t, "type")
	}
	return one
}

// anyCommand is one that may be refused.
func anyCommand(t *rapid.T, d *desk) work.Command {
	var tasks []id.ID
	d.project.Tasks(id.ID{}, d.now, func(one *work.Task) bool {
		tasks = append(tasks, one.ID)
		return true
	})
	task := id.ID{15: 1}
	if len(tasks) > 0 {
		task = rapid.SampledFrom(tasks).Draw(t, "task")
	}
	some := rapid.Permutation(tasks).Draw(t, "tasks")
	some = some[:rapid.IntRange(0, min(2, len(some))).Draw(t, "some")]
	switch rapid.IntRange(0, 11).Draw(t, "command") {
	case 0, 1, 2:
		return &work.PublishChangeset{
			Base: d.project.Head().ID, Message: anyText(t),
			Operations: rapid.SliceOfN(rapid.Custom(anyOperation), 1, 3).Draw(t, "operations"),
		}
	case 3:
		return &work.CreateTask{Spec: work.TaskSpec{
			Title: "title", Description: anyText(t), Skills: []string{"go"}, Dependencies: some,
			Conditions: anyTexts(t), RelatedFiles: []string{"a.go"},
		}}
	case 4:
		status := work.TaskStatus(rapid.IntRange(1, 6).Draw(t, "status"))
		change := work.TaskChange{Status: status, Dependencies: &some}
		if status == work.TaskBlocked {
			change.Blocked = &work.Blocked{Kind: work.BlockedByTransient, Reason: anyText(t)}
		}
		if rapid.Bool().Draw(t, "result") {
			change.Result = &work.TaskResult{
				Summary: anyText(t), Changeset: d.project.Head().ID,
			}
		}
		return &work.UpdateTask{Task: task, Change: change}
	case 5:
		return &work.ClaimTask{Task: task}
	case 6:
		return &work.ReleaseTask{Task: task}
	case 7:
		return &work.CreateHandoff{Continuation: work.Continuation{
			Summary: anyText(t), NextActions: anyTexts(t), Tasks: some,
			Decisions: []work.Note{{Text: "plain"}, {Text: "why", Reason: "so", Reasoned: true}},
		}}
	case 8:
		return &work.UpdateState{Statement: work.Statement{
			Summary: anyText(t), KnownProblems: anyTexts(t), Custom: []byte(`{"b":[1,2.50],"a":{}}`),
		}}
	case 9:
		entity := d.project.Entity()
		if rapid.Bool().Draw(t, "of a changeset") {
			entity = work.Entity{Type: work.EntityChangeset, ID: d.project.Head().ID}
		}
		return &work.CreateVerification{Finding: work.Finding{
			Entity: entity, Kind: work.ExternalAttestation, Outcome: work.Failed,
			Method: anyText(t), Evidence: anyTexts(t), Source: "lab", Reference: "no. 1",
		}}
	case 10:
		d.now += 2_000_000
		return &work.TakeTurn{}
	}
	return &work.AddMember{Agent: agent("bob"), Role: work.Maintainer}
}

// anyProject is a project with a past.
func anyProject(t *rapid.T) *desk {
	d := newDesk()
	d.join("ann", "ann")
	d.join("bob", "bob")
	kind := work.ProjectKind(rapid.IntRange(1, 2).Draw(t, "kind"))
	d.do(t, "ann", &work.CreateProject{ID: agent("project"), Kind: kind, About: work.About{
		Name: "name", Description: anyText(t), Topics: []string{"one", "two"}, License: "MIT",
		Visibility: work.Public, Reuse: work.AllowReuse,
	}})
	for range rapid.IntRange(0, 40).Draw(t, "steps") {
		d.now += 1000
		who := rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "who")
		_, _ = d.order(d.project.ID, agent(who), anyCommand(t, d))
	}
	if rapid.IntRange(0, 5).Draw(t, "archived") == 0 {
		d.do(t, "ann", &work.UpdateProject{Status: work.Archived})
	}
	return d
}

// told is what a bundle tells, whatever the IDs in it and whoever brought it in: IDs are numbered,
// and of a record that came with a bundle what its origin says stands for its own.
func told(t failer, data []byte, full bool) any {
	t.Helper()
	bundle := object(t, data)["bundle"].(map[string]any)
	names := map[string]string{}
	project := bundle["project"].(map[string]any)
	names[project["id"].(string)] = "project"
	for section, list := range bundle {
		records, _ := list.([]any)
		for nth, one := range records {
			record, _ := one.(map[string]any)
			if name, named := record["id"].(string); named {
				names[name] = fmt.Sprint(section, nth)
			}
		}
	}
	for _, name := range []string{
		"id", "owner", "head_changeset_id", "version", "created_at", "updated_at", "visibility",
		"reuse_policy", "viewer",
	} {
		delete(project, name)
	}
	delete(project["counts"].(map[string]any), "members")
	// A claimed task is not open, and its claim does not come along.
	delete(project["counts"].(map[string]any), "open_tasks")
	for _, derived := range []string{"exported_at", "manifest", "provenance", "integrity"} {
		delete(bundle, derived)
	}
	if !full {
		for _, name := range []string{"history", "handoffs", "latest_handoff", "tasks"} {
			delete(bundle, name)
		}
		delete(project["counts"].(map[string]any), "changesets")
		// Languages of as many files are in the order in which they came.
		delete(project, "languages")
	}
	return renamed(bundle, names, full)
}

// renamed is a value with numbers for IDs.
func renamed(value any, names map[string]string, full bool) any {
	switch value := value.(type) {
	case string:
		if name, known := names[value]; known {
			return name
		}
	case []any:
		for at := range value {
			value[at] = renamed(value[at], names, full)
		}
	case map[string]any:
		if origin, ok := value["origin"].(map[string]any); ok {
			value["created_at"], value["author"] = origin["created_at"], origin["author"]
			if kind, ok := origin["source_type"]; ok {
				value["source"] = map[string]any{"type": kind}
			}
			value["created_by"] = origin["author"].(map[string]any)["agent_id"]
		}
		if source, ok := value["source"].(map[string]any); ok {
			delete(source, "id")
		}
		if _, task := value["attempt_count"]; task {
			delete(value, "author")
			if value["status"] != "BLOCKED" {
				// What it waits for is derived, and told by ID.
				delete(value, "blocked")
			}
		} else {
			delete(value, "created_by")
		}
		for _, name := range []string{"origin", "updated_at", "updated_by", "work_session_id"} {
			delete(value, name)
		}
		for name := range value {
			if !full && strings.HasSuffix(name, "changeset_id") ||
				!full && name == "entity_id" {
				delete(value, name)
				continue
			}
			value[name] = renamed(value[name], names, full)
		}
	}
	return value
}

// TestBundleRoundTrip: what was exported, imported and exported again tells the same, and so on.
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
		if diff := cmp.Diff(told(t, first, full), told(t, second, full)); diff != "" {
			t.Fatalf("imported: %s", diff)
		}
		third, _ := mustImport(t, second)
		if diff := cmp.Diff(told(t, first, full),
			told(t, third.export(t, "bob", full), full)); diff != "" {
			t.Fatalf("imported twice: %s", diff)
		}
		if full && counted.Imported.Changesets != d.project.ChangesetsCount() ||
			!full && counted.Imported.Changesets != 1 ||
			counted.Imported.Tasks != d.project.TasksTotal() {
			t.Fatalf("counted %+v", counted.Imported)
		}
		checkImported(t, again.project)
	})
}

// checkImported asks for what the bundle does not decide: whose the records are.
func checkImported(t failer, p *work.Project) {
	t.Helper()
	for nth := range p.ChangesetsCount() {
		c := p.ChangesetNumber(uint32(nth + 1))
		if c.Author != agent("bob") || c.Source != work.SourceImport ||
			c.ID.Family() != p.ID.Family() {
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

// TestBundleOfAnotherFormatter: a bundle may be parsed and written again by anything.
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

// leastBundle is what a bundle cannot do without.
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
	o := newOffice(t)
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
