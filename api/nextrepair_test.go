package api_test

import (
	"maps"
	"testing"

	"pws/api"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// TestNextCallIsNotTheRefusedOne refuses every parameter of every read although its value is
// valid, as a handler may do. The next call is another one.
func TestNextCallIsNotTheRefusedOne(t *testing.T) {
	o := newTestEngine(t)
	ann := o.register("ann")
	project, _ := o.project(ann, work.Public)
	for _, op := range api.Table {
		if op.Method != "GET" {
			continue
		}
		for i := range op.Query {
			values := map[string]string{op.Query[i].Name: aValue(&op.Query[i])}
			for _, client := range []api.Client{{}, {MCP: true}} {
				if client.MCP && op.Tool == "" {
					continue
				}
				call := &api.Call{
					Service: o.service, Operation: op, Now: o.Now(), Session: ann.session,
					Agent: ann.id(), Query: values,
				}
				for range op.Params {
					call.Params = append(call.Params, project.Format(id.Project))
				}
				refusal := fault.Invalid(fault.Field{Field: op.Query[i].Name, Problem: "is not good"})
				next := call.NextCall(refusal, client, &api.Sent{Query: values})
				if next != nil && next.Operation == op && maps.Equal(next.Query, values) {
					t.Errorf("%s with %v, over MCP %v: %v", op.Name, values, client.MCP, next)
				}
			}
		}
	}
}

// aValue is a valid value of a parameter.
func aValue(one *api.Param) string {
	schema := one.Schema()
	if values, _ := schema.Get("enum").([]any); len(values) > 0 {
		text, _ := values[0].(string)
		return text
	}
	if one.Integer {
		return "1"
	}
	return "X"
}
