package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// serviceDir has the program that buildService has built; it is removed AFTER all tests.
var serviceDir string

var builtService = sync.OnceValues(func() (program string, err error) {
	if serviceDir, err = os.MkdirTemp("", "pws-bench-test-"); err != nil {
		return "", err
	}
	program = filepath.Join(serviceDir, "pws")
	out, err := exec.Command("go", "build", "-o", program, "pws/cmd/pws").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
})

// buildService builds the program whose serve command runs the service, once for all tests.
func buildService(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs the service")
	}
	program, err := builtService()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func TestAllRunsAgainstTheService(t *testing.T) {
	config := testConfig(t)
	config.Program = buildService(t)
	config.Rounds, config.Duration = 1, 20*time.Millisecond
	config.settlePause = time.Millisecond
	report, err := Run(t.Context(), *config)
	if err != nil {
		t.Fatal(err)
	}
	if failed := report.Failed(); len(failed) > 0 {
		t.Errorf("failed: %v", failed)
	}
	for _, m := range report.Measurements {
		if m.PerSecond <= 0 {
			t.Errorf("%s did nothing", m.Name)
		}
	}
	for _, name := range RunNames {
		if name != RunRestart && name != RunMemory &&
			!slices.ContainsFunc(report.Measurements, func(m Measurement) bool {
				return m.Name == name
			}) {
			t.Errorf("%s was not measured", name)
		}
	}
	if r := report.Restart; r == nil || r.Changesets != 55 || r.Checked != 5 || r.Seconds <= 0 {
		t.Errorf("restart: %+v", r)
	}
	if a := report.Acknowledged; a == nil || a.Checked < config.Connections {
		t.Errorf("acknowledged: %+v", a)
	}
	if m := report.Memory; m == nil || m.EmptyBytes <= 0 || m.Operations != 1600 {
		t.Errorf("memory: %+v", m)
	}
	var out bytes.Buffer
	if err := report.Markdown(&out); err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
}
