package work_test

import (
	"fmt"

	"pws/internal/id"
	"pws/work"
)

// endCommand reads a line that deletes or restores the project.
func (s *script) endCommand(words []string) work.Command {
	switch words[0] {
	case "delete-project":
		condition := s.update(words[1:]).(*work.UpdateProject).IfMatch
		if condition == nil {
			condition = anyState
		}
		return &work.DeleteProject{IfMatch: condition}
	case "restore-project":
		return new(work.RestoreProject)
	}
	return nil
}

// anyState is the condition that holds always.
func anyState(*work.Project) error { return nil }

// endQuery answers who may restore the project, and what it was.
func (s *script) endQuery(words []string) (string, bool) {
	if words[0] != "ended?" {
		return "", false
	}
	end := s.project.End()
	if end == nil {
		return "nothing", true
	}
	text := "nobody"
	for _, who := range []string{"ann", "bob", "eve"} {
		if s.project.Restorable(agent(who), s.now) {
			text = who
		}
	}
	text += fmt.Sprintf(" %s %s", end.Visibility, end.Status)
	for _, member := range end.Members {
		text += fmt.Sprintf(" %s=%s", name(member.Agent), member.Role)
	}
	if s.project.Restorable(id.ID{}, s.now) {
		text += " anonymous"
	}
	return text, true
}
