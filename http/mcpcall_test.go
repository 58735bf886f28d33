package http

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestArgumentsInAnyOrder calls a tool with its arguments in every order and with white space
// between them. Those of the body move within the message, over the place of the others, and the
// operation must get what the same request over HTTP gives it.
func TestArgumentsInAnyOrder(t *testing.T) {
	f := startMCP(t, Config{}, nil)
	const session = "Authorization: Bearer good"
	want := f.post(t, "/v1/projects/p%201/notes", `{"text":"a \"b\"","count":3}`, session,
		"Idempotency-Key: key-1").echoed(t)
	members := []string{
		`"project":"p 1"`, `"idempotency_key" : "key-1"`, `"te\u0078t": "a \"b\"" `, `"count" :3`,
		`"verbose":true`,
	}
	for _, separator := range []string{",", " ,\n\t "} {
		for _, order := range orders(len(members)) {
			var text []string
			for _, at := range order {
				text = append(text, members[at])
			}
			arguments := "{" + strings.Join(text, separator) + "}"
			result := f.call(t, "note.create", arguments, session).rpc(t).Result
			if result == nil || result.IsError {
				t.Fatalf("%s is refused", arguments)
			}
			var got echoed
			if err := json.Unmarshal(result.Structured, &got); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v, want %v", arguments, got, want)
			}
		}
	}
}

// orders are all orders of the numbers below n.
func orders(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, shorter := range orders(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(shorter), i, n-1))
		}
	}
	return all
}
