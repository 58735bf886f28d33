package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"pws/bench/client"
)

// mcpTarget is the part of the GET rate that the tool should reach.
const mcpTarget = 0.7

// mcpVersion is the protocol version of the calls.
const mcpVersion = "2026-07-28"

// toolCall is the tool call that reads the file at a REST path, with the headers and members that
// clients of the protocol send.
func (s *server) toolCall(path string) ([]byte, error) {
	const tool = "file.read"
	project, file, found := strings.Cut(strings.TrimPrefix(path, "/api/v1/projects/"), "/files/")
	if !found {
		return nil, fmt.Errorf("%s is not a path of a file", path)
	}
	body, err := client.EncodeJSON(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{
			"name": tool, "arguments": map[string]string{"project": project, "path": file},
			"_meta": map[string]any{
				"io.modelcontextprotocol/protocolVersion": mcpVersion,
				"io.modelcontextprotocol/clientInfo": map[string]string{
					"name": "pws-bench", "version": "1",
				},
				"io.modelcontextprotocol/clientCapabilities": map[string]any{},
			},
		},
	})
	if err != nil {
		return nil, err
	}
	request := client.Request{
		Method: "POST", Path: "/mcp", Host: s.host, Credential: s.api.Credential, Body: body,
		Lines: []string{
			"Accept: application/json, text/event-stream", "MCP-Protocol-Version: " + mcpVersion,
			"Mcp-Method: tools/call", "Mcp-Name: " + tool,
		},
	}
	return request.Append(nil), nil
}

// toolCalls are calls for all paths. The first is tried, because an error result of a tool has
// status 200 and would be counted as a success.
func (s *server) toolCalls(paths []string) ([][]byte, error) {
	calls := make([][]byte, len(paths))
	for i, path := range paths {
		call, err := s.toolCall(path)
		if err != nil {
			return nil, err
		}
		calls[i] = call
	}
	conn, err := client.Dial(s.host)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	response, err := conn.Exchange(calls[0])
	if err != nil {
		return nil, err
	}
	var answer struct {
		Result struct {
			IsError           bool `json:"isError"`
			StructuredContent struct {
				File struct {
					Content string `json:"content"`
				} `json:"file"`
			} `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal(response.Body, &answer); err != nil {
		return nil, fmt.Errorf("tools/call: %d: %w", response.Status, err)
	}
	if answer.Result.IsError ||
		len(answer.Result.StructuredContent.File.Content) != readContentSize {
		return nil, errors.New("tools/call: " + string(response.Body))
	}
	return calls, nil
}

// inTurn sends prepared requests in turn.
func inTurn(requests [][]byte, start int) func() []byte {
	turn := start
	return func() []byte {
		turn++
		return requests[turn%len(requests)]
	}
}

// runMCP compares the tool that reads a file with the GET of the same file.
func runMCP(ctx context.Context, srv *server, report *Report) error {
	paths, err := srv.readPaths(ctx)
	if err != nil {
		return err
	}
	calls, err := srv.toolCalls(paths)
	if err != nil {
		return err
	}
	n := srv.config.Connections
	tool := &subject{
		name: RunMCP, what: "tools/call of file.read of a 1 KiB file, Bearer session", cpu: srv.cpu,
		connect: httpClients(srv.host, n, func(at int) func() []byte { return inTurn(calls, at) }),
	}
	get := &subject{
		name: RunMCP + "-get", what: "GET of the same files", cpu: srv.cpu,
		connect: readers(srv.host, srv.api.Credential, n, paths),
	}
	if err := report.drive(ctx, srv.config, tool, get); err != nil {
		return err
	}
	report.compareRates(tool, get, mcpTarget)
	return nil
}
