package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pws/bench/child"
)

// startPatience bounds how long a server may take to start, recovery included.
const startPatience = 5 * time.Minute

// stopPatience bounds a shutdown.
const stopPatience = time.Minute

// host is the server of the replay: a child of this process, or one that was started elsewhere.
type host struct {
	program string
	dataDir string
	process *child.Process
	// url is the current address of the server; it changes with every start of a child.
	url string
}

// startHost starts a child server with an empty folder below the given one.
func startHost(ctx context.Context, program, workDir string) (*host, error) {
	h := &host{program: program, dataDir: filepath.Join(workDir, "data")}
	if err := os.MkdirAll(h.dataDir, 0o700); err != nil {
		return nil, err
	}
	return h, h.start(ctx)
}

func (h *host) start(ctx context.Context) error {
	process, err := child.Start(ctx, startPatience, child.Program{
		Path: h.program,
		Args: []string{
			"serve", "--listen", "127.0.0.1:0", "--data", h.dataDir, "--rate-limits", "off",
			"--agent-stored-bytes", "0", "--agent-hour-bytes", "0", "--project-stored-bytes", "0",
		},
	})
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	h.process, h.url = process, process.URL
	return nil
}

// owned reports whether the server is a child, which may be killed.
func (h *host) owned() bool { return h.program != "" }

// running reports whether the child has not ended.
func (h *host) running() bool {
	select {
	case <-h.process.Done():
		return false
	default:
		return true
	}
}

// kill ends the child with SIGKILL.
func (h *host) kill() { h.process.Kill() }

// restart starts the server again on its folder and returns how long the start took.
func (h *host) restart(ctx context.Context) (time.Duration, error) {
	if h.running() {
		return 0, errors.New("the server is still running")
	}
	if err := h.start(ctx); err != nil {
		return 0, err
	}
	return h.process.Ready, nil
}

// stop ends the child with SIGTERM.
func (h *host) stop() error {
	if !h.owned() {
		return nil
	}
	if err := h.process.Stop(stopPatience); err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	return nil
}
