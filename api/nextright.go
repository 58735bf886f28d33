package api

import (
	"pws/work"
)

// What the caller of a refused request may do next, as the live view has it. Operations that advice
// names and that are not listed here may be called by everybody who may read what they are about.

// stepRights maps operations that advice names to the conditions under which the caller may call
// them.
var stepRights = map[string]func(s *situation) bool{
	"workspace.open":       both((*situation).standard, work.MayContribute),
	"turn.take":            both((*situation).community, work.MayTakeTurn),
	"discussion.create":    both((*situation).open, work.MayContribute),
	"turn.submit":          (*situation).holdsTurn,
	"project.fork":         both(nil, work.MayReuse),
	"handoff.create":       both((*situation).open, work.MayWork),
	"checkpoint.create":    both((*situation).open, work.MayWork),
	"project.update":       both(nil, work.MayAdminister),
	"task.renew":           (*situation).holds,
	"task.release":         (*situation).holds,
	"contribution.review":  (*situation).reviews,
	"contribution.reject":  both((*situation).undecided, work.MayWriteFiles),
	"workspace.refresh":    (*situation).writesWorkspace,
	"workspace.submit":     (*situation).writesWorkspace,
	"workspace.file.write": (*situation).writesWorkspace,
	"workspace.file.read":  (*situation).ownsWorkspace,
	"workspace.files":      (*situation).ownsWorkspace,
	"workspace.read":       (*situation).ownsWorkspace,
}

// both combines a condition on the project with a permission in it; a nil condition always
// holds.
func both(kind func(s *situation) bool, right work.Permission) func(s *situation) bool {
	return func(s *situation) bool { return (kind == nil || kind(s)) && s.has(right) }
}

// may reports whether the caller may call an operation now.
func (s *situation) may(op *Operation) bool {
	s.look()
	if op.Auth == Bearer && s.call.Agent.IsZero() {
		return false
	}
	right, listed := stepRights[op.Name]
	return !listed || right(s)
}

func (s *situation) has(right work.Permission) bool {
	s.look()
	return s.project != nil && right.Require(s.project, s.call.Agent) == nil
}

// open reports whether the project takes changes, and the caller is not blocked in it.
func (s *situation) open() bool {
	s.look()
	return s.project != nil && s.project.Status != work.Archived &&
		s.project.RequireNotBlocked(s.call.Agent) == nil
}

func (s *situation) standard() bool { return s.open() && s.project.Kind != work.Community }

func (s *situation) community() bool { return s.open() && s.project.Kind == work.Community }

// holds reports whether the caller holds the claim of the task that the refusal is about.
func (s *situation) holds() bool {
	s.look()
	return s.task != nil && s.task.Claim != nil && s.task.Claim.Agent == s.call.Agent
}

func (s *situation) ownsWorkspace() bool {
	s.look()
	return s.workspace != nil
}

// writesWorkspace reports whether the caller may change its workspace; in community projects
// only while it holds the turn.
func (s *situation) writesWorkspace() bool {
	if !s.ownsWorkspace() || !s.open() {
		return false
	}
	if s.workspace.Status == work.WorkspaceClosed || s.workspace.Status == work.WorkspaceDone {
		return false
	}
	return s.project.Kind != work.Community || s.holdsTurn()
}

// holdsTurn reports whether the caller holds the turn of a community project.
func (s *situation) holdsTurn() bool {
	if !s.community() {
		return false
	}
	turn, held := s.project.Turn(s.call.Now)
	return held && turn.Agent == s.call.Agent
}

// authors reports whether the caller is the author of the contribution that the refusal is about.
func (s *situation) authors() bool {
	s.look()
	return s.contribution != nil && s.contribution.Author == s.call.Agent
}

// changesRequested reports whether a review asks for changes in the contribution that the refusal
// is about.
func (s *situation) changesRequested() bool {
	s.look()
	return s.contribution != nil && s.contribution.Status == work.ChangesRequestedStatus
}

func (s *situation) undecided() bool {
	s.look()
	if s.contribution == nil || !s.open() {
		return false
	}
	switch s.contribution.Status {
	case work.AcceptedStatus, work.RejectedStatus, work.WithdrawnStatus:
		return false
	default:
		return true
	}
}

func (s *situation) reviews() bool {
	return s.undecided() && !s.authors() && s.has(work.MayContribute)
}

// inTurn reports whether the refused operation is about a turn.
func (s *situation) inTurn() bool { return s.calls("turn.take", "turn.submit") }

// calls reports whether the refused operation is one of these.
func (s *situation) calls(names ...string) bool {
	for _, name := range names {
		if s.call.Operation != nil && s.call.Operation.Name == name {
			return true
		}
	}
	return false
}
