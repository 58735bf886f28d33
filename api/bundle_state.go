package api

import (
	"fmt"
	"slices"

	"pws/internal/id"
	"pws/work"
)

// BundleState is an earlier version of the state in a bundle.
type BundleState struct {
	State
	// What an earlier bundle says about it; null if it was written in the project of this bundle.
	Origin *StateOrigin `json:"origin"`
}

// StateOrigin is what a bundle says about a version of the state. It is not verified.
type StateOrigin struct {
	// The agent that wrote it there.
	Author AgentRef `json:"author"`
	// When it was written there.
	CreatedAt Time `json:"created_at"`
}

func stateOrigin(from *work.Origin) *StateOrigin {
	if from == nil {
		return nil
	}
	return &StateOrigin{Author: originRef(from), CreatedAt: Time(from.CreatedAt)}
}

// states writes the earlier versions of the state, without the empty first one.
func (e *export) states() {
	var all []*work.State
	e.view.StateVersions(e.view.State().Version, func(s *work.State) bool {
		if s.Version > 1 {
			all = append(all, s)
		}
		return true
	})
	for _, one := range slices.Backward(all) {
		e.add(BundleState{State: stateOf(one), Origin: stateOrigin(e.view.StateOrigin(one))})
	}
}

// readVersion reads one version of the state.
func (i *importer) readVersion(from *State, field string) work.State {
	input := UpdateState{
		Summary: from.Summary, Objective: from.Objective, CurrentFocus: from.CurrentFocus,
		Completed: from.Completed, InProgress: from.InProgress,
		KnownProblems: from.KnownProblems, Decisions: from.Decisions,
		NextActions: from.NextActions, ImportantFiles: from.ImportantFiles,
		Dependencies: from.Dependencies, OpenQuestions: from.OpenQuestions, Custom: from.Custom,
	}
	checkForm(i, field, &input)
	return work.State{
		Statement: input.command().Statement,
		Changeset: i.id(id.Changeset, from.ChangesetID, field+".changeset_id"),
		Version:   i.version(from.Version, field+".version"),
	}
}

// readStates reads the earlier versions of the state. Who wrote them is their origin.
func (i *importer) readStates() {
	for nth := range i.bundle.StateHistory {
		from, field := &i.bundle.StateHistory[nth], fmt.Sprintf("state_history[%d]", nth)
		writer := i.agentNamed(from.UpdatedBy)
		one := work.Bundled[work.State]{
			Record: i.readVersion(&from.State, field),
			Origin: work.Origin{
				Agent:     i.id(id.Agent, from.UpdatedBy, field+".updated_by"),
				Handle:    i.handle(writer.Handle, "agents."+writer.AgentID),
				CreatedAt: i.time(from.UpdatedAt, field+".updated_at"),
			},
		}
		if earlier := from.Origin; earlier != nil {
			author := i.agent(&earlier.Author, field+".origin.author")
			one.Origin = work.Origin{
				Agent: author.Agent, Handle: author.Handle,
				CreatedAt: i.time(earlier.CreatedAt, field+".origin.created_at"),
			}
		}
		i.command.States = append(i.command.States, one)
	}
}
