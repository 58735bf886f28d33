package actors

import (
	"testing"

	"pws/api"
	"pws/identity"
	"pws/work"
)

// TestOrdersAreMeasured checks that an order says how long its project was busy with it, whether it
// is carried out or refused.
func TestOrdersAreMeasured(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	command := &work.UpdateState{Statement: work.Statement{Summary: "a step"}}
	for name, one := range map[string]struct {
		order   api.Order
		refused bool
	}{
		"an update": {
			order: api.Order{Project: project, Agent: owner, Command: command},
		},
		"a stranger's update": {
			order:   api.Order{Project: project, Agent: project, Command: command},
			refused: true,
		},
	} {
		done, err := e.Do(one.order)
		if (err != nil) != one.refused || done.Spent <= 0 {
			t.Errorf("%s: %v, busy for %v", name, err, done.Spent)
		}
	}
}

// TestOrdersOfIdentityAreMeasured does the same for identity.
func TestOrdersOfIdentityAreMeasured(t *testing.T) {
	e, _, _ := oneProject(t, nil)
	for name, one := range map[string]struct {
		command identity.Command
		refused bool
	}{
		"what has run out":           {command: &identity.Prune{}},
		"a session that is nobody's": {command: &identity.EndSession{}, refused: true},
	} {
		done, err := e.DoIdentity(api.IdentityOrder{Command: one.command})
		if (err != nil) != one.refused || done.Spent <= 0 {
			t.Errorf("%s: %v, busy for %v", name, err, done.Spent)
		}
	}
}
