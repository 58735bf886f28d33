//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"pws/client/cli"
)

// TestInterrupt has commands of the client wait for what never comes, or compute without an end: an
// interrupt ends them.
func TestInterrupt(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok":true,"data":{}}`)
		asked <- struct{}{}
	}))
	defer server.Close()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// A FIFO can be opened for writing when somebody reads it.
	opened := func() {
		file, err := os.OpenFile(fifo, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
	}
	for nth, one := range []struct {
		args    []string
		waits   func()
		signals os.Signal
	}{
		{[]string{"file", "write", "x", "fifo"}, opened, os.Interrupt},
		{[]string{"api", "POST", "projects", "--input", "fifo"}, opened, syscall.SIGTERM},
		{[]string{"api", "GET", "x", "--jq", "def f: f; f"}, func() { <-asked }, os.Interrupt},
	} {
		t.Run(fmt.Sprint(nth), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			command := exec.CommandContext(ctx, own)
			command.Args = append([]string{"pws"}, one.args...)
			command.Dir = dir
			command.Env = []string{"HOME=" + dir, "PWS_SERVER=" + server.URL, "PWS_TOKEN=x"}
			command.Stderr = t.Output()
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			one.waits()
			if err := command.Process.Signal(one.signals); err != nil {
				t.Error(err)
			}
			_ = command.Wait()
			if code := command.ProcessState.ExitCode(); code != cli.ExitInterrupted {
				t.Errorf("exit code %d: %v", code, command.ProcessState)
			}
		})
	}
}

// TestOverdue: a command gets its time AFTER an interrupt, also if a host sends another signal, and
// none if a person interrupts it again.
func TestOverdue(t *testing.T) {
	done, never := make(chan struct{}), make(chan struct{})
	close(done)
	over := make(chan time.Time, 1)
	signals := func(all ...os.Signal) chan os.Signal {
		sent := make(chan os.Signal, len(all))
		for _, one := range all {
			sent <- one
		}
		return sent
	}
	if overdue(os.Interrupt, nil, nil, done) {
		t.Error("a command that has ended is overdue")
	}
	if !overdue(os.Interrupt, signals(syscall.SIGTERM, os.Interrupt), nil, never) {
		t.Error("a second interrupt is ignored")
	}
	hosts := signals(syscall.SIGTERM)
	ended := make(chan bool)
	go func() { ended <- overdue(os.Interrupt, hosts, over, never) }()
	for len(hosts) > 0 {
		runtime.Gosched()
	}
	select {
	case <-ended:
		t.Error("SIGTERM behind SIGINT takes the time away")
	default:
	}
	over <- time.Time{}
	if !<-ended {
		t.Error("the time has no end")
	}
}
