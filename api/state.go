package api

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"pws/api/jsonschema"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// State is the continuation state of a project.
type State struct {
	// Summary of the current status of the work.
	Summary string `json:"summary"`
	// Objective of the work.
	Objective string `json:"objective"`
	// What is being worked on now.
	CurrentFocus string `json:"current_focus"`
	// Completed work.
	Completed []string `json:"completed"`
	// Work in progress.
	InProgress []string `json:"in_progress"`
	// Problems that are known and not solved yet.
	KnownProblems []string `json:"known_problems"`
	// Decisions that the work rests on.
	Decisions []string `json:"decisions"`
	// Next actions, the first to do first.
	NextActions []string `json:"next_actions"`
	// Entry points.
	ImportantFiles []string `json:"important_files"`
	// What the work depends on outside this project.
	Dependencies []string `json:"dependencies"`
	// Questions that are not answered yet.
	OpenQuestions []string `json:"open_questions"`
	// Custom data of the agents.
	Custom Custom `json:"custom"`
	// The head at the time it was written.
	ChangesetID string `json:"changeset_id" check:"id=chg_"`
	// Version, starting at 1; incremented by each replacement.
	Version uint64 `json:"version"`
	// The agent that wrote it.
	UpdatedBy string `json:"updated_by" check:"id=agt_"`
	// When it was written.
	UpdatedAt Time `json:"updated_at"`
}

// StateData is the data of a state.
type StateData struct {
	// The state.
	State State `json:"state"`
}

// StateUpdated is the data of state.update.
type StateUpdated struct {
	// The state.
	State State `json:"state"`
	// The members that had values and were not sent; empty for a merge patch.
	Dropped []string `json:"state_dropped"`
}

// UpdateState is the body of state.update; absent members become empty.
type UpdateState struct {
	// Summary of the current status of the work.
	Summary string `json:"summary" check:"chars=0..4000,text"`
	// Objective of the work.
	Objective string `json:"objective" check:"chars=0..4000,text"`
	// What is worked on now.
	CurrentFocus string `json:"current_focus" check:"chars=0..4000,text"`
	// Completed work.
	Completed []string `json:"completed" check:"items=0..100" each:"chars=1..2000,text"`
	// Work in progress.
	InProgress []string `json:"in_progress" check:"items=0..100" each:"chars=1..2000,text"`
	// Not solved yet.
	KnownProblems []string `json:"known_problems" check:"items=0..100" each:"chars=1..2000,text"`
	// What was decided.
	Decisions []string `json:"decisions" check:"items=0..100" each:"chars=1..2000,text"`
	// Next actions, the first to do first.
	NextActions []string `json:"next_actions" check:"items=0..100" each:"chars=1..2000,text"`
	// Entry points.
	ImportantFiles []string `json:"important_files" check:"items=0..100" each:"chars=1..2000,text"`
	// Needed from outside.
	Dependencies []string `json:"dependencies" check:"items=0..100" each:"chars=1..2000,text"`
	// Not answered yet.
	OpenQuestions []string `json:"open_questions" check:"items=0..100" each:"chars=1..2000,text"`
	// Any JSON object of at most 32 KiB, without whitespace, and at most 60 levels.
	Custom Custom `json:"custom"`
	// The version to replace; if the current version is another one, the answer is STATE_CONFLICT.
	ExpectedVersion *uint64 `json:"expected_version"`
}

// customDepthMax leaves room for the nesting of all bodies that contain a state, above all
// bundles.
const customDepthMax = 60

// Custom is a JSON object with any members, stored as it was sent except for white space.
type Custom struct {
	text    []byte
	problem string
}

// UnmarshalJSON accepts any value; see Problems.
func (c *Custom) UnmarshalJSON(raw []byte) error {
	text := jsontext.Value(bytes.Clone(raw))
	if err := text.Compact(); err != nil {
		return err
	}
	*c = Custom{text: text}
	switch {
	case text.Kind() == 'n':
		// Null means absent, as for every optional member.
		*c = Custom{}
	case text.Kind() != '{':
		c.problem = "must be an object"
	case !jsonschema.Nests(text, customDepthMax):
		c.problem = fmt.Sprintf("must nest at most %d deep", customDepthMax)
	case len(text) > work.CustomBytesMax:
		c.problem = fmt.Sprintf("must have at most %d bytes", work.CustomBytesMax)
	}
	return nil
}

// Problems implements jsonschema.Checker.
func (c *Custom) Problems() []fault.Field {
	if c.problem == "" {
		return nil
	}
	return []fault.Field{{Problem: c.problem}}
}

// MarshalJSON writes the object.
func (c Custom) MarshalJSON() ([]byte, error) {
	if len(c.text) == 0 {
		return []byte("{}"), nil
	}
	return c.text, nil
}

// JSONBytesMax implements jsonschema.Sizer. White space is not stored.
func (Custom) JSONBytesMax() int { return 2 * work.CustomBytesMax }

// JSONSchema permits any object.
func (Custom) JSONSchema() map[string]any { return map[string]any{"type": "object"} }

// kept returns the object, nil if it has no members.
func (c *Custom) kept() []byte {
	if slices.Equal(c.text, []byte("{}")) {
		return nil
	}
	return c.text
}

const statePath = "/api/v1/projects/{project}/state"

var stateOperations = []*Operation{
	declare[None, StateData](Operation{
		Name: "state.read", Method: "GET", Path: statePath,
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Query: []Param{{
			Name: "changeset", Check: "chars=1..64",
			Doc: "A changeset; the state is that of the time at which it was the head.",
		}},
		Errors:      []fault.Code{fault.ProjectNotFound, fault.ChangesetNotFound},
		Conditional: true,
		Tag:         "state", Summary: "Get the project state",
		Doc: "Returns the project state: what agents have recorded about the status of the " +
			"work. Initially it is empty and has version 1. With changeset, it returns the last " +
			"state that was written while that changeset or an earlier one was the head.",
	}, readState),
	withMergePatch(declare[UpdateState, StateUpdated](Operation{
		Name: "state.update", Method: "PATCH", Path: statePath,
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: projectParam,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.ProjectNotFound, fault.RoleRequired, fault.StateConflict, fault.ProjectArchived,
			fault.PreconditionFailed,
		},
		Conditional: true, Tag: "state", Summary: "Replace the project state",
		Doc: "Replaces the whole state; fields that are not sent become empty, and " +
			"state_dropped names those that had values. With the Content-Type " +
			"application/merge-patch+json, fields that are not sent stay unchanged and null " +
			"clears. With expected_version, the request is refused with STATE_CONFLICT if the " +
			"state has changed since.",
	}, updateState), patchState),
}

// state returns the wire form of the newest version.
func (c *Call) state(p *work.Project) State { return stateOf(p.State()) }

// stateOf returns the wire form of a version.
func stateOf(from *work.State) State {
	said := &from.Statement
	return State{
		Summary: said.Summary, Objective: said.Objective, CurrentFocus: said.CurrentFocus,
		Completed: orEmpty(said.Completed), InProgress: orEmpty(said.InProgress),
		KnownProblems: orEmpty(said.KnownProblems), Decisions: orEmpty(said.Decisions),
		NextActions: orEmpty(said.NextActions), ImportantFiles: orEmpty(said.ImportantFiles),
		Dependencies: orEmpty(said.Dependencies), OpenQuestions: orEmpty(said.OpenQuestions),
		Custom:      Custom{text: said.Custom},
		ChangesetID: from.Changeset.Format(id.Changeset), Version: from.Version,
		UpdatedBy: from.UpdatedBy.Format(id.Agent), UpdatedAt: Time(from.UpdatedAt),
	}
}

// stateETag changes with each version.
func stateETag(state *work.State) string {
	return `"s` + strconv.FormatUint(state.Version, 36) + `"`
}

// dropped returns the members that had values before a statement replaced them and have none now.
func dropped(now *work.State) []string { return now.Emptied().Names() }

// command returns the command for a body.
func (u *UpdateState) command() work.UpdateState {
	return work.UpdateState{
		Statement: work.Statement{
			Summary: u.Summary, Objective: u.Objective, CurrentFocus: u.CurrentFocus,
			Completed: u.Completed, InProgress: u.InProgress, KnownProblems: u.KnownProblems,
			Decisions: u.Decisions, NextActions: u.NextActions, ImportantFiles: u.ImportantFiles,
			Dependencies: u.Dependencies, OpenQuestions: u.OpenQuestions, Custom: u.Custom.kept(),
		},
		Expected: u.ExpectedVersion,
	}
}

func readState(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	found, err := c.stateOf(view)
	if err != nil {
		return Reply{}, err
	}
	return Reply{Data: StateData{State: stateOf(found)}, ETag: stateETag(found)}, nil
}

func updateState(c *Call, body *UpdateState) (Reply, error) { return c.updateState(body.command()) }

func patchState(c *Call, body *StatePatch) (Reply, error) { return c.updateState(body.command("")) }

func (c *Call) updateState(command work.UpdateState) (Reply, error) {
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	if c.IfMatch != "" {
		command.IfMatch = func(s *work.State) error { return c.requireMatch(stateETag(s)) }
	}
	return c.answer(project, &command, func(p *work.Project, _ work.Result) (Reply, error) {
		now := p.State()
		data := StateUpdated{State: stateOf(now), Dropped: []string{}}
		if command.Patch == nil {
			data.Dropped = dropped(now)
		}
		return Reply{Data: data, ETag: stateETag(now)}, nil
	})
}
