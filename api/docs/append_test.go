package docs

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/api"
	"pws/api/jsonschema"
)

// TestAppendEqualsMarshal checks that both encoders write the recorded answers of all operations
// byte for byte equal.
func TestAppendEqualsMarshal(t *testing.T) {
	count := 0
	for _, op := range api.Table {
		recorded := sampleOf(op)
		if recorded == nil || op.Response == nil {
			continue
		}
		var body struct {
			Data jsontext.Value `json:"data"`
		}
		answer := reflect.New(op.Response)
		if json.Unmarshal(recorded.Response.Body, &body) != nil ||
			json.Unmarshal(body.Data, answer.Interface()) != nil {
			continue
		}
		count++
		want, err := json.Marshal(answer.Interface(), json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		if got := jsonschema.Append(nil, answer.Interface()); !bytes.Equal(got, want) {
			t.Errorf("%s:\n%s\n%s", op.Name, got, want)
		}
	}
	if count < len(api.Table)/2 {
		t.Errorf("%d of %d operations have an example that can be read", count, len(api.Table))
	}
}
