package work_test

import (
	"fmt"
	"maps"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// modelTask is a task as the naive model holds it. A holder of zero is none.
type modelTask struct {
	task    work.TaskSpec
	status  work.TaskStatus
	blocked work.Blocked
	result  work.TaskResult
	holder  id.ID
	// whileHeld says that a stranger has blocked it, for as long as the claim lasts.
	whileHeld        bool
	expires          int64
	before           work.TaskStatus
	attempts         int
	token, version   uint64
	updated, renewed int64
}

// taskModel follows commands by what they say, and knows nothing of events.
type taskModel struct {
	tasks map[id.ID]*modelTask
	// order is how they were made.
	order []id.ID
}

func newTaskModel() *taskModel { return &taskModel{tasks: map[id.ID]*modelTask{}} }

// free takes the claim away.
func (t *modelTask) free(at int64) {
	if t.status == work.TaskInProgress || t.status == work.TaskBlocked && t.whileHeld {
		t.status, t.blocked = t.before, work.Blocked{}
	}
	t.drop()
	t.attempts++
	t.version++
	t.updated = at
}

// drop forgets the claim.
func (t *modelTask) drop() {
	t.holder, t.expires, t.renewed, t.before, t.whileHeld = id.ID{}, 0, 0, 0, false
}

// at is all tasks as they read at a moment. Nobody writes what is in there.
func (m *taskModel) at(now int64) map[id.ID]*modelTask {
	tasks := make(map[id.ID]*modelTask, len(m.tasks))
	for name, one := range m.tasks {
		if !one.holder.IsZero() && one.expires <= now {
			read := *one
			read.free(read.expires)
			one = &read
		}
		tasks[name] = one
	}
	return tasks
}

// own is a task to be written.
func (m *taskModel) own(name id.ID) *modelTask {
	next := *m.tasks[name]
	m.tasks[name] = &next
	return &next
}

// holder is the holder of the task that a command is about.
func (m *taskModel) holder(command work.Command) id.ID {
	var about id.ID
	switch command := command.(type) {
	case *work.UpdateTask:
		about = command.Task
	case *work.RenewClaim:
		about = command.Task
	case *work.ReleaseTask:
		about = command.Task
	case *work.CreateCheckpoint:
		if len(command.Tasks) > 0 {
			about = command.Tasks[0].Update.Task
		}
	}
	if one := m.tasks[about]; one != nil {
		return one.holder
	}
	return id.ID{}
}

// over reports whether the work of a task is done or will not be.
func over(status work.TaskStatus) bool {
	return status == work.TaskDone || status == work.TaskCancelled
}

// waits reports whether a task depends on one that is not over.
func waits(tasks map[id.ID]*modelTask, t *modelTask) bool {
	return slices.ContainsFunc(t.task.Dependencies, func(other id.ID) bool {
		return !over(tasks[other].status)
	})
}

// ranked are the tasks that a condition takes, the higher priority first, then the lower ID.
func ranked(tasks map[id.ID]*modelTask, takes func(*modelTask) bool) []id.ID {
	list := []id.ID{}
	for name, one := range tasks {
		if takes(one) {
			list = append(list, name)
		}
	}
	slices.SortFunc(list, func(a, b id.ID) int {
		if pa, pb := tasks[a].task.Priority, tasks[b].task.Priority; pa != pb {
			return int(pb) - int(pa)
		}
		return a.Compare(b)
	})
	return list
}

// claimer says whether an agent may claim at all, and with what it is refused.
func claimer(p *work.Project, who id.ID, hidden fault.Code) fault.Code {
	switch role := p.RoleOf(who); {
	case p.Visibility == work.Private && role == work.NoRole:
		return hidden
	case p.Visibility == work.Private && role == work.Reader:
		return fault.RoleRequired
	}
	return ""
}

// expected is the outcome of a command about a claim, and the task that it is about; false for
// other commands. It is asked BEFORE the command.
func (m *taskModel) expected(
	p *work.Project, who id.ID, command work.Command, now int64,
) (code fault.Code, about id.ID, known bool) {
	var tasks map[id.ID]*modelTask
	switch command.(type) {
	case *work.ClaimTask, *work.ClaimNext, *work.RenewClaim, *work.ReleaseTask:
		tasks = m.at(now)
	}
	switch command := command.(type) {
	case *work.ClaimTask:
		code := m.expectedClaim(p, who, tasks, command.Task)
		if code == "" && claimsTooMany(p, who, tasks) {
			code = fault.QuotaExceeded
		}
		return code, command.Task, true
	case *work.ClaimNext:
		if code := claimer(p, who, fault.ProjectNotFound); code != "" {
			return code, id.ID{}, true
		}
		if p.Status == work.Archived {
			return fault.ProjectArchived, id.ID{}, true
		}
		fits := ranked(tasks, func(t *modelTask) bool {
			return t.status == work.TaskOpen && !waits(tasks, t) &&
				(command.Type == "" || command.Type == t.task.Type) &&
				(command.Skills == nil || !slices.ContainsFunc(t.task.Skills, func(s string) bool {
					return !slices.Contains(command.Skills, s)
				}))
		})
		if len(fits) == 0 {
			return fault.TaskNotFound, id.ID{}, true
		}
		if claimsTooMany(p, who, tasks) {
			return fault.QuotaExceeded, id.ID{}, true
		}
		return "", fits[0], true
	case *work.RenewClaim:
		return expectedHold(p, who, tasks[command.Task], command.Proof, false), command.Task, true
	case *work.ReleaseTask:
		return expectedHold(p, who, tasks[command.Task], command.Proof, true), command.Task, true
	}
	return "", id.ID{}, false
}

func (m *taskModel) expectedClaim(
	p *work.Project, who id.ID, tasks map[id.ID]*modelTask, wanted id.ID,
) fault.Code {
	t := tasks[wanted]
	code := claimer(p, who, fault.TaskNotFound)
	switch {
	case code != "":
		return code
	case t == nil:
		return fault.TaskNotFound
	case p.Status == work.Archived:
		return fault.ProjectArchived
	case !t.holder.IsZero():
		return fault.TaskAlreadyClaimed
	case over(t.status) || t.status == work.TaskBlocked:
		return fault.TaskNotClaimable
	case waits(tasks, t):
		return fault.DependenciesUnmet
	}
	return ""
}

// claimsTooMany reports whether an agent that is no member holds as many claims as it may.
func claimsTooMany(p *work.Project, who id.ID, tasks map[id.ID]*modelTask) bool {
	held := ranked(tasks, func(t *modelTask) bool { return t.holder == who })
	return p.RoleOf(who) == work.NoRole && len(held) >= work.GuestClaimsMax
}

// expectedHold is the outcome of a renewal or a release; random proofs have no claim ID but the
// token alone.
func expectedHold(
	p *work.Project, who id.ID, t *modelTask, proof work.ClaimProof, taking bool,
) fault.Code {
	switch {
	case t == nil || p.Visibility == work.Private && p.RoleOf(who) == work.NoRole:
		return fault.TaskNotFound
	case t.holder == who && (proof.Token == nil || *proof.Token == t.token):
		return ""
	case taking && proof.Token == nil && !t.holder.IsZero() && p.RoleOf(who) >= work.Maintainer:
		return ""
	}
	return fault.ClaimLost
}

// checkOutcome looks at the outcome of a change from outside: who succeeded, and who got
// CLAIM_LOST. It is called AFTER the command, with the model as it was before.
func (m *taskModel) checkOutcome(
	p *work.Project, who id.ID, command *work.UpdateTask, code fault.Code, now int64,
) error {
	t := m.at(now)[command.Task]
	if t == nil {
		return nil
	}
	held, role, status := t.holder == who, p.RoleOf(who), command.Change.Status
	change := &command.Change
	switch {
	case code == "" && role == work.NoRole && p.Kind != work.Community &&
		(change.Title != nil || change.Priority != 0 || change.Skills != nil ||
			change.Dependencies != nil || change.Parent != nil || status == work.TaskCancelled):
		return fmt.Errorf("more than the progress of %+v was changed by an outsider", t)
	case code == fault.ClaimLost && held && command.Proof.Token == nil:
		return fmt.Errorf("the holder of %+v got CLAIM_LOST", t)
	case code != "":
		return nil
	case !held && role < work.Contributor, role == work.NoRole && p.Visibility == work.Private:
		return fmt.Errorf("%+v was changed by an outsider", t)
	case !held && role < work.Maintainer && status != 0 && status != t.status &&
		(!t.holder.IsZero() || status == work.TaskDone && t.status != work.TaskInReview ||
			t.status == work.TaskDone):
		return fmt.Errorf("%+v became %s by another than its holder", t, status)
	case command.Release && !held:
		return fmt.Errorf("%+v was released by another than its holder", t)
	case p.Status == work.Archived:
		return fmt.Errorf("%+v was changed in an archived project", t)
	}
	return nil
}

// observe takes a command that was accepted and left events.
func (m *taskModel) observe(
	p *work.Project, who id.ID, command work.Command, about id.ID, now int64,
) {
	m.tasks = m.at(now)
	switch command := command.(type) {
	case *work.CreateTask:
		m.create(p, command.Spec, now)
	case *work.UpdateTask:
		m.update(p, who, command, now)
	case *work.ClaimTask, *work.ClaimNext:
		t := m.own(about)
		t.holder, t.before, t.status = who, t.status, work.TaskInProgress
		t.expires, t.renewed = now+work.LeaseSeconds*1000, now
		t.token++
		t.version++
		t.updated = now
	case *work.RenewClaim:
		t := m.own(about)
		t.expires, t.renewed = now+work.LeaseSeconds*1000, now
		t.version++
		t.updated = now
	case *work.ReleaseTask:
		m.own(about).free(now)
	case *work.UpdateProject, *work.ChangeMember, *work.RemoveMember:
		for name, one := range m.tasks {
			if !one.holder.IsZero() && p.Visibility == work.Private &&
				p.RoleOf(one.holder) < work.Contributor {
				m.own(name).free(now)
			}
		}
	case *work.CreateCheckpoint:
		for i := range command.Tasks {
			if spec := command.Tasks[i].Create; spec != nil {
				m.create(p, *spec, now)
			} else {
				m.update(p, who, &command.Tasks[i].Update, now)
			}
		}
	}
}

// create finds the ID of a new task behind those that the model knows.
func (m *taskModel) create(p *work.Project, spec work.TaskSpec, now int64) {
	var last id.ID
	if len(m.order) > 0 {
		last = m.order[len(m.order)-1]
	}
	p.Tasks(last, now, func(t *work.Task) bool {
		last = t.ID
		return false
	})
	if spec.Priority == 0 {
		spec.Priority = work.PriorityNormal
	}
	m.order = append(m.order, last)
	m.tasks[last] = &modelTask{task: spec, status: work.TaskOpen, version: 1, updated: now}
}

func (m *taskModel) update(p *work.Project, who id.ID, command *work.UpdateTask, now int64) {
	t, change := m.own(command.Task), &command.Change
	old, was := fmt.Sprintf("%+v", *t), t.status
	if change.Title != nil {
		t.task.Title = *change.Title
	}
	if change.Priority != 0 {
		t.task.Priority = change.Priority
	}
	if change.Skills != nil {
		t.task.Skills = *change.Skills
	}
	if change.Dependencies != nil {
		t.task.Dependencies = *change.Dependencies
	}
	if change.Parent != nil {
		t.task.Parent = *change.Parent
	}
	if change.Result != nil {
		t.result = *change.Result
	}
	if change.Blocked != nil {
		t.blocked = *change.Blocked
	}
	if change.Status != 0 {
		t.status = change.Status
	}
	if t.status != work.TaskBlocked {
		t.blocked = work.Blocked{}
	}
	// What an outsider calls done waits for a member, and a block of one ends with its claim.
	outsider := t.holder == who && p.RoleOf(who) == work.NoRole && p.Kind != work.Community
	reported := change.Status == work.TaskDone && outsider
	if reported {
		t.status = work.TaskInReview
	}
	if t.status != was || change.Blocked != nil && fmt.Sprintf("%+v", *t) != old {
		t.whileHeld = outsider && t.status == work.TaskBlocked
	}
	held := !t.holder.IsZero()
	renews := t.holder == who && !reported && !over(t.status) && t.status != work.TaskOpen &&
		!command.Release
	if reported || renews || fmt.Sprintf("%+v", *t) != old {
		t.version++
		t.updated = now
	}
	if renews {
		t.expires, t.renewed = now+work.LeaseSeconds*1000, now
	}
	switch {
	case held && (reported || over(t.status)):
		t.drop()
	case held && t.status == work.TaskOpen:
		t.drop()
		t.attempts++
	case held && command.Release && t.holder == who:
		t.free(now)
	}
}

// compare asks a project for all of its tasks at a moment.
func (m *taskModel) compare(p *work.Project, now int64) error {
	want := m.at(now)
	listed := []id.ID{}
	var err error
	p.Tasks(id.ID{}, now, func(t *work.Task) bool {
		listed = append(listed, t.ID)
		if found, ok := p.Task(t.ID, now); !ok || modelOfTask(found) != modelOfTask(t) {
			err = fmt.Errorf("task %v is two", t.ID)
		} else if got, want := modelOfTask(t), fmt.Sprintf("%+v", *want[t.ID]); got != want {
			err = fmt.Errorf("task %v at %d:\n got %s\nwant %s", t.ID, now, got, want)
		}
		return err == nil
	})
	if err == nil && !slices.Equal(listed, m.order) {
		err = fmt.Errorf("%d tasks listed, want %d in the order of their making", len(listed),
			len(m.order))
	}
	if err == nil {
		err = m.compareOrders(p, want, now)
	}
	if err == nil {
		err = m.compareLinks()
	}
	return err
}

// compareLinks takes tasks away that wait for none of those left, until none is left; and so with
// what tasks are parts of.
func (m *taskModel) compareLinks() error {
	for name, above := range map[string]func(*modelTask) []id.ID{
		"wait for each other": func(t *modelTask) []id.ID { return t.task.Dependencies },
		"are parts of themselves": func(t *modelTask) []id.ID {
			return []id.ID{t.task.Parent}
		},
	} {
		left := maps.Clone(m.tasks)
		for {
			before := len(left)
			maps.DeleteFunc(left, func(_ id.ID, one *modelTask) bool {
				return !slices.ContainsFunc(above(one), func(other id.ID) bool {
					return left[other] != nil
				})
			})
			if len(left) == before {
				break
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("%d tasks %s", len(left), name)
		}
	}
	return nil
}

// modelOfTask is a task in the form of the model, as text.
func modelOfTask(t *work.Task) string {
	got := modelTask{
		task: t.Spec, status: t.Status, attempts: t.Attempts, token: t.Token, version: t.Version,
		updated: t.UpdatedAt,
	}
	if t.Blocked != nil {
		got.blocked = *t.Blocked
	}
	if t.Result != nil {
		got.result = *t.Result
	}
	if t.Claim != nil {
		got.holder, got.expires, got.before = t.Claim.Agent, t.Claim.ExpiresAt, t.Claim.Before
		got.renewed, got.whileHeld = t.Claim.RenewedAt, t.Claim.EndsBlock
	}
	return fmt.Sprintf("%+v", got)
}

// compareOrders counts and sorts again, and finds every unfinished task in one order only.
func (m *taskModel) compareOrders(p *work.Project, tasks map[id.ID]*modelTask, now int64) error {
	for status := work.TaskOpen; status <= work.TaskCancelled; status++ {
		want := len(ranked(tasks, func(t *modelTask) bool { return t.status == status }))
		if got := p.TaskCount(status, now); got != want {
			return fmt.Errorf("%d tasks are %s at %d, want %d", got, status, now, want)
		}
	}
	claimed := ranked(tasks, func(t *modelTask) bool { return !t.holder.IsZero() })
	slices.SortFunc(claimed, func(a, b id.ID) int {
		if ea, eb := tasks[a].expires, tasks[b].expires; ea != eb {
			return int(ea - eb)
		}
		return a.Compare(b)
	})
	if got := p.ClaimedCount(now); got != len(claimed) {
		return fmt.Errorf("%d claims at %d, want %d", got, now, len(claimed))
	}
	for name, order := range map[string]struct {
		got  func(int64, func(*work.Task) bool)
		want []id.ID
	}{
		"open": {p.OpenTasks, ranked(tasks, func(t *modelTask) bool {
			return t.status == work.TaskOpen
		})},
		"claimed": {p.ClaimedTasks, claimed},
		"stalled": {p.StalledTasks, ranked(tasks, func(t *modelTask) bool {
			return t.holder.IsZero() && t.status != work.TaskOpen && !over(t.status)
		})},
	} {
		got := []id.ID{}
		order.got(now, func(t *work.Task) bool {
			got = append(got, t.ID)
			return modelOfTask(t) == fmt.Sprintf("%+v", *tasks[t.ID])
		})
		if !slices.Equal(got, order.want) {
			return fmt.Errorf("%s at %d: %v, want %v", name, now, got, order.want)
		}
		if half := len(order.want) / 2; half > 0 {
			seen := 0
			order.got(now, func(*work.Task) bool { seen++; return seen < half })
			if seen != half {
				return fmt.Errorf("%s at %d continues after it was stopped", name, now)
			}
		}
	}
	return m.compareExpiry(p)
}

// compareExpiry looks at claims as they are stored: one that has expired counts until it is noted.
func (m *taskModel) compareExpiry(p *work.Project) error {
	next := int64(0)
	for one := range maps.Values(m.tasks) {
		if !one.holder.IsZero() && (next == 0 || one.expires < next) {
			next = one.expires
		}
	}
	if got := p.NextExpiry(); got != next {
		return fmt.Errorf("the next claim runs out at %d, want %d", got, next)
	}
	return nil
}
