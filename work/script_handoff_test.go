package work_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// continuationCommand reads the words of a line about state, handoffs, checkpoints and work
// sessions; nil for other commands.
func (s *script) continuationCommand(words []string) work.Command {
	arguments := words[1:]
	switch words[0] {
	case "state":
		return s.stateUpdate(arguments)
	case "handoff":
		return &work.CreateHandoff{Continuation: s.continuation(arguments)}
	case "checkpoint":
		return s.checkpoint(arguments)
	case "end":
		command := &work.EndWorkSession{Session: s.session(arguments[0])}
		command.Summary, _ = option(arguments, "summary")
		if word, given := option(arguments, "handoff"); given {
			command.Handoff = s.handoff(word)
		}
		return command
	}
	return nil
}

func (s *script) stateUpdate(words []string) *work.UpdateState {
	command := new(work.UpdateState)
	command.Statement.Summary, _ = option(words, "summary")
	if word, given := option(words, "done"); given {
		command.Statement.Completed = parts(word)
	}
	if word, given := option(words, "expect"); given {
		version, _ := strconv.ParseUint(word, 10, 64)
		command.Expected = &version
	}
	if word, given := option(words, "match"); given {
		command.IfMatch = func(state *work.State) error {
			if fmt.Sprint(state.Version) != word {
				return fault.New(fault.PreconditionFailed, "Another version.")
			}
			return nil
		}
	}
	if slices.Contains(words, "patch") {
		command.Patch = statePatch(words)
	}
	return command
}

// statePatch reads the members that a patch sends; custom is added to the current one.
func statePatch(words []string) *work.StatementPatch {
	patch := new(work.StatementPatch)
	if word, given := option(words, "summary"); given {
		patch.Summary = &word
	}
	if word, given := option(words, "done"); given {
		done := parts(word)
		patch.Completed = &done
	}
	if word, given := option(words, "custom"); given {
		patch.Custom = func(current []byte) []byte { return append(slices.Clone(current), word...) }
	}
	return patch
}

func (s *script) continuation(words []string) work.Continuation {
	left := work.Continuation{Summary: strings.Trim(words[0], `"`)}
	if word, given := option(words, "tasks"); given {
		left.Tasks = s.taskList(word)
	}
	if word, given := option(words, "next"); given {
		left.NextActions = parts(word)
	}
	if word, given := option(words, "size"); given {
		left.Blockers = []string{sized(word)}
	}
	return left
}

// handoff is the nth handoff as h1, h2 and so on; another word is an ID that no project has.
func (s *script) handoff(word string) id.ID {
	n, err := strconv.Atoi(strings.TrimPrefix(word, "h"))
	if err != nil || n < 1 || n > len(s.project.Handoffs()) {
		return agent("no " + word)
	}
	return s.project.Handoffs()[n-1].ID
}

func (s *script) handoffName(wanted id.ID) string {
	if s.project != nil {
		for i, one := range s.project.Handoffs() {
			if one.ID == wanted {
				return fmt.Sprint("h", i+1)
			}
		}
	}
	return ""
}

// session is the newest work session of an agent; for another word it is none.
func (s *script) session(word string) id.ID {
	for _, one := range s.project.WorkSessions() {
		if one.Agent == agent(word) {
			return one.ID
		}
	}
	return agent("no session")
}

// checkpoint reads parts that are divided by semicolons: base=@n, base=head, summary=text, file
// with path and content, delete, op with an operation, state, handoff, edit, task, end.
func (s *script) checkpoint(words []string) work.Command {
	command := new(work.CreateCheckpoint)
	for _, part := range strings.Split(strings.Join(words, " "), ";") {
		s.checkpointPart(command, split(part))
	}
	if s.project != nil {
		return command.EditFiles(s.project, work.NewEditor(s.read))
	}
	return command
}

func (s *script) checkpointPart(command *work.CreateCheckpoint, words []string) {
	if len(words) == 0 {
		return
	}
	arguments := words[1:]
	switch words[0] {
	case "file":
		content := s.content(arguments[1])
		command.Files = append(command.Files, work.CheckpointFile{
			Path: arguments[0], Content: &content, ContentType: typeOf(arguments),
		})
	case "delete":
		command.Files = append(command.Files, work.CheckpointFile{Path: arguments[0]})
	case "op":
		operation := s.operation(arguments)
		command.Files = append(command.Files, work.CheckpointFile{
			Path: operation.Path, Operation: &operation,
		})
	case "state":
		command.State = s.stateUpdate(arguments)
	case "handoff":
		left := s.continuation(arguments)
		command.Handoff = &left
	case "edit":
		update := s.taskUpdate(arguments)
		update.Field = fmt.Sprintf("tasks[%d].", len(command.Tasks))
		command.Tasks = append(command.Tasks, work.CheckpointTask{Update: update})
	case "task":
		spec := s.taskSpec(arguments)
		command.Tasks = append(command.Tasks, work.CheckpointTask{Create: &spec})
	case "end":
		command.EndSession = true
	default:
		for _, word := range words {
			s.checkpointOption(command, word)
		}
	}
}

func (s *script) checkpointOption(command *work.CreateCheckpoint, word string) {
	name, value, _ := strings.Cut(word, "=")
	switch name {
	case "summary":
		command.Summary = value
	case "message":
		command.Message = value
	case "base":
		command.Base = pointer(agent("unknown"))
		if c := s.changeset(value); c != nil {
			command.Base = &c.ID
		} else if value == "head" {
			command.Base = pointer(s.project.Head().ID)
		}
	default:
		panic("no such part of a checkpoint: " + word)
	}
}

// continuationQuery answers lines that only look, or that fill the project.
func (s *script) continuationQuery(words []string) (string, bool) {
	switch words[0] {
	case "states?":
		var all []string
		s.project.StateVersions(0, func(state *work.State) bool {
			all = append(all, fmt.Sprintf("%d:%s:%s@%d:%s", state.Version, state.Statement.Summary,
				name(state.UpdatedBy), state.UpdatedAt-testNow,
				strings.Join(state.Changed.Names(), ",")))
			return true
		})
		return strings.Join(all, " "), true
	case "state-at?":
		if found := s.project.StateAt(s.changeset(words[1])); found != nil {
			return fmt.Sprint(found.Version), true
		}
		return "nothing", true
	case "state?":
		state := s.project.State()
		return fmt.Sprintf("%q version=%d by=%s at=%d changeset=%s done=%s",
			state.Statement.Summary, state.Version, name(state.UpdatedBy),
			state.UpdatedAt-testNow, s.number(state.Changeset),
			strings.Join(state.Statement.Completed, ",")), true
	case "handoff?":
		return s.showHandoff(s.handoff(words[1])), true
	case "latest?":
		if latest := s.project.LatestHandoff(); latest != nil {
			return s.handoffName(latest.ID), true
		}
		return "nothing", true
	case "current?":
		names := []string{}
		first, guest := s.project.CurrentHandoffs()
		if first != nil {
			names = append(names, s.handoffName(first.ID))
		}
		if guest != nil {
			names = append(names, "guest="+s.handoffName(guest.ID))
		}
		return orNothing(names), true
	case "checkpoint?":
		if c := s.project.LatestCheckpoint(); c != nil {
			return fmt.Sprintf("%q by=%s at=%d", c.Summary, name(c.Author),
				c.CreatedAt-testNow), true
		}
		return "nothing", true
	case "sessions?":
		list := []string{}
		for _, one := range s.project.WorkSessions() {
			list = append(list, name(one.Agent)+"="+one.Status(s.now).String())
		}
		return orNothing(list), true
	case "active?":
		return fmt.Sprint(s.project.ActiveSessions(s.now)), true
	case "session?":
		return s.showSession(s.session(words[1])), true
	case "come", "go":
		count, _ := strconv.Atoi(words[1])
		return s.come(count, words[0] == "go"), true
	case "fill-handoffs":
		count, _ := strconv.Atoi(words[1])
		return s.repeat(count, func() work.Command {
			return &work.CreateHandoff{Continuation: s.continuation(words[2:])}
		}), true
	}
	return "", false
}

func (s *script) showHandoff(wanted id.ID) string {
	h, ok := s.project.Handoff(wanted)
	if !ok {
		return "nothing"
	}
	text := fmt.Sprintf("%q by=%s changeset=%s previous=%s files=%s", h.Continuation.Summary,
		name(h.Author), s.number(h.Changeset), s.handoffName(h.Previous),
		strings.Join(h.ChangedFiles, ","))
	if session, ok := s.project.WorkSession(h.WorkSession); !ok || session.Agent != h.Author {
		text += " in another session"
	}
	if len(h.Continuation.Tasks) > 0 {
		text += " tasks=" + s.taskNames(h.Continuation.Tasks)
	}
	return text
}

func (s *script) showSession(wanted id.ID) string {
	one, ok := s.project.WorkSession(wanted)
	if !ok {
		return "nothing"
	}
	changesets := make([]string, len(one.Changesets))
	for i, sequence := range one.Changesets {
		changesets[i] = fmt.Sprint("@", sequence)
	}
	text := fmt.Sprintf("%s started=%d last=%d changesets=%s tasks=%s", one.Status(s.now),
		one.StartedAt-testNow, one.LastActiveAt-testNow, strings.Join(changesets, ","),
		s.taskNames(one.Tasks))
	if one.EndedAt != 0 {
		text += fmt.Sprintf(" ended=%d summary=%q handoff=%s", one.EndedAt-testNow, one.Summary,
			s.handoffName(one.Handoff))
	}
	return text
}

// come lets agents a0, a1 and so on each write once, a millisecond apart, and end their work
// sessions where they go again.
func (s *script) come(count int, goAgain bool) string {
	for range count {
		s.now++
		who := fmt.Sprint("a", s.came)
		s.came++
		_, err := s.do(agent(who), &work.UpdateState{})
		if goAgain && err == nil {
			_, err = s.do(agent(who), &work.EndWorkSession{Session: s.session(who)})
		}
		if err != nil {
			return s.refusal(err)
		}
	}
	return "ok"
}
