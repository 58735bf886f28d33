package actors

import (
	"errors"

	"pws/api"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// HideProject hides a project from all but its members. Errors: PROJECT_NOT_FOUND,
// VALIDATION_FAILED.
func (e *Engine) HideProject(project id.ID, reason string) error {
	if err := identity.CheckReason(reason); err != nil {
		return err
	}
	return e.moderate(identity.ActionHide, project, reason, &work.HideProject{Reason: reason})
}

// ShowProject shows a hidden project again. Errors: PROJECT_NOT_FOUND, VALIDATION_FAILED.
func (e *Engine) ShowProject(project id.ID, reason string) error {
	return e.moderate(identity.ActionShow, project, reason, &work.ShowProject{})
}

// RemoveProject removes a project: nobody can read it any more. It returns AFTER all that was the
// project's alone has left the disk (DropProjects), but for contents of a damaged one. Repeated, it
// goes on where it failed. Errors: PROJECT_NOT_FOUND, VALIDATION_FAILED, QUOTA_EXCEEDED.
func (e *Engine) RemoveProject(project id.ID, reason string) error {
	if err := identity.CheckReason(reason); err != nil {
		return err
	}
	p, err := e.Summary(project)
	damaged := errors.Is(err, api.ErrDamaged)
	if err != nil && !damaged {
		return err
	}
	if !damaged && (p == nil || p.Erased() && !e.Identity().Dropping(project)) {
		return fault.NoProject()
	}
	return e.DropProjects(&identity.DropProject{Project: project, Reason: reason, ByOperator: true})
}

// moderate gives an operator's command to a project. The action is noted BEFORE it takes effect, so
// that none can be missing from the log of actions.
func (e *Engine) moderate(
	action identity.Action, project id.ID, reason string, command work.Command,
) error {
	view, err := e.Project(project)
	if err != nil {
		return e.remedied(project, err)
	}
	if view == nil {
		return fault.NoProject()
	}
	if err := command.Authorize(view, id.ID{}); err != nil {
		return err
	}
	noted := &identity.NoteAction{
		Action: action, Subject: project.Format(id.Project), Reason: reason,
	}
	if _, err := e.OperatorDo(noted); err != nil {
		return err
	}
	_, err = e.Do(api.Order{Project: project, Command: command})
	return err
}

// makesSpace says whether a command to a project goes on while the disk is nearly full: what
// operators do, and the steps of a removal and of a purge, which are small entries that make space.
func makesSpace(command work.Command) bool {
	switch command.(type) {
	case *work.HideProject, *work.ShowProject, *work.RemoveProject, *work.EraseProject,
		*work.ForgetTexts, *work.ReleaseAll, *work.ExpireClaims:
		return true
	}
	return false
}
