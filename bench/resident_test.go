package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestResidentRunsSmall(t *testing.T) {
	charts := filepath.Join(t.TempDir(), "charts")
	report, err := RunResident(t.Context(), ResidentConfig{
		Program: buildService(t), Projects: 5, Changesets: 50, Passive: 30, Dir: t.TempDir(),
		Steady: 80 * time.Millisecond, SteadyEvery: 20 * time.Millisecond, SteadyRate: 500,
		Charts: charts, settlePause: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if failed := report.Failed(); len(failed) > 0 {
		t.Error(failed)
	}
	if one := report.Changesets; one == nil || one.Changesets != 50 || one.EmptyBytes <= 0 {
		t.Errorf("changesets: %+v", one)
	}
	if one := report.Passive; one == nil || one.Projects != 30 || one.RestartSeconds <= 0 {
		t.Errorf("passive: %+v", one)
	}
	if one := report.Steady; one == nil || one.Writes == 0 || len(one.Samples) < 4 ||
		one.DiskBytes <= 0 || one.FolderBytes <= 0 {
		t.Errorf("steady: %+v", one)
	}
	for _, one := range report.Tables {
		if one.Resident <= 0 || one.Sum() <= 0 || one.of("runtime") <= 0 || len(one.Owners) < 5 {
			t.Errorf("%s: %+v", one.When, one)
		}
	}
	var out bytes.Buffer
	if err := report.Markdown(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| sum |", "| resident (VmRSS) |", "for a byte of content"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	drawn, err := os.ReadFile(filepath.Join(charts, "memory.svg"))
	if err != nil || !bytes.Contains(drawn, []byte("<polyline")) {
		t.Errorf("chart: %v\n%s", err, drawn)
	}
}

func TestResidentRefusesWrongSizes(t *testing.T) {
	right := ResidentConfig{
		Projects: 2, Changesets: 4, Passive: 1, Steady: time.Hour, SteadyEvery: time.Minute,
		SteadyRate: 1,
	}
	if err := right.validate(); err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func(*ResidentConfig){
		func(c *ResidentConfig) { c.Only = []string{"none"} },
		func(c *ResidentConfig) { c.Projects = 0 }, func(c *ResidentConfig) { c.Passive = 0 },
		func(c *ResidentConfig) { c.Changesets = 1 }, func(c *ResidentConfig) { c.SteadyRate = 0 },
		func(c *ResidentConfig) { c.SteadyEvery = c.Steady },
	} {
		spoilt := right
		spoil(&spoilt)
		if err := spoilt.validate(); err == nil {
			t.Errorf("%+v was accepted", spoilt)
		}
	}
}
