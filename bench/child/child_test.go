package child

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

func shell(script string) Program {
	return Program{Path: "/bin/sh", Args: []string{"-c", script}}
}

func TestStartReadsTheAnnouncement(t *testing.T) {
	p, err := Start(t.Context(), patience, shell(
		"echo noise; echo listening on http://127.0.0.1:1; exec sleep 100"))
	if err != nil {
		t.Fatal(err)
	}
	if p.URL != "http://127.0.0.1:1" {
		t.Errorf("URL %q", p.URL)
	}
	if usage, err := ReadUsage(p.PID()); err != nil || usage.ResidentBytes <= 0 {
		t.Errorf("usage %v, %v", usage, err)
	}
	p.Kill()
	if _, err := ReadUsage(p.PID()); !os.IsNotExist(err) {
		t.Errorf("after the kill: %v", err)
	}
}

func TestStartReportsWhyItFailed(t *testing.T) {
	_, err := Start(t.Context(), patience, shell("echo the reason >&2; exit 3"))
	if err == nil || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("%v", err)
	}
	if _, err := Start(t.Context(), patience, Program{Path: "/does/not/exist"}); err == nil {
		t.Error("started nothing")
	}
	_, err = Start(t.Context(), 50*time.Millisecond, shell("exec sleep 100"))
	if err == nil || !strings.Contains(err.Error(), "did not serve") {
		t.Errorf("%v", err)
	}
}

func TestStop(t *testing.T) {
	script := "trap 'exit 0' TERM; echo listening on x; while :; do sleep 0.01; done"
	p, err := Start(t.Context(), patience, shell(script))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(patience); err != nil {
		t.Errorf("stopped by SIGTERM: %v", err)
	}
	p, err = Start(t.Context(), patience, shell(strings.Replace(script, "exit 0", "exit 1", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(patience); err == nil {
		t.Error("exit code 1 is reported as success")
	}
}

func TestFreeze(t *testing.T) {
	p, err := Start(t.Context(), patience, shell("echo listening on x; exec sleep 100"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	for _, one := range []struct {
		do   func() error
		want bool
	}{{p.Freeze, true}, {p.Thaw, false}} {
		if err := one.do(); err != nil {
			t.Fatal(err)
		}
		for until := time.Now().Add(patience); ; {
			frozen, err := Frozen(p.PID())
			if err != nil {
				t.Fatal(err)
			}
			if frozen == one.want {
				break
			}
			if time.Now().After(until) {
				t.Fatalf("frozen: %t", frozen)
			}
		}
	}
}

func TestContextKills(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := StartQuiet(ctx, shell("exec sleep 100"))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-p.Done()
}
