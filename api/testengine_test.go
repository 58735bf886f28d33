package api_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pws/actors"
	"pws/api"
	"pws/api/jsonschema"
	"pws/identity"
	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// testEngine is the real engine with agents that call it. Tests can intercept the orders.
type testEngine struct {
	*actors.Engine
	t       testing.TB
	service *api.Service
	// before is asked ahead of an order; an error is its answer. after may change the answer.
	before func(api.Order) error
	after  func(api.Order, error) error
	made   int
	// reads counts the contents that were read.
	reads atomic.Int64
	// damaged are contents that cannot be read.
	damaged map[work.Hash]bool
}

func newTestEngine(t testing.TB) *testEngine {
	t.Helper()
	engine, _, err := actors.Open(actors.Config{
		Dir: t.TempDir(), ReserveBytes: -1, Log: slog.New(slog.DiscardHandler),
		SnapshotEvery: time.Hour, SweepEvery: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	o := &testEngine{Engine: engine, t: t}
	o.service = api.NewService(o, api.Config{})
	return o
}

// Do implements api.Engine.
func (o *testEngine) Do(order api.Order) (api.Done, error) {
	if o.before != nil {
		if err := o.before(order); err != nil {
			return api.Done{}, err
		}
	}
	done, err := o.Engine.Do(order)
	if o.after != nil {
		err = o.after(order, err)
	}
	return done, err
}

// Blob implements api.Engine.
func (o *testEngine) Blob(hash work.Hash) ([]byte, error) {
	o.reads.Add(1)
	if o.damaged[hash] {
		return nil, fault.New(fault.BlobCorrupt, "Damaged.")
	}
	return o.Engine.Blob(hash)
}

// Indexes implements api.Engine. Who reads an index that it has not asked for finds nil.
func (o *testEngine) Indexes(of index.Set) *index.Views {
	return onlyAsked(o.Engine.Indexes(of), of)
}

// onlyAsked are the indexes of a set, nil in place of the others.
func onlyAsked(all *index.Views, of index.Set) *index.Views {
	asked := new(index.Views)
	from, to := reflect.ValueOf(all).Elem(), reflect.ValueOf(asked).Elem()
	for i := 0; index.Set(1)<<i <= index.All; i++ {
		if of&(1<<i) != 0 {
			to.Field(i).Set(from.Field(i))
		}
	}
	return asked
}

func (o *testEngine) identify(command identity.Command) identity.Result {
	o.t.Helper()
	done, err := o.DoIdentity(api.IdentityOrder{Command: command})
	if err != nil {
		o.t.Fatal(err)
	}
	return done.Result
}

// testAgent is an agent with its key and its session.
type testAgent struct {
	session *identity.Session
	key     ed25519.PrivateKey
}

func (c *testAgent) id() id.ID { return c.session.AgentID }

func (c *testAgent) proof(result identity.Result) identity.Proof {
	challenge := result.(*identity.ChallengeGranted).Challenge
	signature := ed25519.Sign(c.key, []byte(challenge.SigningPayload()))
	return identity.Proof{
		ChallengeID: challenge.ID.Format(id.Challenge), Challenge: challenge.Text(),
		Signature: base64.RawURLEncoding.EncodeToString(signature),
	}
}

func (o *testEngine) register(handle string) *testAgent {
	o.t.Helper()
	seed := sha256.Sum256([]byte(handle))
	c := &testAgent{key: ed25519.NewKeyFromSeed(seed[:])}
	public := c.key.Public().(ed25519.PublicKey)
	granted := o.identify(&identity.StartRegistration{
		PublicKey: base64.RawURLEncoding.EncodeToString(public), Algorithm: identity.Algorithm,
	})
	made := o.identify(&identity.CompleteRegistration{
		Proof: c.proof(granted), Handle: handle, ClientName: "test", ClientVersion: "1",
		Secret: o.Secret(),
	})
	c.session = made.(*identity.Registration).Session
	return c
}

// login gives an agent another session.
func (o *testEngine) login(c *testAgent) {
	o.t.Helper()
	granted := o.identify(&identity.RequestChallenge{
		AgentID: c.session.AgentID.Format(id.Agent), KeyID: c.session.KeyID.Format(id.Key),
	})
	made := o.identify(&identity.StartSession{
		Proof: c.proof(granted), ClientName: "test", ClientVersion: "1", Secret: o.Secret(),
	})
	c.session = made.(*identity.SessionGranted).Session
}

// give gives a command to the engine itself.
func (o *testEngine) give(who *testAgent, project id.ID, command work.Command) work.Result {
	o.t.Helper()
	done, err := o.Engine.Do(api.Order{Project: project, Agent: who.id(), Command: command})
	if err != nil {
		o.t.Fatalf("%T: %v", command, err)
	}
	return done.Result
}

// project makes a project with tasks of some priorities and returns their IDs.
func (o *testEngine) project(
	owner *testAgent, visibility work.Visibility, tasks ...work.Priority,
) (project id.ID, made []id.ID) {
	o.t.Helper()
	o.made++
	project = id.New(o.Now(), [10]byte{byte(o.made)})
	o.give(owner, project, &work.CreateProject{ID: project, Kind: work.Standard, About: work.About{
		Name: "project", Visibility: visibility, Reuse: work.AllowReuse, License: "MIT",
	}})
	for _, priority := range tasks {
		created := o.give(owner, project, &work.CreateTask{
			Spec: work.TaskSpec{Title: "task", Priority: priority},
		})
		made = append(made, created.Subject)
	}
	return project, made
}

// request is one call of an operation.
type request struct {
	operation, body, key string
	params               []string
	query                map[string]string
	// later is how far behind the engine's time the call arrives, in milliseconds.
	later int64
}

// call runs an operation and decodes its data; nobody is nil.
func (o *testEngine) call(who *testAgent, r request) (api.Reply, map[string]any, error) {
	o.t.Helper()
	at := slices.IndexFunc(api.Table, func(op *api.Operation) bool { return op.Name == r.operation })
	c := &api.Call{
		Service: o.service, Operation: api.Table[at], Now: o.Now() + r.later, Params: r.params,
		Query: r.query,
	}
	if who != nil {
		c.Session, c.Agent = who.session, who.id()
	}
	if r.key != "" {
		hash := sha256.Sum256(fmt.Append(nil, c.Agent, r.operation, r.key))
		print := sha256.Sum256([]byte(r.body))
		c.Idempotency = &api.IdempotencyKey{
			Hash: [16]byte(hash[:]), Fingerprint: [16]byte(print[:]),
		}
	}
	body := c.Operation.NewRequest()
	if r.body != "" {
		if err := jsonschema.Decode([]byte(r.body), body); err != nil {
			o.t.Fatal(err)
		}
	}
	reply, err := c.Operation.Run(c, body)
	if err != nil {
		return reply, nil, err
	}
	var data map[string]any
	if err := json.Unmarshal(reply.AppendData(nil), &data); err != nil {
		o.t.Fatal(err)
	}
	return reply, data, nil
}

// cut is the error of a request whose answer never comes.
var errCut = fault.New(fault.StorageUnavailable, "The test cut it.")
