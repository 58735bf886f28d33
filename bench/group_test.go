package bench

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func smallGroup() GroupConfig {
	return GroupConfig{
		Duration: 100 * time.Millisecond, Rounds: 1, Connections: 4, Projects: 6, Harms: 1,
		Writers: 3, WriteRate: 100, Changesets: 60, Filled: 6, attempt: time.Second,
	}
}

func TestGroupRunsSmall(t *testing.T) {
	config := smallGroup()
	config.Program, config.Dir = buildService(t), t.TempDir()
	// There is no etcd.
	t.Setenv("PATH", "")
	report, err := RunGroup(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if failed := report.Failed(); len(failed) > 0 {
		t.Error(failed)
	}
	for _, name := range []string{
		"single", "single-half", "group-leader", "group-leader-half", "group-follower",
		"group-follower-half", "reads-leader", "reads-follower", "bare-http",
	} {
		at := slices.IndexFunc(report.Measurements, func(m Measurement) bool { return m.Name == name })
		if at < 0 || report.Measurements[at].Count == 0 {
			t.Errorf("%s was not measured", name)
			continue
		}
		m := report.Measurements[at]
		if ofGroup := strings.ContainsAny(name[:1], "gr"); (len(m.OtherCPUMicros) == 2) != ofGroup {
			t.Errorf("%s: processor time of others: %v", name, m.OtherCPUMicros)
		}
	}
	if a := report.Acknowledged; a == nil || a.Checked < 4*config.Connections {
		t.Errorf("acknowledged: %+v", a)
	}
	if len(report.Absent) != 1 || !strings.HasPrefix(report.Absent[0], "etcd ") {
		t.Errorf("absent: %v", report.Absent)
	}
	if one := report.Failover; one == nil || len(one.Killed.First) != 1 ||
		one.Stopped.First[0] <= 0 || one.Stopped.Each[0] < one.Stopped.First[0] ||
		one.Acknowledged < 3*config.Writers {
		t.Errorf("failover: %+v", one)
	}
	if len(report.Joins) != 2 {
		t.Fatalf("joins: %+v", report.Joins)
	}
	for _, one := range report.Joins {
		if one.Changesets != 60 || one.Checked < 6 || one.Seconds < one.ServeSeconds ||
			one.CopySeconds <= 0 {
			t.Errorf("join: %+v", one)
		}
	}
	checkGroupReport(t, report)
	if left, err := os.ReadDir(config.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func checkGroupReport(t *testing.T, report *GroupReport) {
	t.Helper()
	var out bytes.Buffer
	if err := report.Markdown(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| group-leader / single |", "| reads-follower / bare-http |", "| SIGSTOP: a write ack",
		"a new member votes", "Not compared with: etcd",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	report.Failover.Lost, report.Joins[1].Lost = 1, 2
	if failed := report.Failed(); len(failed) != 2 {
		t.Errorf("lost writes are no failure: %v", failed)
	}
}

// TestAnswersOfLostMembers checks that an answer that a lost member may have given does not count.
func TestAnswersOfLostMembers(t *testing.T) {
	l := &steadyLoad{writers: []*steadyWriter{{number: 0}, {number: 1}}}
	from := time.Now()
	mark := from.Add(time.Millisecond)
	w, err := l.watch(from, mark)
	if err != nil {
		t.Fatal(err)
	}
	l.acknowledge(0, from, mark.Add(echoTime/2))
	if w.first != 0 {
		t.Errorf("an early answer counts: %v", w.first)
	}
	l.acknowledge(1, mark.Add(1), mark.Add(2))
	if w.first != time.Millisecond+2 || len(w.waiting) != 1 {
		t.Errorf("first %v, waiting %v", w.first, w.waiting)
	}
	l.acknowledge(0, from, mark.Add(echoTime))
	if err := l.await(t.Context(), w); err != nil || w.first != time.Millisecond+2 {
		t.Errorf("%v, first %v", err, w.first)
	}
}

func TestGroupRefusesWrongSizes(t *testing.T) {
	right := smallGroup()
	if err := right.validate(); err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func(*GroupConfig){
		func(c *GroupConfig) { c.Only = []string{"none"} }, func(c *GroupConfig) { c.Harms = 0 },
		func(c *GroupConfig) { c.Writers = 0 }, func(c *GroupConfig) { c.WriteRate = 0 },
		func(c *GroupConfig) { c.Changesets = 1 }, func(c *GroupConfig) { c.Filled = 0 },
		func(c *GroupConfig) { c.Duration = 0 }, func(c *GroupConfig) { c.Projects = 0 },
	} {
		spoilt := right
		spoil(&spoilt)
		if err := spoilt.validate(); err == nil {
			t.Errorf("%+v was accepted", spoilt)
		}
	}
}
