package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func smallGrowth() GrowthConfig {
	return GrowthConfig{
		Duration: 20 * time.Millisecond, Rounds: 1, Connections: 4,
		Projects: []int{3, 6}, Changesets: []int{4, 20}, Files: []int{2, 120}, Tasks: []int{2, 30},
		Clients: []int{1, 5}, Idle: 20, Loads: []float64{0.5, 0.9},
	}
}

func TestGrowthRunsSmall(t *testing.T) {
	config := smallGrowth()
	config.Program, config.Dir = buildService(t), t.TempDir()
	config.Charts = filepath.Join(t.TempDir(), "charts")
	report, err := RunGrowth(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if failed := report.Failed(); len(failed) > 0 {
		t.Error(failed)
	}
	if a := report.Acknowledged; a == nil || a.Checked < 5*config.Connections {
		t.Errorf("acknowledged: %+v", a)
	}
	for _, part := range append(slices.Clone(GrowthParts), "idle") {
		points := 0
		for _, p := range report.Points {
			if p.Part == part {
				points++
				if p.PerSecond <= 0 || p.Latency.P50 <= 0 {
					t.Errorf("%+v", p)
				}
			}
		}
		if points < 2 {
			t.Errorf("%s has %d points", part, points)
		}
	}
	var out bytes.Buffer
	if err := report.Markdown(&out); err != nil {
		t.Fatal(err)
	}
	want := []byte("| projects-6-writes / projects-3-writes |")
	if !bytes.Contains(out.Bytes(), want) {
		t.Errorf("no %q in\n%s", want, &out)
	}
	for _, name := range []string{"growth", "connections", "load"} {
		drawn, err := os.ReadFile(filepath.Join(config.Charts, name+".svg"))
		if err != nil || !bytes.Contains(drawn, []byte("<polyline")) {
			t.Errorf("chart %s: %v\n%s", name, err, drawn)
		}
	}
}

func TestGrowthRefusesWrongSizes(t *testing.T) {
	right := smallGrowth()
	if err := right.validate(); err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func(*GrowthConfig){
		func(c *GrowthConfig) { c.Only = []string{"none"} },
		func(c *GrowthConfig) { c.Projects = nil }, func(c *GrowthConfig) { c.Files = []int{5, 2} },
		func(c *GrowthConfig) { c.Changesets = []int{0, 1} },
		func(c *GrowthConfig) { c.Tasks = []int{tasksMax + 1} },
		func(c *GrowthConfig) { c.Loads = []float64{1.5} }, func(c *GrowthConfig) { c.Idle = -1 },
		func(c *GrowthConfig) { c.Duration = 0 },
	} {
		spoilt := right
		spoil(&spoilt)
		if err := spoilt.validate(); err == nil {
			t.Errorf("%+v was accepted", spoilt)
		}
	}
}
