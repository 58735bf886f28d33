package api_test

import (
	"errors"
	"testing"

	"pws/api"
	"pws/internal/fault"
	"pws/internal/id"
)

// deposedEngine has lost its reign while a request was read.
type deposedEngine struct {
	*fakeEngine
	begin, end error
	// read says that an operation was called after BeginRead.
	read bool
}

func (d *deposedEngine) BeginRead() (api.ReadMark, error) { return 7, d.begin }

func (d *deposedEngine) EndRead(mark api.ReadMark) error {
	if mark != 7 || !d.read {
		return errors.New("EndRead BEFORE what it is for")
	}
	return d.end
}

// TestStaleAnswers calls operations of a server that does not lead any more: whatever they answer,
// it may be old. What describes the service is answered.
func TestStaleAnswers(t *testing.T) {
	stale := fault.New(fault.StorageUnavailable, "Old.").With("reason", "NOT_LEADING")
	refusal := fault.NoProject()
	for name, c := range map[string]struct {
		method     string
		begin, end error
		answer     error
		reason     any
		operation  string
	}{
		"read":               {method: "GET", end: stale, reason: "NOT_LEADING"},
		"refusal of a read":  {method: "GET", end: stale, answer: refusal, reason: "NOT_LEADING"},
		"no reads":           {method: "GET", begin: stale, reason: "NOT_LEADING"},
		"write":              {method: "PUT", end: stale, reason: "OUTCOME_UNKNOWN"},
		"refusal of a write": {method: "PUT", end: stale, answer: refusal, reason: "NOT_LEADING"},
		"unknown outcome": {
			method: "PUT", end: stale, answer: api.ErrOutcomeUnknown(), reason: "OUTCOME_UNKNOWN",
		},
		"fresh":                 {method: "GET"},
		"describes the service": {method: "GET", end: stale, operation: "meta.test"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &deposedEngine{fakeEngine: newFakeEngine(), begin: c.begin, end: c.end}
			d.service = api.NewService(d, api.Config{})
			declared := api.Operation{
				Name: "test.run", Method: c.method, Auth: api.Optional, Statuses: []int{200},
				Category: api.CategoryWrite,
			}
			if c.operation != "" {
				declared.Name, declared.Auth = c.operation, api.Anonymous
			}
			run := func(*api.Call, *api.None) (api.Reply, error) {
				d.read = true
				return api.Reply{}, c.answer
			}
			op := api.Declare[api.None, api.None](declared, run)
			call := &api.Call{Service: d.service, Operation: op, Agent: id.ID{1}}
			call.BeginRead()
			_, err := op.Run(call, op.NewRequest())
			if c.reason == nil {
				if !errors.Is(err, c.answer) {
					t.Errorf("the answer is %v", err)
				}
				return
			}
			var got *fault.Error
			if !errors.As(err, &got) || got.Code != fault.StorageUnavailable ||
				got.Details["reason"] != c.reason {
				t.Errorf("%v, want reason %v", err, c.reason)
			}
		})
	}
}
