package work_test

import (
	"fmt"

	"pws/internal/id"
	"pws/work"
)

// time moves the clock: mostly by a little, now and then back a little, by a part of a lease, to
// the very end of one or just before, or by days.
func (draw source) time(w *world) {
	w.now += int64(draw(2000)) - 200
	next := w.project.NextExpiry()
	switch draw(150) {
	case 0:
		w.now += work.IdempotencySeconds * 400
	case 1, 2, 3, 4, 5:
		w.now += int64(draw(work.LeaseSeconds * 700))
	case 6, 7:
		w.now = max(w.now, next)
	case 8, 9:
		w.now = max(w.now, next-1)
	}
}

// task is one with a claim, or one of the newest, seldom any, and very seldom none.
func (draw source) task(w *world) (drawn id.ID) {
	if claims := w.project.ClaimedCount(w.now); claims > 0 && draw(2) == 0 {
		nth := draw(claims)
		w.project.ClaimedTasks(w.now, func(t *work.Task) bool {
			drawn = t.ID
			nth--
			return nth >= 0
		})
		return drawn
	}
	total := w.project.TasksTotal()
	if total == 0 || draw(40) == 0 {
		return agent("no task")
	}
	reach := min(total, 8)
	if draw(6) == 0 {
		reach = total
	}
	return w.project.NewestTasks(1+draw(reach), w.now)[0].ID
}

func (draw source) taskList(w *world) []id.ID {
	if draw(3) > 0 {
		return nil
	}
	list := make([]id.ID, draw(3))
	for i := range list {
		list[i] = draw.task(w)
	}
	return list
}

func (draw source) skills() []string {
	return [][]string{nil, nil, {}, {"go"}, {"go", "sql"}}[draw(5)]
}

func (draw source) text() string { return fmt.Sprint("text ", draw(5)) }

func (draw source) spec(w *world) work.TaskSpec {
	spec := work.TaskSpec{
		Title: draw.text(), Priority: work.Priority(draw(5)), Type: []string{"", "bug"}[draw(2)],
		Skills: draw.skills(), Dependencies: draw.taskList(w),
	}
	if draw(6) == 0 {
		spec.Parent = draw.task(w)
	}
	return spec
}

func (draw source) proof(w *world, task id.ID) (proof work.ClaimProof) {
	if t, ok := w.project.Task(task, w.now); ok && draw(3) == 0 {
		token := t.Token - min(t.Token, uint64(draw(2)))
		proof.Token = &token
	}
	return proof
}

func (draw source) update(w *world) work.UpdateTask {
	update := work.UpdateTask{Task: draw.task(w), Release: draw(6) == 0}
	update.Proof = draw.proof(w, update.Task)
	change := &update.Change
	if draw(2) == 0 {
		change.Status = work.TaskStatus(draw(7))
	}
	if change.Status == work.TaskBlocked || draw(12) == 0 {
		change.Blocked = &work.Blocked{
			Kind: work.BlockedKind(1 + draw(4)), Reason: draw.text(),
		}
	}
	switch draw(8) {
	case 0:
		change.Title = pointer(draw.text())
	case 1:
		change.Priority = work.Priority(draw(5))
	case 2:
		change.Skills = pointer(draw.skills())
	case 3, 4:
		change.Dependencies = pointer(draw.taskList(w))
	case 5:
		change.Parent = pointer([]id.ID{{}, draw.task(w)}[draw(2)])
	case 6:
		change.Result = &work.TaskResult{Summary: draw.text()}
		if draw(2) == 0 {
			change.Result.Changeset = w.project.Head().ID
		}
	}
	return update
}

// workCommand is one of tasks and claims.
func (draw source) workCommand(w *world) work.Command {
	switch kind := draw(16); {
	case kind < 4:
		return &work.CreateTask{Spec: draw.spec(w)}
	case kind < 8:
		update := draw.update(w)
		return &update
	case kind < 11:
		return &work.ClaimTask{Task: draw.task(w)}
	case kind == 11:
		return &work.ClaimNext{Skills: draw.skills(), Type: []string{"", "", "bug"}[draw(3)]}
	case kind == 12:
		task := draw.task(w)
		return &work.RenewClaim{Task: task, Proof: draw.proof(w, task)}
	case kind < 15:
		task := draw.task(w)
		return &work.ReleaseTask{Task: task, Proof: draw.proof(w, task)}
	}
	return new(work.ExpireClaims)
}

func (draw source) continuation(w *world) work.Continuation {
	return work.Continuation{
		Summary: draw.text(), Tasks: draw.taskList(w), Blockers: []string{draw.text()},
		Decisions: []work.Note{{Text: draw.text(), Reasoned: draw(2) == 0}},
	}
}

func (draw source) state(w *world) *work.UpdateState {
	update := &work.UpdateState{Statement: work.Statement{
		Summary: draw.text(), NextActions: draw.skills(),
	}}
	if draw(2) == 0 {
		version := w.project.State().Version - uint64(draw(2))
		update.Expected = &version
	}
	return update
}

// leftCommand is one of state, handoffs, checkpoints and work sessions.
func (draw source) leftCommand(w *world) work.Command {
	switch draw(8) {
	case 0, 1:
		return draw.state(w)
	case 2, 3, 4:
		return &work.CreateHandoff{Continuation: draw.continuation(w)}
	case 5:
		command := &work.EndWorkSession{Session: agent("no session"), Summary: draw.text()}
		if sessions := w.project.WorkSessions(); len(sessions) > 0 && draw(8) > 0 {
			command.Session = sessions[draw(len(sessions))].ID
		}
		if latest := w.project.LatestHandoff(); latest != nil && draw(2) == 0 {
			command.Handoff = latest.ID
		}
		return command
	}
	return draw.checkpoint(w)
}

func (draw source) checkpoint(w *world) work.Command {
	command := &work.CreateCheckpoint{Summary: draw.text(), EndSession: draw(4) == 0}
	if draw(2) == 0 {
		base := w.project.Head().ID
		command.Base = &base
		for range draw(4) {
			file := work.CheckpointFile{Path: draw.path()}
			if draw(4) > 0 {
				file.Content, file.ContentType = draw.content(), draw.contentType()
			}
			command.Files = append(command.Files, file)
		}
	}
	if draw(3) == 0 {
		command.State = draw.state(w)
	}
	if draw(3) == 0 {
		left := draw.continuation(w)
		command.Handoff = &left
	}
	for range draw(4) {
		if draw(2) == 0 {
			spec := draw.spec(w)
			command.Tasks = append(command.Tasks, work.CheckpointTask{Create: &spec})
		} else {
			command.Tasks = append(command.Tasks, work.CheckpointTask{Update: draw.update(w)})
		}
	}
	return command
}
