package actors

import (
	"fmt"

	"pws/internal/id"
	"pws/work"
)

// task is a random one of a project, zero where it has none.
func (s *simulation) task(p *work.Project) (task id.ID) {
	if total := p.TasksTotal(); total > 0 {
		newest := p.NewestTasks(20, s.e.Now())
		task = newest[s.pick(len(newest))].ID
	}
	return task
}

func (s *simulation) spec(p *work.Project) work.TaskSpec {
	spec := work.TaskSpec{
		Title: fmt.Sprint("task ", s.steps), Priority: work.Priority(1 + s.pick(4)),
	}
	if task := s.task(p); !task.IsZero() && s.pick(3) == 0 {
		spec.Dependencies = []id.ID{task}
	}
	return spec
}

func (s *simulation) change(p *work.Project) work.UpdateTask {
	update := work.UpdateTask{Task: s.task(p), Release: s.pick(4) == 0}
	update.Change.Priority = work.Priority(s.pick(5))
	update.Change.Status = work.TaskStatus(s.pick(7))
	if update.Change.Status == work.TaskBlocked {
		update.Change.Blocked = &work.Blocked{Kind: work.BlockedByTransient, Reason: "it rains"}
	}
	return update
}

// workCommand is a random command about tasks and what goes with them.
func (s *simulation) workCommand(p *work.Project) work.Command {
	switch kind := s.pick(20); {
	case kind == 18:
		command := &work.CreateArtifact{Name: "lib", Type: work.Library, Reuse: work.AllowReuse}
		p.Files("", func(file work.FileInfo) bool {
			command.Paths = append(command.Paths, file.Path)
			return len(command.Paths) < 2
		})
		if len(command.Paths) == 0 {
			return putOf("a/0", "offered")
		}
		return command
	case kind == 19:
		return s.importOf(p)
	case kind == 16:
		return &work.CreateVerification{Finding: work.Finding{
			Entity: p.Entity(), Kind: work.VerificationKind(1 + s.pick(2)), Outcome: work.Passed,
			Source: "lab", Reference: "1",
		}}
	case kind == 17:
		target := s.projects[s.pick(len(s.projects))]
		return &work.CreateRelation{Type: work.RelatedTo, Target: target}
	case kind < 4:
		return &work.CreateTask{Spec: s.spec(p)}
	case kind < 7:
		return &work.ClaimTask{Task: s.task(p)}
	case kind == 7:
		return &work.ClaimNext{}
	case kind == 8:
		return &work.RenewClaim{Task: s.task(p)}
	case kind == 9:
		return &work.ReleaseTask{Task: s.task(p)}
	case kind < 13:
		update := s.change(p)
		return &update
	case kind == 13:
		return &work.UpdateState{Statement: work.Statement{Summary: fmt.Sprint(s.steps)}}
	case kind == 14:
		if open, ok := p.OpenSession(p.Owner); ok {
			return &work.EndWorkSession{Session: open.ID, Summary: "enough"}
		}
		return &work.CreateHandoff{Continuation: work.Continuation{Summary: "go on"}}
	}
	return s.checkpoint(p)
}

// importOf takes in the newest artifact that a random project offers to the owner of this one.
func (s *simulation) importOf(p *work.Project) work.Command {
	source := viewOf(s.t, s.e, s.projects[s.pick(len(s.projects))])
	command := &work.ImportArtifact{
		Refusal: work.EntityArtifact.Missing(), Replace: true, Prefix: fmt.Sprint("in/", s.steps),
	}
	source.Artifacts(id.ID{}, func(a *work.Artifact) bool {
		command.Source, command.Refusal = source.ImportSource(a, p.Owner)
		return false
	})
	return command
}

func (s *simulation) checkpoint(p *work.Project) work.Command {
	base, content := p.Head().ID, blobOf(fmt.Sprint("content ", s.steps))
	command := &work.CreateCheckpoint{
		Summary: "so far", Base: &base, Message: "so far",
		Files: []work.CheckpointFile{
			{Path: fmt.Sprint("saved/", s.pick(4)), Content: &content, ContentType: "text/plain"},
		},
		State:   &work.UpdateState{Statement: work.Statement{Objective: fmt.Sprint(s.steps)}},
		Handoff: &work.Continuation{Summary: fmt.Sprint(s.steps), NextActions: []string{"more"}},
	}
	for range s.pick(3) {
		spec := s.spec(p)
		command.Tasks = append(command.Tasks, work.CheckpointTask{Create: &spec})
	}
	if s.pick(2) == 0 {
		command.Tasks = append(command.Tasks, work.CheckpointTask{Update: s.change(p)})
	}
	return command
}
