package work_test

import (
	"fmt"
	"strconv"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// taskCommand reads the words of a line about tasks and claims; nil for other commands.
func (s *script) taskCommand(words []string) work.Command {
	arguments := words[1:]
	switch words[0] {
	case "task":
		return &work.CreateTask{Spec: s.taskSpec(arguments)}
	case "edit":
		update := s.taskUpdate(arguments)
		return &update
	case "claim":
		return &work.ClaimTask{Task: s.task(arguments[0]), Elsewhere: elsewhere(arguments)}
	case "next":
		command := &work.ClaimNext{Elsewhere: elsewhere(arguments)}
		if skills, given := option(arguments, "skills"); given {
			command.Skills = parts(skills)
		}
		command.Type, _ = option(arguments, "type")
		return command
	case "renew":
		return &work.RenewClaim{Task: s.task(arguments[0]), Proof: s.proof(arguments)}
	case "release":
		return &work.ReleaseTask{Task: s.task(arguments[0]), Proof: s.proof(arguments)}
	case "releaseall":
		return new(work.ReleaseAll)
	case "expire":
		return new(work.ExpireClaims)
	}
	return nil
}

// elsewhere reads elsewhere=n, the claims in other projects.
func elsewhere(words []string) int {
	word, _ := option(words, "elsewhere")
	count, _ := strconv.Atoi(word)
	return count
}

// parts splits at commas; an empty word has none.
func parts(word string) []string {
	if word == "" {
		return []string{}
	}
	return strings.Split(word, ",")
}

// task is the nth task as t1, t2 and so on; another word is an ID that no project has.
func (s *script) task(word string) (found id.ID) {
	n, err := strconv.Atoi(strings.TrimPrefix(word, "t"))
	if err != nil || s.project == nil {
		return agent("no " + word)
	}
	found = agent("no " + word)
	s.project.Tasks(id.ID{}, s.now, func(t *work.Task) bool {
		n--
		if n == 0 {
			found = t.ID
		}
		return n > 0
	})
	return found
}

func (s *script) taskList(word string) []id.ID {
	list := []id.ID{}
	for _, part := range parts(word) {
		list = append(list, s.task(part))
	}
	return list
}

// taskName is the reverse of task; empty where the project has no such task.
func (s *script) taskName(wanted id.ID) (name string) {
	if s.project == nil {
		return ""
	}
	n := 0
	s.project.Tasks(id.ID{}, s.now, func(t *work.Task) bool {
		n++
		if t.ID == wanted {
			name = fmt.Sprint("t", n)
		}
		return name == ""
	})
	return name
}

func (s *script) taskSpec(words []string) work.TaskSpec {
	spec := work.TaskSpec{Title: strings.Trim(words[0], `"`)}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "priority":
			spec.Priority = work.ParsePriority(value)
		case "type":
			spec.Type = value
		case "skills":
			spec.Skills = parts(value)
		case "deps":
			spec.Dependencies = s.taskList(value)
		case "parent":
			spec.Parent = s.task(value)
		case "size":
			spec.Description = sized(value)
		default:
			panic("no such part of a task: " + word)
		}
	}
	return spec
}

func sized(word string) string {
	size, _ := strconv.Atoi(word)
	return strings.Repeat("x", size)
}

func (s *script) taskUpdate(words []string) work.UpdateTask {
	update := work.UpdateTask{Task: s.task(words[0]), Proof: s.proof(words)}
	change := &update.Change
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		value = strings.Trim(value, `"`)
		switch name {
		case "claim", "token":
		case "release":
			update.Release = true
		case "unblock":
			update.Unblock = true
		case "match":
			update.IfMatch = func(p *work.Project, t *work.Task) error {
				if fmt.Sprint(t.Version) != value || p.ID != agent("project") {
					return fault.New(fault.PreconditionFailed, "Another version.")
				}
				return nil
			}
		default:
			s.taskChange(change, name, value)
		}
	}
	return update
}

func (s *script) taskChange(change *work.TaskChange, name, value string) {
	switch name {
	case "title":
		change.Title = &value
	case "size":
		change.Description = pointer(sized(value))
	case "priority":
		change.Priority = work.ParsePriority(value)
	case "type":
		change.Type = &value
	case "skills":
		change.Skills = pointer(parts(value))
	case "deps":
		change.Dependencies = pointer(s.taskList(value))
	case "parent":
		change.Parent = new(id.ID)
		if value != "" {
			*change.Parent = s.task(value)
		}
	case "status":
		change.Status = work.ParseTaskStatus(value)
	case "blocked":
		kind, reason, _ := strings.Cut(value, ":")
		change.Blocked = &work.Blocked{Kind: work.ParseBlockedKind(kind), Reason: reason}
	case "result":
		summary, at, _ := strings.Cut(value, "@")
		change.Result = &work.TaskResult{Summary: summary}
		if c := s.changeset(at); c != nil {
			change.Result.Changeset = c.ID
		} else if at != "" {
			change.Result.Changeset = agent("unknown")
		}
	case "contribution":
		change.Result = &work.TaskResult{Summary: "s", Contribution: s.contribution(value)}
	default:
		panic("no such part of a change: " + name)
	}
}

// proof reads claim=held, the claim that the task of the first word has now, or any other word for
// a claim that never was, and token=n.
func (s *script) proof(words []string) (proof work.ClaimProof) {
	if word, given := option(words, "claim"); given {
		proof.Claim = pointer(agent("no claim"))
		t, ok := s.project.Task(s.task(words[0]), s.now)
		if ok && word == "held" && t.Claim != nil {
			proof.Claim = &t.Claim.ID
		}
	}
	if word, given := option(words, "token"); given {
		token, _ := strconv.ParseUint(word, 10, 64)
		proof.Token = &token
	}
	return proof
}

// taskQuery answers lines about tasks that only look, or that fill the project.
func (s *script) taskQuery(words []string) (string, bool) {
	switch words[0] {
	case "task?":
		return s.showTask(s.task(words[1])), true
	case "open?":
		return s.list(s.project.OpenTasks), true
	case "claimed?":
		return s.list(s.project.ClaimedTasks), true
	case "stalled?":
		return s.list(s.project.StalledTasks), true
	case "newest?":
		count, _ := strconv.Atoi(words[1])
		list := []string{}
		for _, t := range s.project.NewestTasks(count, s.now) {
			list = append(list, s.taskName(t.ID))
		}
		return orNothing(list), true
	case "counts?":
		list := []string{}
		for status := work.TaskOpen; status <= work.TaskCancelled; status++ {
			if count := s.project.TaskCount(status, s.now); count != 0 {
				list = append(list, fmt.Sprintf("%s=%d", status, count))
			}
		}
		list = append(list, fmt.Sprintf("claimed=%d", s.project.ClaimedCount(s.now)))
		return strings.Join(list, " "), true
	case "fill-results":
		count, _ := strconv.Atoi(words[1])
		return s.fillResults(count, agent(words[2])), true
	case "fill-tasks":
		count, _ := strconv.Atoi(words[1])
		return s.repeat(count, func() work.Command {
			return &work.CreateTask{Spec: s.taskSpec(words[2:])}
		}), true
	}
	return "", false
}

// fillResults lets an agent claim the next task and finish it, many times.
func (s *script) fillResults(count int, who id.ID) string {
	for range count {
		made, err := s.do(who, &work.ClaimNext{})
		if err == nil {
			_, err = s.do(who, &work.UpdateTask{
				Task: made.Result.Subject, Change: work.TaskChange{Status: work.TaskDone},
			})
		}
		if err != nil {
			return s.refusal(err)
		}
	}
	return "ok"
}

// repeat gives many commands as the owner.
func (s *script) repeat(count int, command func() work.Command) string {
	for range count {
		if _, err := s.do(agent("ann"), command()); err != nil {
			return s.refusal(err)
		}
	}
	return "ok"
}

func (s *script) list(tasks func(now int64, yield func(*work.Task) bool)) string {
	list := []string{}
	tasks(s.now, func(t *work.Task) bool {
		list = append(list, s.taskName(t.ID))
		return true
	})
	return orNothing(list)
}

// showTask writes a task as it reads now; what is empty is left out.
func (s *script) showTask(wanted id.ID) string {
	t, ok := s.project.Task(wanted, s.now)
	if !ok {
		return "nothing"
	}
	text := fmt.Sprintf("%q %s %s version=%d attempts=%d token=%d", t.Spec.Title, t.Status,
		t.Spec.Priority, t.Version, t.Attempts, t.Token)
	add := func(name string, value any) { text += fmt.Sprintf(" %s=%v", name, value) }
	if t.Claim != nil {
		add("holder", name(t.Claim.Agent))
		add("left", t.Claim.ExpiresAt-s.now)
	}
	if t.Blocked != nil {
		add("blocked", t.Blocked.Kind.String()+":"+t.Blocked.Reason)
	}
	if t.Result != nil {
		add("result", t.Result.Summary)
		if !t.Result.Changeset.IsZero() {
			text += s.number(t.Result.Changeset)
		}
	}
	if t.Spec.Type != "" {
		add("type", t.Spec.Type)
	}
	if len(t.Spec.Skills) > 0 {
		add("skills", strings.Join(t.Spec.Skills, ","))
	}
	if len(t.Spec.Dependencies) > 0 {
		add("deps", s.taskNames(t.Spec.Dependencies))
		if unmet := s.project.Unmet(t); len(unmet) > 0 {
			add("unmet", s.taskNames(unmet))
		}
	}
	if !t.Spec.Parent.IsZero() {
		add("parent", s.taskName(t.Spec.Parent))
	}
	return text
}

func (s *script) taskNames(list []id.ID) string {
	names := make([]string, len(list))
	for i, one := range list {
		names[i] = s.taskName(one)
	}
	return strings.Join(names, ",")
}
