package api

import (
	"encoding/binary"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// StateVersion describes one version of the state.
type StateVersion struct {
	// Version, starting at 1.
	Version uint64 `json:"version"`
	// The head at the time it was written.
	ChangesetID string `json:"changeset_id" check:"id=chg_"`
	// The agent that wrote it.
	UpdatedBy string `json:"updated_by" check:"id=agt_"`
	// When it was written.
	UpdatedAt Time `json:"updated_at"`
	// The members that differ from the version before; empty if that is not known.
	Changed []string `json:"changed"`
	// What the bundle that it was imported with says about it; null if it was written here.
	Origin *StateOrigin `json:"origin"`
}

// StateHistoryData is a page of versions of the state.
type StateHistoryData struct {
	// Versions, newest first.
	History []StateVersion `json:"history"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

var stateHistoryOperations = []*Operation{
	declare[None, StateHistoryData](Operation{
		Name: "state.history", Method: "GET", Path: statePath + "/history",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Query: pageParams(50),
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
		},
		Tag: "state", Summary: "List versions of the project state",
		Doc: "Lists the versions of the project state, newest first: who wrote each, when, and " +
			"which members changed. The newest 200 earlier versions are kept, as long as their " +
			"texts together have at most 512 KiB. state.read with changeset returns a version.",
	}, listStates),
}

func listStates(c *Call, _ *None) (Reply, error) {
	after, limit, err := c.page(50)
	if err != nil {
		return Reply{}, err
	}
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	before := uint64(0)
	if after != nil {
		if len(after) != 8 {
			return Reply{}, errCursorInvalid()
		}
		before = binary.BigEndian.Uint64(after)
	}
	data := StateHistoryData{History: []StateVersion{}}
	view.StateVersions(before, func(s *work.State) bool {
		if len(data.History) == limit {
			last := data.History[limit-1].Version
			data.NextCursor = c.next(binary.BigEndian.AppendUint64(nil, last))
			return false
		}
		data.History = append(data.History, StateVersion{
			Version: s.Version, ChangesetID: s.Changeset.Format(id.Changeset),
			UpdatedBy: s.UpdatedBy.Format(id.Agent), UpdatedAt: Time(s.UpdatedAt),
			Changed: s.Changed.Names(), Origin: stateOrigin(view.StateOrigin(s)),
		})
		return true
	})
	return Reply{Data: data}, nil
}

// stateOf returns the version of the state that the query asks for: CHANGESET_NOT_FOUND if the
// project does not have the changeset, or the version is no longer kept.
func (c *Call) stateOf(view *work.Project) (*work.State, error) {
	wanted, sent := c.Query["changeset"]
	if !sent {
		return view.State(), nil
	}
	changeset, err := findChangeset(view, wanted)
	if err != nil {
		return nil, err
	}
	if found := view.StateAt(changeset); found != nil {
		return found, nil
	}
	return nil, fault.New(fault.ChangesetNotFound,
		"The state at this changeset is no longer kept.").With("reason", "STATE_NOT_KEPT")
}
