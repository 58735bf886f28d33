package work_test

import (
	"fmt"
	"strconv"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// command reads the words of a line that gives one.
func (s *script) command(words []string) work.Command {
	if command := s.taskCommand(words); command != nil {
		return command
	}
	if command := s.continuationCommand(words); command != nil {
		return command
	}
	if command := s.recordCommand(words); command != nil {
		return command
	}
	if command := s.talkCommand(words); command != nil {
		return command
	}
	if command := s.endCommand(words); command != nil {
		return command
	}
	arguments := words[1:]
	switch words[0] {
	case "create":
		return s.createProject(work.Standard, arguments)
	case "create-community":
		return s.createProject(work.Community, arguments)
	case "put":
		return &work.PutFile{
			Path: arguments[0], Blob: s.content(arguments[1]), ContentType: typeOf(arguments),
			Match: s.match(arguments),
		}
	case "delete":
		return &work.DeleteFile{Path: arguments[0], Match: s.match(arguments)}
	case "publish":
		base, _ := option(arguments[:1], "base")
		command := &work.PublishChangeset{Operations: s.operations(arguments[1:])}
		if s.project != nil && words[len(words)-1] != "unplanned" {
			editor := work.NewEditor(s.read)
			command.Operations = s.project.EditOperations(command.Operations, editor)
		}
		if base == "head" {
			command.Base = s.project.Head().ID
		} else if changeset := s.changeset(base); changeset != nil {
			command.Base = changeset.ID
		}
		return command
	case "update":
		return s.update(arguments)
	case "add", "role":
		role, _ := work.ParseRole(arguments[1])
		if words[0] == "add" {
			return &work.AddMember{Agent: agent(arguments[0]), Role: role}
		}
		return &work.ChangeMember{Agent: agent(arguments[0]), Role: role}
	case "remove":
		return &work.RemoveMember{Agent: agent(arguments[0])}
	}
	panic("no such command: " + strings.Join(words, " "))
}

func typeOf(words []string) string {
	if given, ok := option(words, "type"); ok {
		return given
	}
	return "text/plain"
}

func (s *script) createProject(kind work.ProjectKind, words []string) work.Command {
	command := &work.CreateProject{ID: agent("project"), Kind: kind}
	command.About = work.About{Name: "sample", License: "MIT"}
	command.About.Visibility = work.ParseVisibility(words[0])
	words = words[1:]
	if len(words) > 0 && work.ParseReuse(words[0]) != 0 {
		command.About.Reuse = work.ParseReuse(words[0])
		words = words[1:]
	}
	command.Files = s.operations(words)
	return command
}

// operations reads steps that are parted by semicolons.
func (s *script) operations(words []string) []work.Operation {
	var operations []work.Operation
	for len(words) > 0 {
		end := 0
		for end < len(words) && words[end] != ";" {
			end++
		}
		if end > 0 {
			operations = append(operations, s.operation(words[:end]))
		}
		words = words[min(end+1, len(words)):]
	}
	return operations
}

func (s *script) operation(words []string) work.Operation {
	action, folder := strings.CutSuffix(words[0], "-FOLDER")
	step := work.Operation{Action: work.ParseAction(action), Path: words[1], Folder: folder}
	rest := words[2:]
	if action == "EDIT" {
		step.Action, step.Edits, step.Expected = work.Modify, s.edits(rest), s.expected(rest)
		return step
	}
	if step.Action == work.Rename {
		step.NewPath, rest = rest[0], rest[1:]
	}
	if len(rest) > 0 && rest[0][0] == '"' {
		content := s.content(rest[0])
		step.Content, step.ContentType = &content, typeOf(rest)
	}
	if expected, ok := option(rest, "expect"); ok {
		hash := s.content(expected).Hash
		step.Expected = &hash
	}
	return step
}

func (s *script) update(words []string) work.Command {
	command := new(work.UpdateProject)
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "name":
			command.Name = &value
		case "description":
			command.Description = &value
		case "license":
			command.License = &value
		case "topics":
			topics := strings.Split(value, ",")
			command.Topics = &topics
		case "visibility":
			command.Visibility = work.ParseVisibility(value)
		case "reuse":
			command.Reuse = work.ParseReuse(value)
		case "status":
			command.Status = work.ParseStatus(value)
		case "match":
			command.IfMatch = func(p *work.Project) error {
				if fmt.Sprint(p.Version) != value {
					return fault.New(fault.PreconditionFailed, "Another version.")
				}
				return nil
			}
		}
	}
	return command
}

// query answers lines that only look, or that move the clock or fill the project.
func (s *script) query(words []string) (string, bool) {
	if answer, ok := s.taskQuery(words); ok {
		return answer, true
	}
	if answer, ok := s.continuationQuery(words); ok {
		return answer, true
	}
	if answer, ok := s.recordQuery(words); ok {
		return answer, true
	}
	if answer, ok := s.talkQuery(words); ok {
		return answer, true
	}
	if answer, ok := s.contributionQuery(words); ok {
		return answer, true
	}
	if answer, ok := s.workspaceQuery(words); ok {
		return answer, true
	}
	if answer, ok := s.artifactQuery(words); ok {
		return answer, true
	}
	if answer, ok := s.editQuery(words); ok {
		return answer, true
	}
	if answer, ok := s.deletionQuery(words); ok {
		return answer, true
	}
	switch words[0] {
	case "tree":
		at := s.project.Head()
		if len(words) > 1 {
			at = s.changeset(words[1])
		}
		return s.tree(at), true
	case "show":
		return s.show(s.changeset(words[1])), true
	case "diff":
		return s.diff(s.changeset(words[1]), s.changeset(words[2])), true
	case "members":
		var list []string
		for _, member := range s.project.Members() {
			list = append(list, name(member.Agent)+"="+member.Role.String())
		}
		return strings.Join(list, " "), true
	case "blocks?":
		list := []string{}
		for _, one := range s.project.Blocks() {
			list = append(list, name(one.Agent)+" by "+name(one.By)+":"+one.Reason)
		}
		return orNothing(list), true
	case "record":
		p := s.project
		return fmt.Sprintf("%s %s %s %s version=%d topics=%v languages=%v owner=%s", p.Name,
			p.Visibility, p.Reuse, p.Status, p.Version, p.Topics, p.Languages(), name(p.Owner)), true
	case "readable":
		caller := agent(words[1])
		if words[1] == "anonymous" {
			caller = id.ID{}
		}
		return fmt.Sprint(s.project.Readable(caller)), true
	case "clock":
		by, _ := strconv.ParseInt(words[1], 10, 64)
		s.now += by
		return "ok", true
	case "fill", "addmembers":
		return s.fill(words[0] == "fill", words[1]), true
	}
	return "", false
}

// name is the reverse of agent.
func name(of id.ID) string { return strings.TrimRight(string(of[6:]), "\x00") }

// fill makes many files in a folder, or many members.
func (s *script) fill(files bool, count string) string {
	n, _ := strconv.Atoi(count)
	for i := range n {
		var command work.Command = &work.AddMember{
			Agent: agent(fmt.Sprintf("m%d", i)), Role: work.Reader,
		}
		if files {
			command = &work.PutFile{Path: fmt.Sprintf("many/%d", i), Blob: s.content(`"f"`)}
		}
		if _, err := s.do(agent("ann"), command); err != nil {
			return s.refusal(err)
		}
	}
	return "ok"
}

func (s *script) tree(at *work.Changeset) string {
	list := []string{}
	s.project.FilesAt(at, "", func(f work.FileInfo) bool {
		list = append(list, f.Path+"="+s.text(f.Blob))
		return true
	})
	return orNothing(list)
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, " ")
}

// show writes a changeset with what each operation replaced.
func (s *script) show(c *work.Changeset) string {
	list := []string{fmt.Sprintf("%s +%d -%d", c.Source, c.AddedBytes, c.DeletedBytes)}
	for i := range c.Ops {
		op := &c.Ops[i]
		text := op.Action.String()
		if op.From != nil {
			text += " " + *op.From
		}
		text += " " + *op.Path
		if before, ok := s.project.Before(c, op); ok {
			text += " was " + s.text(before.Blob)
		}
		list = append(list, text)
	}
	return strings.Join(list, " ; ")
}

func (s *script) diff(base, to *work.Changeset) string {
	return s.changes(s.project.Changes(base, to))
}

func (s *script) changes(changes []work.Change) string {
	list := []string{}
	for _, change := range changes {
		text := change.Action.String()
		if change.From != "" {
			text += " " + change.From
		}
		text += " " + change.Path
		if change.Old != nil {
			text += " " + s.text(*change.Old)
		}
		if change.New != nil {
			text += " to " + s.text(*change.New)
		}
		list = append(list, text)
	}
	return orNothing(list)
}
