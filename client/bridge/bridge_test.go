package bridge

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pws/client"
)

// unasked is a service that must not be asked.
func unasked(t *testing.T) *fake {
	return &fake{do: func(context.Context, *client.Request) (*client.Answer, error) {
		t.Error("the server was asked")
		return nil, context.Canceled
	}}
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

func modern(method, params string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + modernMeta + params + `}}`
}

// aboutSessions is the paragraph that instructions of a bridge do not have.
var aboutSessions = regexp.MustCompile(`\\nPublic work can be read without .* with the same key\.`)

// TestFirstAnswersNeedNoServer compares them with those of the endpoint.
func TestFirstAnswersNeedNoServer(t *testing.T) {
	const query = "profile=core&names=underscore"
	const line = `\nHere you are signed in as @ada: you need no header and no key. This directory ` +
		`belongs to the project prj_1.`
	answers, err := offline()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		h := connect(t, unasked(t), query)
		for text, headers := range map[string]map[string]string{
			modern("server/discover", ""): {
				"Mcp-Protocol-Version": version, "Mcp-Method": "server/discover",
			},
			modern("tools/list", ""): {"Mcp-Protocol-Version": version, "Mcp-Method": "tools/list"},
			modern("tools/list", `,"cursor":"x"`): {
				"Mcp-Protocol-Version": version, "Mcp-Method": "tools/list",
			},
			modern("ping", ""): {"Mcp-Protocol-Version": version, "Mcp-Method": "ping"},
			`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":` +
				`"2025-06-18"}}`: nil,
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`: nil,
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`:             nil,
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                   nil,
		} {
			want := string(answers.Answer(query, headers, []byte(text)))
			h.send(text)
			got := h.one()
			if strings.Contains(want, `"instructions"`) {
				got = strings.Replace(got, line, "", 1)
				if strings.Contains(got, "Authorization") {
					t.Errorf("%s: the instructions are about sessions: %s", text, got)
				}
				want = aboutSessions.ReplaceAllString(want, "")
			}
			if got != want {
				t.Errorf("%s: %.300s\nwant %.300s", text, got, want)
			}
		}
	})
}

func TestInstructionsSayWhoIsSignedIn(t *testing.T) {
	for want, caller := range map[string]Caller{
		"Here you are signed in: you need no":    {Server: server, SignedIn: true},
		"somebody has to run pws login http://h": {Server: server},
	} {
		synctest.Test(t, func(t *testing.T) {
			service := unasked(t)
			service.caller = caller
			h := connect(t, service, "")
			h.send(modern("server/discover", ""))
			if got := h.one(); !strings.Contains(got, want) {
				t.Errorf("%s has no %q", got, want)
			}
		})
	}
}

func TestLinesThatAreNoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := connect(t, unasked(t), "")
		for line, want := range map[string]string{
			`{"jsonrpc":"2.0","id":1`: `"id":null,"error":{"code":-32700`,
			`nonsense`:                `"id":null,"error":{"code":-32700`,
			"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}": `"id":null,"error":{"code":-32700`,
			`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`:                `"id":null,"error":{"code":-32600`,
			`"ping"`: `"id":null,"error":{"code":-32600`,
			`{"jsonrpc":"1.0","id":1,"method":"ping"}`:               `"id":null,"error":{"code":-32600`,
			`{"jsonrpc":"2.0","id":null,"method":"ping"}`:            `"id":null,"error":{"code":-32600`,
			`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`:             `"id":null,"error":{"code":-32600`,
			`{"jsonrpc":"2.0","id":1,"method":2}`:                    `"id":null,"error":{"code":-32600`,
			`{"jsonrpc":"2.0","id":1,"method":"ping","id":2}`:        `"code":-32700`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`:                   "",
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`: "",
			`{"jsonrpc":"2.0","method":"notifications/cancelled"}`:   "",
			`  `: "",
			strings.Repeat(" ", lineMax) + `{"jsonrpc":"2.0","method":"x"}`: `"id":null,"error":{"code":-32600`,
		} {
			h.send(line)
			got := strings.Join(h.said(), "\n")
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%.80s: %s, want %s", line, got, want)
			}
		}
		h.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		if got := h.one(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Error(got)
		}
	})
}

// TestHugeRequestsAreAnswered has requests that are too large, or too deep, to be parsed. Their
// hosts wait for answers with their ids, which SDKs put at the end.
func TestHugeRequestsAreAnswered(t *testing.T) {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	large := `"` + strings.Repeat(`\"},`, lineMax/4) + `"`
	for id, want := range map[string]string{
		`,"id":7`: "7", `, "id" : "a\"b" `: `"a\"b"`, `,"id":-3`: "-3",
		"": "null", `,"id":null`: "null", `,"id":[1]`: "null", `,"id":1.5`: "null",
		`,"id":1,"id":2`: "null", `,"id":1}`: "null", `,"id":"` + strings.Repeat("x", 2000) + `"`: "null",
	} {
		for _, arguments := range []string{deep, large} {
			synctest.Test(t, func(t *testing.T) {
				h := connect(t, unasked(t), "")
				h.send(`{"method":"tools/call","params":{"name":"x","id":5,"arguments":` + arguments +
					`},"jsonrpc":"2.0"` + id + `}`)
				want := `{"jsonrpc":"2.0","id":` + want + `,"error":{"code":-32`
				if got := h.one(); !strings.HasPrefix(got, want) {
					t.Errorf("%.60s: %.200s, want %s", id, got, want)
				}
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		h := connect(t, unasked(t), "")
		h.send(`{"jsonrpc":"2.0","id":1,"result":` + deep + `}`)
		if got := h.one(); !strings.Contains(got, `"id":null`) {
			t.Errorf("a response: %.200s", got)
		}
	})
}

// TestHeadersOfBothEras checks what a server needs beside the message.
func TestHeadersOfBothEras(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []*client.Request
		h := connect(t, &fake{do: func(
			_ context.Context, request *client.Request,
		) (*client.Answer, error) {
			seen = append(seen, request)
			return answerTo(request, fine), nil
		}}, "profile=core")
		h.send(toolCall("1", "search", "{}"))
		h.one()
		h.send(modern("tools/call", `,"name":"a b"`))
		h.one()
		h.send(modern("resources/list", ""))
		h.one()
		if len(seen) != 3 {
			t.Fatalf("%d requests", len(seen))
		}
		for i, want := range []map[string][]string{
			{"Content-Type": {"application/json"}},
			{
				"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {version},
				"Mcp-Method": {"tools/call"}, "Mcp-Name": {"=?base64?YSBi?="},
			},
			{
				"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {version},
				"Mcp-Method": {"resources/list"},
			},
		} {
			if got := seen[i].Header; !maps.EqualFunc(got, want, slices.Equal) {
				t.Errorf("headers %v, want %v", got, want)
			}
			if keyed := seen[i].Key != ""; keyed != (i < 2) || seen[i].Path != "/mcp?profile=core" {
				t.Errorf("key %q, path %s", seen[i].Key, seen[i].Path)
			}
		}
	})
}

// TestAtMostSixteenRequestsAtOnce sends 1,000 calls at once. They are answered in the order of
// their ends.
func TestAtMostSixteenRequestsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		h := connect(t, &fake{do: func(
			_ context.Context, request *client.Request,
		) (*client.Answer, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			wait := time.Second / 2
			if string(parse(request.Body).id) == "0" {
				wait = answeredFor - time.Second
			}
			pass(wait)
			return answerTo(request, fine), nil
		}}, "")
		const calls = 1000
		for id := range calls {
			h.send(toolCall(fmt.Sprint(id), "search", "{}"))
		}
		pass(answeredFor - 2*time.Second)
		seen := map[string]bool{}
		for _, line := range h.said() {
			seen[string(parseID(line))] = true
		}
		if len(seen) != calls-1 || seen["0"] || most.Load() != requestsMax {
			t.Errorf("%d answers, %d at once", len(seen), most.Load())
		}
		h.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		h.one()
		pass(time.Hour)
		if got := parseID(h.one()); string(got) != "0" {
			t.Errorf("answer to %s", got)
		}
	})
}
