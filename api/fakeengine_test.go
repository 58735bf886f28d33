package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	jsontext "github.com/go-json-experiment/json/jsontext"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"pws/api"
	"pws/api/jsonschema"
	"pws/identity"
	"pws/index"
	"pws/internal/id"
	"pws/work"
)

// testNow is where the clocks of the tests start.
const testNow = int64(1_763_600_000_000)

// agent is the agent of a name.
func agent(name string) id.ID {
	var entropy [10]byte
	copy(entropy[:], name)
	return id.New(testNow, entropy)
}

// fakeEngine has one project that operations read and commands change. It is an api.Engine of one
// project in memory.
type fakeEngine struct {
	api.Engine
	project *work.Project
	agents  *identity.State
	blobs   map[work.Hash][]byte
	now     int64
	steps   uint64
	service *api.Service
	upload  *fakeUpload
}

func newFakeEngine() *fakeEngine {
	d := &fakeEngine{now: testNow, agents: identity.New(), blobs: map[work.Hash][]byte{}}
	d.service = api.NewService(d, api.Config{})
	return d
}

// join registers the agent of a name under a handle.
func (d *fakeEngine) join(name, handle string) {
	d.agents.Apply(&identity.AgentRegistered{Agent: agent(name), Handle: handle}, d.now)
}

func (d *fakeEngine) Now() int64                           { return d.now }
func (d *fakeEngine) Identity() *identity.State            { return d.agents }
func (d *fakeEngine) Secret() []byte                       { return []byte("secret") }
func (d *fakeEngine) Blob(hash work.Hash) ([]byte, error)  { return d.blobs[hash], nil }
func (d *fakeEngine) Project(id.ID) (*work.Project, error) { return d.project, nil }

// ProjectFor implements api.Engine.
func (d *fakeEngine) ProjectFor(_, agent id.ID) (*work.Project, error) {
	if d.project == nil || !d.project.Readable(agent) {
		return nil, nil
	}
	return d.project, nil
}

// BeginRead implements api.Engine.
func (d *fakeEngine) BeginRead() (api.ReadMark, error) { return 0, nil }

// EndRead implements api.Engine: what was read is the newest.
func (d *fakeEngine) EndRead(api.ReadMark) error { return nil }

// ReadsWait implements api.Engine: there are no other servers.
func (d *fakeEngine) ReadsWait() bool { return false }

// Inbox implements api.Engine: nobody has items.
func (d *fakeEngine) Inbox(id.ID) ([]index.InboxItem, uint64) { return nil, 0 }

// Indexes implements api.Engine: they know nothing of the project.
func (d *fakeEngine) Indexes(index.Set) *index.Views { return &index.NewProjections().Views }

// Stamp implements api.Engine.
func (d *fakeEngine) Stamp(who, project id.ID) work.Stamp {
	d.steps++
	stamp := work.Stamp{Now: d.now, Agent: who}
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, d.steps))
	copy(stamp.Entropy[:], sum[:])
	return stamp.In(project)
}

// do gives a command as an agent.
func (d *fakeEngine) do(t failer, name string, command work.Command) work.Decision {
	t.Helper()
	d.steps++
	stamp := work.Stamp{Now: d.now, Agent: agent(name)}
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, d.steps))
	copy(stamp.Entropy[:], sum[:])
	if err := command.Authorize(d.project, stamp.Agent); err != nil {
		t.Fatalf("%T: %v", command, err)
	}
	decision, err := work.Decide(command, d.project, stamp)
	if err != nil {
		t.Fatalf("%T: %v", command, err)
	}
	next := work.NewProject()
	if d.project != nil {
		next = d.project.Clone()
	}
	for _, event := range decision.Events {
		next.Apply(event, work.Moment{Now: d.now, Agent: stamp.Agent})
	}
	for _, blob := range decision.Blobs {
		d.blobs[blob.Hash] = blob.Content
	}
	d.project = next
	return decision
}

// failer is what tests, benchmarks and properties have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// create makes the project, owned by ann.
func (d *fakeEngine) create(t failer, about work.About) {
	t.Helper()
	about.Visibility, about.Reuse, about.License = work.Public, work.AllowReuse, "MIT"
	d.do(t, "ann", &work.CreateProject{ID: agent("project"), Kind: work.Standard, About: about})
}

func textBlob(content string) *work.Blob {
	return &work.Blob{Hash: sha256.Sum256([]byte(content)), Content: []byte(content)}
}

func writes(path, content string) work.Operation {
	return work.Operation{
		Action: work.Create, Path: path, Content: textBlob(content), ContentType: "text/plain",
	}
}

// publish changes files on the head as ann.
func (d *fakeEngine) publish(t failer, message string, operations ...work.Operation) id.ID {
	t.Helper()
	return d.do(t, "ann", &work.PublishChangeset{
		Base: d.project.Head().ID, Message: message, Operations: operations,
	}).Result.Changeset
}

// task makes a task as ann.
func (d *fakeEngine) task(t failer, spec work.TaskSpec) id.ID {
	t.Helper()
	return d.do(t, "ann", &work.CreateTask{Spec: spec}).Result.Subject
}

// block gives a task the status BLOCKED.
func (d *fakeEngine) block(t failer, task id.ID, reason string) {
	t.Helper()
	d.do(t, "ann", &work.UpdateTask{Task: task, Change: work.TaskChange{
		Status: work.TaskBlocked, Blocked: &work.Blocked{Kind: work.BlockedByNeedsInput, Reason: reason},
	}})
}

func operation(name string) *api.Operation {
	at := slices.IndexFunc(api.Table, func(op *api.Operation) bool { return op.Name == name })
	return api.Table[at]
}

// read runs an operation on the project as an agent, or as nobody; query holds names and values.
func (d *fakeEngine) read(name, who string, query ...string) ([]byte, error) {
	c := &api.Call{
		Service: d.service, Operation: operation(name), Now: d.now, Query: map[string]string{},
		Params: []string{agent("project").Format(id.Project)},
	}
	if who != "" {
		c.Agent = agent(who)
		c.Session = new(identity.Session)
	}
	for i := 0; i < len(query); i += 2 {
		c.Query[query[i]] = query[i+1]
	}
	reply, err := c.Operation.Run(c, c.Operation.NewRequest())
	if err != nil {
		return nil, err
	}
	return reply.AppendData(nil), nil
}

// object decodes strictly.
func object(t failer, text []byte) map[string]any {
	t.Helper()
	if !jsontext.Value(text).IsValid() {
		t.Fatalf("not strict JSON: %s", text)
	}
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

// schema is the published schema of what an operation answers.
func schema(t testing.TB, name string) *validator.Schema {
	t.Helper()
	text, err := json.Marshal(jsonschema.SchemaOf(operation(name).Response, jsonschema.Response, ""))
	if err != nil {
		t.Fatal(err)
	}
	document, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validator.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("mem:///answer.json", document); err != nil {
		t.Fatal(err)
	}
	return compiler.MustCompile("mem:///answer.json")
}

// fits validates an answer against its schema.
func fits(t failer, answer *validator.Schema, text []byte) {
	t.Helper()
	value, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = answer.Validate(value)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// at is the value at a path of keys and indices; nil where there is none.
func at(value any, path ...any) any {
	for _, step := range path {
		switch here := value.(type) {
		case map[string]any:
			value = here[fmt.Sprint(step)]
		case []any:
			n, isIndex := step.(int)
			if !isIndex || n >= len(here) {
				return nil
			}
			value = here[n]
		default:
			return nil
		}
	}
	return value
}
