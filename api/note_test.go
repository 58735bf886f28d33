package api

import (
	"bytes"
	"encoding/json"
	"testing"

	"pws/api/jsonschema"
	"pws/internal/fault"
)

// notes is a body that holds notes of both kinds and a custom object.
type notes struct {
	Decisions []DecisionNote `json:"decisions" check:"items=0..100"`
	Failures  []FailureNote  `json:"failures" check:"items=0..100"`
	Custom    Custom         `json:"custom"`
}

// FuzzNotes: what is accepted comes back as it was sent, and is accepted again; what is refused is
// refused with its place.
func FuzzNotes(f *testing.F) {
	for _, body := range []string{
		`{"decisions":["a",{"decision":"b"},{"decision":"c","rationale":"d"}]}`,
		`{"failures":[{"approach":"a","reason":null},"b\n",{"approach":"\u00e4"}],"custom":{"a":[1.50,{}]}}`,
		`{"decisions":[null,1,[],{},"",{"approach":"a"}],"custom":[]}`,
		`{"decisions":[{"decision":"a","decision":"b"}],"custom":{"a":1,"a":2}}`,
		`{"decisions":null,"failures":[{"approach":"a","reason":""}],"custom":null}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var sent notes
		if err := jsonschema.Decode(body, &sent); err != nil {
			requireFields(t, err)
			return
		}
		kept := notes{
			Decisions: decisionNotes(decisionItems(sent.Decisions)),
			Failures:  failureNotes(failureItems(sent.Failures)),
			Custom:    Custom{text: sent.Custom.kept()},
		}
		text := appendData(nil, &kept)
		var again notes
		if err := jsonschema.Decode(text, &again); err != nil {
			t.Fatalf("%s came back as %s: %v", body, text, err)
		}
		if second := appendData(nil, &again); !bytes.Equal(text, second) {
			t.Fatalf("%s came back as %s, then as %s", body, text, second)
		}
		sameJSON(t, body, text)
	})
}

func requireFields(t *testing.T, err error) {
	t.Helper()
	refusal, ok := err.(*fault.Error)
	if !ok {
		t.Fatal(err)
	}
	fields, _ := refusal.Details["fields"].([]fault.Field)
	if refusal.Code == fault.ValidationFailed && len(fields) == 0 {
		t.Fatalf("no fields: %v", refusal.Details)
	}
}

// sameJSON compares what was sent with what comes back, except that null equals absence.
func sameJSON(t *testing.T, sent, back []byte) {
	t.Helper()
	var want, got map[string]any
	for text, into := range map[*[]byte]*map[string]any{&sent: &want, &back: &got} {
		decoder := json.NewDecoder(bytes.NewReader(*text))
		decoder.UseNumber()
		if err := decoder.Decode(into); err != nil {
			t.Fatalf("%s: %v", *text, err)
		}
	}
	for name, empty := range map[string]string{
		"decisions": "[]", "failures": "[]", "custom": "{}",
	} {
		if want[name] == nil {
			want[name] = json.RawMessage(empty)
		}
		if list, ok := want[name].([]any); ok {
			for _, one := range list {
				if object, ok := one.(map[string]any); ok && object["rationale"] == nil {
					delete(object, "rationale")
				}
				if object, ok := one.(map[string]any); ok && object["reason"] == nil {
					delete(object, "reason")
				}
			}
		}
		left, errLeft := json.Marshal(want[name])
		right, errRight := json.Marshal(got[name])
		if errLeft != nil || errRight != nil || !bytes.Equal(left, right) {
			t.Fatalf("%s was sent as %s and came back as %s", name, left, right)
		}
	}
}
