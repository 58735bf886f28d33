package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/bench/child"
	rest "pws/bench/client"
)

// mcpVersions are the protocol versions that the service supports. The Go clients support all of
// them; make test-mcp runs the TypeScript clients and the conformance suite.
var mcpVersions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"}

// TestMCPClients runs the program against the public Go clients of MCP.
func TestMCPClients(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	// The context of the test is canceled BEFORE the cleanup stops the server.
	process, err := child.Start(context.Background(), patience, child.Program{
		Path: "pws",
		Args: []string{
			"serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data"),
			"--rate-limits", "off",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Stop(patience); err != nil {
			t.Error(err)
		}
	})
	for _, library := range mcpLibraries {
		for _, version := range mcpVersions {
			t.Run(library.name+"/"+version, func(t *testing.T) {
				s := &mcpSuite{library: library, version: version, url: process.URL}
				t.Run("lists", s.lists)
				t.Run("anonymous", s.anonymous)
				t.Run("expired", s.expired)
				t.Run("works", s.works)
			})
		}
	}
}

// mcpSuite tests one library with one version of the protocol.
type mcpSuite struct {
	library      mcpLibrary
	version, url string
}

// connect returns a client that is closed at the end of the test.
func (s *mcpSuite) connect(t *testing.T, credential, query string) mcpClient {
	t.Helper()
	place := &mcpPlace{
		url: s.url + "/mcp" + query, credential: credential, connections: &http.Transport{},
	}
	connected, err := s.library.connect(t.Context(), place, s.version)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := connected.close(); err != nil {
			t.Error(err)
		}
		place.connections.CloseIdleConnections()
	})
	server := connected.server()
	if server.version != s.version || server.name == "" {
		t.Errorf("connected to %q in version %s, want %s", server.name, server.version, s.version)
	}
	return connected
}

func (s *mcpSuite) lists(t *testing.T) {
	text, err := os.ReadFile("../../test/mcp/tools.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(text))
	slices.Sort(want)
	if server := s.connect(t, "", "").server(); len(server.instructions) < 200 ||
		len(server.instructions) > 1500 {
		t.Errorf("instructions of %d characters", len(server.instructions))
	}
	for _, query := range []string{"", "?names=underscore"} {
		tools, err := s.connect(t, "", query).list(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range tools {
			names = append(names, one.name)
			if one.title == "" || one.description == "" || !one.input || !one.output {
				t.Errorf("%s lacks something: %+v", one.name, one)
			}
			if one.hints != 4 {
				t.Errorf("%s has %d of 4 hints", one.name, one.hints)
			}
		}
		wanted := slices.Clone(want)
		if query != "" {
			for i := range wanted {
				wanted[i] = strings.ReplaceAll(wanted[i], ".", "_")
			}
			slices.Sort(wanted)
		}
		slices.Sort(names)
		if diff := cmp.Diff(wanted, names); diff != "" {
			t.Errorf("/mcp%s lists other tools (-want +got):\n%s", query, diff)
		}
	}
}

func (s *mcpSuite) anonymous(t *testing.T) {
	c := s.connect(t, "", "")
	refusedBy(t, c, "AUTHENTICATION_REQUIRED", "project.create", map[string]any{
		"name": "Nobody", "visibility": "PRIVATE", "idempotency_key": "nobody",
	})
	answerOf(t, c, "search", map[string]any{"q": "nothing"})
	_, err := c.call(t.Context(), "no.such.tool", map[string]any{})
	if err == nil || s.library.code(err) != -32602 {
		t.Errorf("an unknown tool ended with %v", err)
	}
}

// expired sends an invalid credential. The error is one of the protocol, not a tool result, so that
// a host can tell the two apart.
func (s *mcpSuite) expired(t *testing.T) {
	place := &mcpPlace{
		url: s.url + "/mcp", credential: "no-such-credential", connections: &http.Transport{},
	}
	defer place.connections.CloseIdleConnections()
	c, err := s.library.connect(t.Context(), place, s.version)
	if err != nil {
		return
	}
	if answer, err := c.call(t.Context(), "inbox.read", map[string]any{}); err == nil {
		t.Errorf("answered %+v", answer)
	}
	// Closing the session fails as well, with the same refusal.
	_ = c.close()
}

// works runs an agent's typical workflow.
func (s *mcpSuite) works(t *testing.T) {
	host, err := rest.HostOf(s.url)
	if err != nil {
		t.Fatal(err)
	}
	agent := &rest.API{Host: host}
	defer agent.Close()
	if err := agent.Register("mcp-" + rest.RandomKey()[:16]); err != nil {
		t.Fatal(err)
	}
	c := s.connect(t, agent.Credential, "")
	wanted := map[string]any{
		"name": "A day", "visibility": "PRIVATE", "idempotency_key": rest.RandomKey(),
	}
	project := at(t, answerOf(t, c, "project.create", wanted), "project", "id")
	if again := at(t, answerOf(t, c, "project_create", wanted), "project", "id"); again != project {
		t.Errorf("a repeat with the same key made %v beside %v", again, project)
	}

	const path, content = "docs/a b/ü%2F.md", "# Plan\n\n\"quotes\", ünïcödé 🚀 and \u2028 lines\n"
	answerOf(t, c, "file.write", map[string]any{
		"project": project, "path": path, "content": content,
	})
	got := answerOf(t, c, "file.read", map[string]any{"project": project, "path": path})
	if text := at(t, got, "file", "content"); text != content {
		t.Errorf("read %q", text)
	}
	refusedBy(t, c, "FILE_NOT_FOUND", "file.read", map[string]any{
		"project": project, "path": "missing.md",
	})
	refusedBy(t, c, "VALIDATION_FAILED", "file.read", map[string]any{"project": project})
	refusedBy(t, c, "VALIDATION_FAILED", "file.read", map[string]any{
		"project": project, "path": path, "depth": 1,
	})

	var made struct {
		Task struct {
			ID string `json:"id"`
		} `json:"task"`
	}
	if _, err := agent.Post(fmt.Sprintf("/api/v1/projects/%s/tasks", project), rest.RandomKey(),
		map[string]string{"title": "Think"}, &made); err != nil {
		t.Fatal(err)
	}
	claim := map[string]any{"task": made.Task.ID}
	if id := at(t, answerOf(t, c, "task.claim", claim), "task", "id"); id != made.Task.ID {
		t.Errorf("claimed %v, not %s", id, made.Task.ID)
	}
	refusedBy(t, c, "TASK_ALREADY_CLAIMED", "task.claim", claim)
}

// answerOf calls a tool and expects success.
func answerOf(
	t *testing.T, c mcpClient, name string, arguments map[string]any,
) map[string]any {
	t.Helper()
	answer, err := c.call(t.Context(), name, arguments)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if answer.refused {
		t.Fatalf("%s was refused: %s", name, answer.texts)
	}
	value := answer.value(t)
	if diff := cmp.Diff(any(value), answer.structured); diff != "" {
		t.Errorf("%s: the text says other than what is structured:\n%s", name, diff)
	}
	return value
}

// refusedBy calls a tool and expects an error code.
func refusedBy(
	t *testing.T, c mcpClient, code, name string, arguments map[string]any,
) {
	t.Helper()
	answer, err := c.call(t.Context(), name, arguments)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if got := answer.value(t)["code"]; !answer.refused || got != code {
		t.Errorf("%s answered %q, want the code %s", name, answer.texts, code)
	}
}

// at returns a nested member.
func at(t *testing.T, value map[string]any, path ...string) any {
	t.Helper()
	var inner any = value
	for _, name := range path {
		object, ok := inner.(map[string]any)
		if !ok || object[name] == nil {
			t.Fatalf("no %v in %v", path, value)
		}
		inner = object[name]
	}
	return inner
}
