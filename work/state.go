package work

import (
	"pws/internal/fault"
	"pws/internal/id"
)

// Statement is the content of a project's state, which is always replaced as a whole.
type Statement struct {
	Summary        string   `cbor:"1,keyasint,omitempty"`
	Objective      string   `cbor:"2,keyasint,omitempty"`
	CurrentFocus   string   `cbor:"3,keyasint,omitempty"`
	Completed      []string `cbor:"4,keyasint,omitempty"`
	InProgress     []string `cbor:"5,keyasint,omitempty"`
	KnownProblems  []string `cbor:"6,keyasint,omitempty"`
	Decisions      []string `cbor:"7,keyasint,omitempty"`
	NextActions    []string `cbor:"8,keyasint,omitempty"`
	ImportantFiles []string `cbor:"9,keyasint,omitempty"`
	Dependencies   []string `cbor:"10,keyasint,omitempty"`
	OpenQuestions  []string `cbor:"11,keyasint,omitempty"`
	// Custom is a JSON object without white space, empty for an object without members.
	Custom []byte `cbor:"12,keyasint,omitempty"`
}

// State is one version of the continuation state of a project.
type State struct {
	Statement Statement `cbor:"1,keyasint"`
	// Changeset was the head when the version was written.
	Changeset id.ID  `cbor:"2,keyasint"`
	Version   uint64 `cbor:"3,keyasint"`
	UpdatedBy id.ID  `cbor:"4,keyasint"`
	// UpdatedAt is Unix milliseconds.
	UpdatedAt int64 `cbor:"5,keyasint"`
	// Changed are the members that differ from the version before; none if that is not known.
	Changed StateMembers `cbor:"6,keyasint,omitempty"`
}

// State returns the newest version. A project without one has an empty state of version 1 with
// the creation time of the project.
func (p *Project) State() *State {
	if p.saved.State != nil {
		return p.saved.State
	}
	return p.firstState()
}

// firstState returns the empty state of version 1.
func (p *Project) firstState() *State {
	return &State{
		Changeset: p.history.id(1), Version: 1, UpdatedBy: p.Creator(), UpdatedAt: p.CreatedAt,
	}
}

// UpdateState replaces the state, or changes some of its members.
type UpdateState struct {
	Statement Statement
	// Patch changes the current statement instead of replacing it; nil replaces it.
	Patch *StatementPatch
	// Expected is the version that the caller has read, nil for any.
	Expected *uint64
	// IfMatch is called with the current state; nil checks nothing. It returns PRECONDITION_FAILED.
	IfMatch func(s *State) error
	// Field is the path of the body in a larger request, with a trailing dot.
	Field string
}

// Authorize accepts contributors, and any agent in a community project.
func (c *UpdateState) Authorize(p *Project, agent id.ID) error {
	return MayWork.Require(p, agent)
}

// Decide returns PROJECT_ARCHIVED, PRECONDITION_FAILED, STATE_CONFLICT, and VALIDATION_FAILED if a
// changed member becomes too large.
func (c *UpdateState) Decide(p *Project, _ Stamp) (Decision, error) {
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	current := p.State()
	if c.IfMatch != nil {
		if err := c.IfMatch(current); err != nil {
			return Decision{}, err
		}
	}
	if err := requireVersion(current, c.Expected); err != nil {
		return Decision{}, err
	}
	updated := &StateUpdated{Statement: c.Statement, Changeset: p.Head().ID}
	if c.Patch != nil {
		var err error
		if updated.Statement, err = c.Patch.on(&current.Statement, c.Field); err != nil {
			return Decision{}, err
		}
	}
	return Decision{Events: []Event{updated}}, nil
}

func requireVersion(current *State, expected *uint64) error {
	if expected == nil || *expected == current.Version {
		return nil
	}
	return fault.New(fault.StateConflict, "The state has a newer version.").
		With("current_version", current.Version)
}

// StateUpdated is the event of a new version of the state.
type StateUpdated struct {
	Statement Statement `cbor:"1,keyasint"`
	Changeset id.ID     `cbor:"2,keyasint"`
}

func (e *StateUpdated) apply(p *Project, at Moment) {
	before := p.State()
	p.keepState()
	p.saved.State = &State{
		Statement: e.Statement, Changeset: e.Changeset, Version: before.Version + 1,
		UpdatedBy: at.Agent, UpdatedAt: at.Now,
		Changed: e.Statement.differences(&before.Statement),
	}
}
