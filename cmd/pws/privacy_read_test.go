package main

import (
	"strings"
	"testing"

	"pws/api"
)

// The test of privacy rejects a line that requests nothing, or something else than it declares.
func TestPrivacyScriptRejectsBadLines(t *testing.T) {
	step := func(p *privacy, line string) error { return p.readWorld(line) }
	cases := func(p *privacy, line string) error { return p.readCases(line) }
	for _, one := range []struct {
		read func(*privacy, string) error
		line string
		want string
	}{
		{step, "all | owner | PUT projects/$project/files/<file>.rb {} | head=data.changeset.id", ""},
		{step, "hub private | bridge | POST projects {}", ""},
		{step, "all | owner | POST project {}", "no operation"},
		{step, "all | owner | PUT projects {}", "no operation"},
		{step, "all | owner | POST projects/$project/task {}", "no operation"},
		{step, "privat | owner | POST projects {}", "not a project"},
		{step, "all | POST projects {}", "columns"},
		{cases, "task.read | TASK_NOT_FOUND | GET tasks/$task", ""},
		{cases, "events.poll | surface | GET events?limit=200 | shows", ""},
		{cases, "agent.read | agents | GET agents/$owner | lacks OBSERVED", ""},
		{cases, "task.raed | TASK_NOT_FOUND | GET tasks/$task", "task.raed is not"},
		{cases, "task.forget | surface | GET tasks/$task", "task.forget is not"},
		{cases, "task.read | TASK_NOT_FOUND | GET task/$task", "task.read is not"},
		{cases, "task.read | TASK_NOT_FOUND | PATCH tasks/$task", "task.read is not"},
		{cases, "task.read | TASK_NOT_FUOND | GET tasks/$task", "does not answer"},
		{cases, "task.read | TURN_HELD | GET tasks/$task", "does not answer"},
		{cases, "task.read | surfaces | GET tasks/$task", "does not answer"},
		{cases, "task.read | surface | GET tasks/$task | show", "unknown expectation"},
		{cases, "task.read | surface", "columns"},
	} {
		p := &privacy{script: &script{vars: map[string]string{}}}
		err := one.read(p, one.line)
		if (err == nil) != (one.want == "") || err != nil && !strings.Contains(err.Error(), one.want) {
			t.Errorf("%s: %v, want %q", one.line, err, one.want)
		}
	}
	p := &privacy{script: &script{vars: map[string]string{}}}
	if err := p.readCases("events.poll | surface | GET events"); err != nil {
		t.Fatal(err)
	}
	if gaps := p.gaps(); len(gaps) != len(api.Table)-1 {
		t.Errorf("%d operations are without a case", len(gaps))
	}
}
