package identity

import (
	"fmt"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// Drop is a project whose data is being dropped from the disk.
type Drop struct {
	Project id.ID `cbor:"1,keyasint"`
	// Reason is why it is removed.
	Reason string `cbor:"2,keyasint,omitempty"`
}

// Drops returns the projects whose data is being dropped, in the order in which that began. The
// slice must not be modified.
func (s *State) Drops() []Drop { return s.operator.drops }

// Dropping reports whether the data of a project is being dropped.
func (s *State) Dropping(project id.ID) bool {
	return slices.ContainsFunc(s.operator.drops, func(one Drop) bool { return one.Project == project })
}

// DropProject notes that a project is to be removed and its data to be dropped from the disk. The
// note stays until EndDrops, so that a start can go on. The result is *ActionDone.
type DropProject struct {
	Project id.ID
	Reason  string
	// ByOperator enters the removal into the log of actions.
	ByOperator bool
}

// Decide implements Command. VALIDATION_FAILED, QUOTA_EXCEEDED. Of a project that is noted already
// nothing changes.
func (c *DropProject) Decide(s *State, _ Stamp) (Outcome, error) {
	if err := checkReason(c.Reason); err != nil {
		return Outcome{}, err
	}
	if s.Dropping(c.Project) {
		return Outcome{Result: &ActionDone{}}, nil
	}
	if len(s.operator.drops) >= DropsMax {
		return Outcome{}, fault.New(fault.QuotaExceeded, "Too many projects are being dropped.").
			With("quota", "dropped_projects").With("limit", DropsMax)
	}
	events := []Event{&ProjectDropBegun{Project: c.Project, Reason: c.Reason}}
	if c.ByOperator {
		events = append(events, &ActionNoted{
			Action: ActionRemove, Subject: c.Project.Format(id.Project), Reason: c.Reason,
		})
	}
	return Outcome{Events: events, Result: &ActionDone{Changed: true}}, nil
}

// EndDrops notes that the data of projects has left the disk. The result is *ActionDone.
type EndDrops struct{ Projects []id.ID }

// Decide implements Command; it returns no error.
func (c *EndDrops) Decide(s *State, _ Stamp) (Outcome, error) {
	var events []Event
	for _, project := range c.Projects {
		if s.Dropping(project) {
			events = append(events, &ProjectDropEnded{Project: project})
		}
	}
	return Outcome{Events: events, Result: &ActionDone{Changed: len(events) > 0}}, nil
}

// ProjectDropBegun notes a project whose data is to be dropped.
type ProjectDropBegun struct {
	Project id.ID  `cbor:"1,keyasint,omitzero"`
	Reason  string `cbor:"2,keyasint,omitempty"`
}

// Kind implements Event.
func (*ProjectDropBegun) Kind() Kind { return KindProjectDropBegun }

func (*ProjectDropBegun) touched() (id.ID, bool) { return id.ID{}, false }

func (*ProjectDropBegun) touchesOperator() {}

func (e *ProjectDropBegun) apply(s *State, _ int64) {
	if s.Dropping(e.Project) {
		panic(fmt.Sprintf("identity: project %x dropped twice", e.Project))
	}
	s.changeOperator(func(next *operator) {
		next.drops = append(slices.Clone(next.drops), Drop(*e))
	})
}

// ProjectDropEnded notes that the data of a project has left the disk.
type ProjectDropEnded struct {
	Project id.ID `cbor:"1,keyasint,omitzero"`
}

// Kind implements Event.
func (*ProjectDropEnded) Kind() Kind { return KindProjectDropEnded }

func (*ProjectDropEnded) touched() (id.ID, bool) { return id.ID{}, false }

func (*ProjectDropEnded) touchesOperator() {}

func (e *ProjectDropEnded) apply(s *State, _ int64) {
	if !s.Dropping(e.Project) {
		panic(fmt.Sprintf("identity: project %x is not dropped", e.Project))
	}
	s.changeOperator(func(next *operator) {
		next.drops = slices.DeleteFunc(slices.Clone(next.drops), func(one Drop) bool {
			return one.Project == e.Project
		})
	})
}
