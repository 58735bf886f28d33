package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pws/api"
	"pws/bench/child"
	rest "pws/bench/client"
	connect "pws/client"
	mcpbridge "pws/client/bridge"
	"pws/http"
)

// hurrying is a service whose claims are due for renewal at once. It notes the answers to renewals.
type hurrying struct {
	*connect.Client
	renewals chan error
}

func (h *hurrying) Caller() mcpbridge.Caller {
	return mcpbridge.Caller{Server: h.Server, SignedIn: true}
}

func (h *hurrying) Do(ctx context.Context, request *connect.Request) (*connect.Answer, error) {
	answer, err := h.Client.Do(ctx, request)
	if strings.HasSuffix(request.Path, "/claim/renew") {
		h.renewals <- err
	}
	if err == nil {
		answer.Body = bytes.ReplaceAll(answer.Body, []byte(`"renew_after_seconds":600`),
			[]byte(`"renew_after_seconds":1`))
	}
	return answer, err
}

// TestBridgeRenewsClaims has a bridge renew a claim at a real server, until the task is released.
func TestBridgeRenewsClaims(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	process, err := child.Start(context.Background(), patience, child.Program{
		Path: "pws", Args: []string{
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
	host, err := rest.HostOf(process.URL)
	if err != nil {
		t.Fatal(err)
	}
	agent := &rest.API{Host: host}
	t.Cleanup(agent.Close)
	if err := agent.Register("renewing"); err != nil {
		t.Fatal(err)
	}
	service := &hurrying{
		Client:   connect.New(process.URL, connect.Fixed(agent.Credential)),
		renewals: make(chan error, 100),
	}
	t.Cleanup(service.Close)
	ask := bridgeOver(t, service)
	project := ask("project.create", `{"name":"Renewing","visibility":"PRIVATE"}`, "prj_")
	task := ask("task.create", fmt.Sprintf(`{"project":%q,"title":"Wait"}`, project), "tsk_")
	ask("task.claim", fmt.Sprintf(`{"task":%q}`, task), "clm_")
	for range 2 {
		if err := service.renewed(t); err != nil {
			t.Fatal(err)
		}
	}
	ask("task.release", fmt.Sprintf(`{"task":%q}`, task), "tsk_")
	for err = service.renewed(t); err == nil; err = service.renewed(t) {
		// It was on its way before the release.
	}
	if !connect.IsCode(err, "CLAIM_LOST") {
		t.Error(err)
	}
}

// renewed waits for the next renewal.
func (h *hurrying) renewed(t *testing.T) error {
	t.Helper()
	select {
	case err := <-h.renewals:
		return err
	case <-time.After(patience):
		t.Fatal("no renewal")
		return nil
	}
}

// bridgeOver starts a bridge. The function that it returns calls a tool, expects success, and
// returns the first ID of a kind in the answer.
func bridgeOver(t *testing.T, service *hurrying) func(tool, arguments, kind string) string {
	t.Helper()
	in, toBridge := io.Pipe()
	fromBridge, out := io.Pipe()
	ended := make(chan error, 1)
	bridge := mcpbridge.New(mcpbridge.Config{
		Service: service, Version: version, Log: slog.New(slog.DiscardHandler),
		Offline: func(server string) (mcpbridge.Offline, error) {
			return http.NewOffline(api.Config{Version: version, PublicURL: server})
		},
		NextStep: func(error) string { return "" },
	})
	go func() { ended <- bridge.Serve(context.Background(), in, out) }()
	t.Cleanup(func() {
		_ = toBridge.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewReader(fromBridge)
	return func(tool, arguments, kind string) string {
		t.Helper()
		_, err := fmt.Fprintf(toBridge, `{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":`+
			`{"name":%q,"arguments":%s}}`+"\n", tool, tool, arguments)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := lines.ReadString('\n')
		if code, _, parseErr := bridgeResult(answer); err != nil || parseErr != nil || code != "ok" {
			t.Fatalf("%s: %v, %s", tool, err, answer)
		}
		_, after, _ := strings.Cut(answer, kind)
		const idLen = 26
		return kind + after[:idLen]
	}
}
