package web

import (
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"

	"pws/api"
	"pws/internal/fault"
)

// operations finds an operation of the interface by its name.
var operations = sync.OnceValue(func() map[string]*api.Operation {
	byName := map[string]*api.Operation{}
	for _, one := range api.Table {
		byName[one.Name] = one
	}
	return byName
})

// operation returns an operation of the interface, which must exist.
func operation(name string) *api.Operation {
	found := operations()[name]
	if found == nil {
		panic("web: there is no operation " + name)
	}
	return found
}

// query is the parameters of an operation, with their checks, for a page that passes them on.
func query(name string, only ...string) (params []api.Param) {
	for _, one := range operation(name).Query {
		for _, wanted := range only {
			if one.Name == wanted {
				params = append(params, one)
			}
		}
	}
	return params
}

// read answers a page's question by the handler of an operation, with the rights of the visitor.
// Params are those of the path, in their order and as sent; pairs are names and values of the
// query, of which empty ones are left out. Errors: those of the operation.
func read[T any](v *visit, name string, params []string, pairs ...string) (T, error) {
	return call[T](v, name, params, nil, pairs...)
}

// call is read with a body, for operations that write.
func call[T any](v *visit, name string, params []string, body any, pairs ...string) (T, error) {
	reply, err := v.run(name, params, body, pairs...)
	if err != nil {
		var none T
		return none, err
	}
	return data[T](name, reply)
}

// run is call with the whole reply.
func (v *visit) run(name string, params []string, body any, pairs ...string) (api.Reply, error) {
	op := operation(name)
	inner := *v.Call
	inner.Operation, inner.Params, inner.Query = op, params, map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			inner.Query[pairs[i]] = pairs[i+1]
		}
	}
	if op.Auth == api.Bearer && v.Session == nil {
		return api.Reply{}, fault.New(fault.AuthenticationRequired, "Sign in to see this.")
	}
	if body == nil {
		body = op.NewRequest()
	}
	return op.Run(&inner, body)
}

// data is what an operation has replied.
func data[T any](name string, reply api.Reply) (T, error) {
	if typed, ok := reply.Data.(T); ok {
		return typed, nil
	}
	// Some handlers answer with a form of the same data that is written faster.
	var written T
	if err := json.Unmarshal(reply.AppendData(nil), &written); err != nil {
		var none T
		return none, fmt.Errorf("%s: %w", name, err)
	}
	return written, nil
}

func errNoPage() error { return fault.New(fault.RouteNotFound, "There is no such page.") }
