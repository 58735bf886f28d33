package work_test

import (
	"fmt"
	"strings"

	"pws/work"
	"pws/work/edit"
)

// editCommand reads the words of a line about edits, folders and reverts; nil for other commands.
// The word unplanned leaves out what is made outside of the mailbox.
func (s *script) editCommand(words []string) work.Command {
	arguments := words[1:]
	unplanned := len(words) > 1 && words[len(words)-1] == "unplanned"
	editor := work.NewEditor(s.read)
	switch words[0] {
	case "edit-file":
		command := work.EditFile{
			Path: arguments[0], Edits: s.edits(arguments[1:]), Match: s.match(arguments),
			Expected: s.expected(arguments), Message: "edited",
		}
		if unplanned || s.project == nil {
			return &command
		}
		return command.Apply(s.project, editor)
	case "wedit":
		command := work.EditWorkspaceFile{
			Workspace: s.workspace(arguments[0]), Path: arguments[1], Edits: s.edits(arguments[2:]),
			Match: s.matchIn(arguments), Expected: s.expected(arguments),
		}
		w, ok := s.project.WorkspaceAt(command.Workspace, s.now)
		if !ok || unplanned {
			return &command
		}
		return command.Apply(s.project, w, editor)
	case "delete-folder":
		return &work.DeleteFile{Path: arguments[0], Folder: true, Match: s.match(arguments)}
	case "wdelete-folder":
		return &work.DeleteWorkspaceFile{
			Workspace: s.workspace(arguments[0]), Path: arguments[1], Folder: true,
			Match: s.matchIn(arguments),
		}
	case "wrename-folder":
		return &work.RenameWorkspaceFile{
			Workspace: s.workspace(arguments[0]), Path: arguments[1], NewPath: arguments[2],
			Folder: true,
		}
	case "revert":
		command := new(work.RevertChangeset)
		command.Message, _ = option(arguments, "message")
		reverted := s.changeset(arguments[0])
		if reverted == nil {
			command.Changeset = agent("no changeset")
			return command
		}
		command.Changeset = reverted.ID
		if !unplanned {
			plan, err := s.project.PlanReversal(reverted, s.read, nil)
			if err != nil {
				panic(err)
			}
			command.Plan = plan
		}
		return command
	}
	return nil
}

// edits reads pairs of quoted texts; the word all behind a pair replaces every occurrence.
func (s *script) edits(words []string) (edits []edit.Edit) {
	var texts []string
	for _, word := range words {
		if word == "all" {
			edits[len(edits)-1].All = true
		}
		if word[0] != '"' {
			continue
		}
		texts = append(texts, string(s.content(word).Content))
		if len(texts) == 2 {
			edits = append(edits, edit.Edit{Old: texts[0], New: texts[1]})
			texts = nil
		}
	}
	return edits
}

func (s *script) expected(words []string) *work.Hash {
	text, given := option(words, "expect")
	if !given {
		return nil
	}
	hash := s.content(text).Hash
	return &hash
}

// editQuery answers lines about diffs of workspaces and messages of changesets.
func (s *script) editQuery(words []string) (string, bool) {
	switch words[0] {
	case "diff-workspace?":
		space, ok := s.project.WorkspaceAt(s.workspace(words[1]), s.now)
		if !ok {
			return "nothing", true
		}
		return s.changes(s.project.WorkspaceDiff(space)), true
	case "message?":
		return s.changeset(words[1]).Message, true
	}
	return "", false
}

// detailOfEdit writes the details of edits.
func (s *script) detailOfEdit(value any) (string, bool) {
	switch value := value.(type) {
	case []edit.Line:
		list := make([]string, len(value))
		for i, line := range value {
			list[i] = fmt.Sprintf("%d:%s", line.Number, strings.ReplaceAll(line.Text, " ", "_"))
		}
		return fmt.Sprint(list), true
	}
	return "", false
}
