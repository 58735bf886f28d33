package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpClient is a connected MCP client of one of the libraries.
type mcpClient interface {
	server() mcpServer
	list(ctx context.Context) ([]mcpTool, error)
	call(ctx context.Context, name string, arguments map[string]any) (*mcpAnswer, error)
	close() error
}

// mcpServer is what a client learns about the server when it connects.
type mcpServer struct{ version, name, instructions string }

// mcpTool is one listed tool as a client library decodes it.
type mcpTool struct {
	name, title, description string
	input, output            bool
	hints                    int
}

// mcpAnswer is the result of a tool call: its text blocks and its structured content.
type mcpAnswer struct {
	refused    bool
	texts      []string
	structured any
}

// mcpPlace is an endpoint and a credential. It keeps its connections until the test closes them.
type mcpPlace struct {
	url, credential string
	connections     *http.Transport
}

// RoundTrip adds the credential.
func (p *mcpPlace) RoundTrip(request *http.Request) (*http.Response, error) {
	if p.credential != "" {
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", "Bearer "+p.credential)
	}
	return p.connections.RoundTrip(request)
}

// mcpLibrary is one client library: connect opens a session in a version of the protocol; code
// extracts the code of a JSON-RPC error, zero for any other error.
type mcpLibrary struct {
	name    string
	connect func(ctx context.Context, place *mcpPlace, version string) (mcpClient, error)
	code    func(error) int64
}

var mcpLibraries = []mcpLibrary{
	{"go-sdk", connectSDK, func(err error) int64 {
		var wire *jsonrpc.Error
		if errors.As(err, &wire) {
			return wire.Code
		}
		return 0
	}},
	{"mcp-go", connectMCPGo, func(err error) int64 {
		if errors.Is(err, mcp.ErrInvalidParams) {
			return mcp.INVALID_PARAMS
		}
		return 0
	}},
}

type sdkClient struct{ session *gosdk.ClientSession }

func connectSDK(ctx context.Context, place *mcpPlace, version string) (mcpClient, error) {
	session, err := gosdk.NewClient(&gosdk.Implementation{Name: "pws-test", Version: "1"}, nil).
		Connect(ctx, &gosdk.StreamableClientTransport{
			Endpoint: place.url, HTTPClient: &http.Client{Transport: place},
		}, &gosdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return nil, err
	}
	return sdkClient{session}, nil
}

func (c sdkClient) close() error { return c.session.Close() }

func (c sdkClient) server() mcpServer {
	begun := c.session.InitializeResult()
	return mcpServer{begun.ProtocolVersion, begun.ServerInfo.Name, begun.Instructions}
}

func (c sdkClient) list(ctx context.Context) ([]mcpTool, error) {
	page, err := c.session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	if page.NextCursor != "" {
		return nil, errors.New("there is more than a page of tools")
	}
	var all []mcpTool
	for _, one := range page.Tools {
		hints := 2 // The other two are plain bools here: absent means false.
		for _, hint := range []*bool{one.Annotations.DestructiveHint, one.Annotations.OpenWorldHint} {
			if hint != nil {
				hints++
			}
		}
		all = append(all, mcpTool{
			one.Name, one.Title, one.Description, one.InputSchema != nil, one.OutputSchema != nil,
			hints,
		})
	}
	return all, nil
}

func (c sdkClient) call(
	ctx context.Context, name string, arguments map[string]any,
) (*mcpAnswer, error) {
	result, err := c.session.CallTool(ctx, &gosdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return nil, err
	}
	answer := &mcpAnswer{refused: result.IsError, structured: result.StructuredContent}
	for _, block := range result.Content {
		if text, ok := block.(*gosdk.TextContent); ok {
			answer.texts = append(answer.texts, text.Text)
		}
	}
	return answer, nil
}

type mcpGoClient struct {
	client *mcpgo.Client
	begun  *mcp.InitializeResult
}

func connectMCPGo(ctx context.Context, place *mcpPlace, version string) (mcpClient, error) {
	client, err := mcpgo.NewStreamableHttpClient(place.url,
		transport.WithHTTPBasicClient(&http.Client{Transport: place}))
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, err
	}
	var asked mcp.InitializeRequest
	asked.Params.ProtocolVersion = version
	asked.Params.ClientInfo = mcp.Implementation{Name: "pws-test", Version: "1"}
	begun, err := client.Initialize(ctx, asked)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return mcpGoClient{client, begun}, nil
}

func (c mcpGoClient) close() error { return c.client.Close() }

func (c mcpGoClient) server() mcpServer {
	return mcpServer{c.begun.ProtocolVersion, c.begun.ServerInfo.Name, c.begun.Instructions}
}

func (c mcpGoClient) list(ctx context.Context) ([]mcpTool, error) {
	page, err := c.client.ListToolsByPage(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	if page.NextCursor != "" {
		return nil, errors.New("there is more than a page of tools")
	}
	var all []mcpTool
	for _, one := range page.Tools {
		shown := mcpTool{
			one.Name, one.Title, one.Description, one.InputSchema.Type == "object",
			one.OutputSchema.Type == "object", 0,
		}
		for _, hint := range []*bool{
			one.Annotations.ReadOnlyHint, one.Annotations.DestructiveHint,
			one.Annotations.IdempotentHint, one.Annotations.OpenWorldHint,
		} {
			if hint != nil {
				shown.hints++
			}
		}
		all = append(all, shown)
	}
	return all, nil
}

func (c mcpGoClient) call(
	ctx context.Context, name string, arguments map[string]any,
) (*mcpAnswer, error) {
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = name, arguments
	result, err := c.client.CallTool(ctx, request)
	if err != nil {
		return nil, err
	}
	answer := &mcpAnswer{refused: result.IsError, structured: result.StructuredContent}
	for _, block := range result.Content {
		if text, ok := block.(mcp.TextContent); ok {
			answer.texts = append(answer.texts, text.Text)
		}
	}
	return answer, nil
}

// value returns the structured content. The first text must be the same JSON; the only other text
// allowed marks a replay.
func (a *mcpAnswer) value(t *testing.T) map[string]any {
	t.Helper()
	if len(a.texts) != 1 && (len(a.texts) != 2 || !strings.Contains(a.texts[1], "replay")) {
		t.Fatalf("the answer has %d texts: %q", len(a.texts), a.texts)
	}
	var value map[string]any
	if err := json.Unmarshal([]byte(a.texts[0]), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
