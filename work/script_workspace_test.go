package work_test

import (
	"fmt"
	"strconv"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// read gives contents to merges.
func (w *world) read(hash work.Hash) ([]byte, error) {
	content, there := w.blobs[hash]
	if !there {
		return nil, fmt.Errorf("no content %x", hash)
	}
	return content, nil
}

// plan is the merge of a workspace with the head, nil where there is none.
func (w *world) plan(space *work.Workspace) *work.MergePlan {
	if space == nil || space.Status.Final() {
		return nil
	}
	plan, err := w.project.PlanMerge(space, w.read, nil)
	if err != nil {
		panic(err)
	}
	return plan
}

// workspaceCommand reads the words of a line about workspaces and turns; nil for other
// commands.
func (s *script) workspaceCommand(who id.ID, words []string) work.Command {
	arguments := words[1:]
	switch words[0] {
	case "workspace":
		return new(work.OpenWorkspace)
	case "turn":
		command := new(work.TakeTurn)
		if s.project != nil && len(arguments) == 0 {
			command.Plan = s.plan(s.project.CommunityWorkspace(who, s.now))
		}
		return command
	case "end-turn":
		return new(work.EndTurn)
	case "erase":
		return s.deletion(arguments)
	case "block":
		reason, _ := option(arguments, "reason")
		return &work.BlockAgent{Agent: agent(arguments[0]), Reason: reason}
	case "unblock":
		return &work.UnblockAgent{Agent: agent(arguments[0])}
	case "submit":
		command := &work.SubmitTurn{Summary: "submitted"}
		if len(arguments) == 0 {
			if turn, held := s.project.Turn(s.now); held {
				space, _ := s.project.Workspace(turn.Workspace)
				command.Plan = s.plan(space)
			}
		}
		return command
	case "refresh":
		command := &work.RefreshWorkspace{Workspace: s.workspace(arguments[0])}
		if space, ok := s.project.Workspace(command.Workspace); ok && len(arguments) == 1 {
			command.Plan = s.plan(space)
		}
		return command
	case "wput":
		return &work.WriteWorkspaceFile{
			Workspace: s.workspace(arguments[0]), Path: arguments[1],
			Blob: s.content(arguments[2]), ContentType: typeOf(arguments),
			Match: s.matchIn(arguments),
		}
	case "wdelete":
		return &work.DeleteWorkspaceFile{
			Workspace: s.workspace(arguments[0]), Path: arguments[1], Match: s.matchIn(arguments),
		}
	case "wrename":
		return &work.RenameWorkspaceFile{
			Workspace: s.workspace(arguments[0]), Path: arguments[1], NewPath: arguments[2],
		}
	}
	return nil
}

func (s *script) matchIn(words []string) func(*work.WorkspaceFile) error {
	match := s.match(words)
	if match == nil {
		return nil
	}
	return func(current *work.WorkspaceFile) error {
		if current == nil {
			return match(nil)
		}
		return match(&current.FileInfo)
	}
}

// workspace is the nth workspace as w1, w2 and so on; another word is an ID that no project has.
func (s *script) workspace(word string) (found id.ID) {
	found = agent("no " + word)
	n, err := strconv.Atoi(strings.TrimPrefix(word, "w"))
	if err != nil || s.project == nil {
		return found
	}
	s.project.Workspaces(func(w *work.Workspace) bool {
		n--
		if n == 0 {
			found = w.ID
		}
		return n > 0
	})
	return found
}

// workspaceName is the reverse of workspace; empty where the project has no such workspace.
func (s *script) workspaceName(wanted id.ID) (name string) {
	if s.project == nil {
		return ""
	}
	n := 0
	s.project.Workspaces(func(w *work.Workspace) bool {
		n++
		if w.ID == wanted {
			name = fmt.Sprint("w", n)
		}
		return name == ""
	})
	return name
}

// workspaceQuery answers lines about workspaces that only look.
func (s *script) workspaceQuery(words []string) (string, bool) {
	switch words[0] {
	case "turn?":
		turn, held := s.project.Turn(s.now)
		if !held {
			return "nothing", true
		}
		return fmt.Sprintf("%s %s left=%d", name(turn.Agent), s.workspaceName(turn.Workspace),
			turn.ExpiresAt-s.now), true
	case "workspace?":
		space, ok := s.project.Workspace(s.workspace(words[1]))
		if !ok {
			return "nothing", true
		}
		return s.showWorkspace(space), true
	case "files?":
		space, _ := s.project.Workspace(s.workspace(words[1]))
		from := ""
		if len(words) > 2 {
			from = words[2]
		}
		list := []string{}
		s.project.WorkspaceFiles(space, from, func(f work.WorkspaceFile) bool {
			list = append(list, f.Path+"="+s.text(f.Blob))
			return true
		})
		return orNothing(list), true
	case "plan?":
		space, _ := s.project.Workspace(s.workspace(words[1]))
		plan := s.plan(space)
		if plan == nil {
			return "nothing", true
		}
		return fmt.Sprint(plan.Merged), true
	case "readable-workspace?":
		_, err := s.project.AuthorizeWorkspace(s.workspace(words[2]), agent(words[1]), s.now)
		if err != nil {
			return s.refusal(err), true
		}
		return "ok", true
	case "fill-workspace":
		return s.fillWorkspace(words[1], words[2]), true
	case "fill-workspaces":
		count, _ := strconv.Atoi(words[1])
		return s.fillWorkspaces(count), true
	}
	return "", false
}

// fillWorkspace makes many new files, as the author.
func (s *script) fillWorkspace(workspace, count string) string {
	n, _ := strconv.Atoi(count)
	space, _ := s.project.Workspace(s.workspace(workspace))
	for i := range n {
		_, err := s.do(space.Agent, &work.WriteWorkspaceFile{
			Workspace: space.ID, Path: fmt.Sprintf("new/%d", i), Blob: s.content(`"n"`),
			ContentType: "text/plain",
		})
		if err != nil {
			return s.refusal(err)
		}
	}
	return "ok"
}

// fillWorkspaces opens many workspaces of many agents.
func (s *script) fillWorkspaces(count int) string {
	for range count {
		s.came++
		if _, err := s.do(agent(fmt.Sprint("x", s.came)), new(work.OpenWorkspace)); err != nil {
			return s.refusal(err)
		}
	}
	return "ok"
}

// text is a content as the tables write it; | ends a line.
func (s *script) text(hash work.Hash) string {
	if word, known := s.contents[hash]; known {
		return word
	}
	if hash == (work.Hash{}) {
		return "-"
	}
	return `"` + strings.ReplaceAll(string(s.blobs[hash]), "\n", "|") + `"`
}

func (s *script) showWorkspace(space *work.Workspace) string {
	text := fmt.Sprintf("%s %s %s base=%s revision=%d", name(space.Agent), space.Mode,
		space.Status, s.number(space.Base), space.Revision)
	for _, change := range s.project.WorkspaceChanges(space) {
		text += " ; " + change.Action.String()
		if change.From != "" {
			text += " " + change.From
		}
		text += " " + change.Path
		if change.Action != work.Delete {
			text += " " + s.text(change.Blob)
		}
	}
	return text + s.showConflicts(space.Conflicts)
}

func (s *script) showConflicts(conflicts []work.Conflict) (text string) {
	for i := range conflicts {
		c := &conflicts[i]
		text += fmt.Sprintf(" ! %s %s %s %s %s", c.Kind, c.Path, s.text(c.Base), s.text(c.Ours),
			s.text(c.Theirs))
		if _, kept := s.blobs[c.Marked]; kept {
			text += " " + s.text(c.Marked)
		}
	}
	return text
}

// staleCode reports whether an error means that a plan is stale.
func staleCode(err error) bool { return work.Stale(err) && fault.CodeOf(err) == fault.Internal }
