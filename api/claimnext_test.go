package api_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pws/api"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// claimNext claims with a key and returns the public ID of the task.
func (o *testEngine) claimNext(who *testAgent, key string) (task string, replayed bool, err error) {
	o.t.Helper()
	reply, data, err := o.call(who, request{operation: "task.claim_next", key: key})
	if err != nil {
		return "", false, err
	}
	return data["task"].(map[string]any)["id"].(string), reply.Replayed, nil
}

// mustClaim expects a certain task.
func (o *testEngine) mustClaim(who *testAgent, key string, want id.ID, wantReplayed bool) {
	o.t.Helper()
	task, replayed, err := o.claimNext(who, key)
	if err != nil || task != want.Format(id.Task) || replayed != wantReplayed {
		o.t.Fatalf("claimed %s, replayed %v, %v; want %s, %v", task, replayed, err,
			want.Format(id.Task), wantReplayed)
	}
}

func (o *testEngine) mustFail(who *testAgent, key string, want fault.Code) {
	o.t.Helper()
	if task, _, err := o.claimNext(who, key); fault.CodeOf(err) != want {
		o.t.Fatalf("claimed %q, %v; want %s", task, err, want)
	}
}

// onClaim does something ahead of the nth order to claim, counted from 1.
func (o *testEngine) onClaim(do func(nth int, order api.Order) error) {
	nth := 0
	o.before = func(order api.Order) error {
		if _, claims := order.Command.(*work.ClaimNext); !claims {
			return nil
		}
		nth++
		return do(nth, order)
	}
}

// claims counts the live claims of an agent over projects.
func (o *testEngine) claims(who *testAgent, projects ...id.ID) (count int) {
	o.t.Helper()
	for _, project := range projects {
		view, err := o.Project(project)
		if err != nil {
			o.t.Fatal(err)
		}
		view.ClaimedTasks(o.Now(), func(t *work.Task) bool {
			if t.Claim.Agent == who.id() {
				count++
			}
			return true
		})
	}
	return count
}

// Where others were faster in one project the next one is tried, and a repeat of the key is
// answered from the last one, whatever has become free in front of it.
func TestClaimNextContinuesAfterALostRace(t *testing.T) {
	o := newTestEngine(t)
	ada, rival := o.register("ada"), o.register("rival")
	a, aTasks := o.project(ada, work.Public, work.PriorityUrgent)
	b, bTasks := o.project(ada, work.Private, work.PriorityHigh)
	c, cTasks := o.project(ada, work.Public, work.PriorityLow)
	o.give(ada, b, &work.AddMember{Agent: rival.id(), Role: work.Contributor})
	o.onClaim(func(nth int, order api.Order) error {
		if nth <= 2 {
			o.give(rival, order.Project, &work.ClaimNext{})
		}
		return nil
	})
	o.mustClaim(ada, "key", cTasks[0], false)
	o.before = nil
	o.give(rival, a, &work.ReleaseTask{Task: aTasks[0]})
	o.give(rival, b, &work.ReleaseTask{Task: bTasks[0]})
	for range 3 {
		o.mustClaim(ada, "key", cTasks[0], true)
	}
	if got := o.claims(ada, a, b, c); got != 1 {
		t.Errorf("%d claims", got)
	}
	o.mustClaim(ada, "other", aTasks[0], false)
	o.mustClaim(ada, "third", bTasks[0], false)
	o.mustFail(ada, "fourth", fault.TaskNotFound)
}

// A request that is cut off makes one claim at most, wherever it was cut, and its repeat finds it.
func TestClaimNextIsClaimedOnce(t *testing.T) {
	for cutAt := 1; cutAt <= 3; cutAt++ {
		for _, claimed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d-%v", cutAt, claimed), func(t *testing.T) {
				claimNextIsCut(t, cutAt, claimed)
			})
		}
	}
}

// claimNextIsCut cuts a request in the project that it tries nth, before the claim or behind it; in
// those that it tried before, others were faster.
func claimNextIsCut(t *testing.T, cutAt int, claimed bool) {
	o := newTestEngine(t)
	ada, rival := o.register("ada"), o.register("rival")
	var projects, tasks []id.ID
	for _, priority := range []work.Priority{
		work.PriorityHigh, work.PriorityNormal, work.PriorityLow,
	} {
		project, made := o.project(ada, work.Public, priority)
		projects, tasks = append(projects, project), append(tasks, made...)
	}
	cut := false
	o.onClaim(func(nth int, order api.Order) error {
		switch {
		case nth < cutAt:
			o.give(rival, order.Project, &work.ClaimNext{})
		case nth == cutAt && !claimed:
			return errCut
		}
		cut = nth == cutAt
		return nil
	})
	o.after = func(_ api.Order, err error) error {
		if cut && claimed {
			cut = false
			return errCut
		}
		return err
	}
	o.mustFail(ada, "key", fault.StorageUnavailable)
	o.before, o.after = nil, nil
	for i := range cutAt - 1 {
		o.give(rival, projects[i], &work.ReleaseTask{Task: tasks[i]})
	}
	want := tasks[0]
	if claimed {
		want = tasks[cutAt-1]
	}
	o.mustClaim(ada, "key", want, claimed)
	o.give(ada, projects[0], &work.CreateTask{
		Spec: work.TaskSpec{Title: "better", Priority: work.PriorityUrgent},
	})
	o.mustClaim(ada, "key", want, true)
	if got := o.claims(ada, projects...); got != 1 {
		t.Errorf("%d claims", got)
	}
}

// Repeats return a claim for seven days after it was made, however long ago the key was first used.
func TestClaimNextIsStoredWithTheClaim(t *testing.T) {
	const day = 24 * 3600 * 1000
	o := newTestEngine(t)
	ada, rival := o.register("ada"), o.register("rival")
	a, aTasks := o.project(ada, work.Public, work.PriorityNormal)
	o.onClaim(func(_ int, order api.Order) error {
		o.give(rival, order.Project, &work.ClaimNext{})
		return nil
	})
	o.mustFail(ada, "key", fault.TaskNotFound)
	o.before = nil
	o.Advance(6 * day)
	o.login(ada)
	o.mustClaim(ada, "key", aTasks[0], false)
	o.Advance(6 * day)
	o.login(ada)
	o.mustClaim(ada, "key", aTasks[0], true)
	if got := o.claims(ada, a); got != 0 {
		t.Errorf("%d claims", got)
	}
	o.Advance(2 * day)
	o.login(ada)
	o.mustClaim(ada, "key", aTasks[0], false)
}

// While a request runs, another one with its key waits for nothing and claims nothing.
func TestClaimNextRunsOncePerKey(t *testing.T) {
	o := newTestEngine(t)
	ada := o.register("ada")
	_, tasks := o.project(ada, work.Public, work.PriorityNormal, work.PriorityNormal)
	o.onClaim(func(nth int, _ api.Order) error {
		if nth == 1 {
			o.mustFail(ada, "key", fault.IdempotencyInProgress)
			o.mustClaim(ada, "other", tasks[0], false)
		}
		return nil
	})
	o.mustClaim(ada, "key", tasks[1], false)
	o.mustClaim(ada, "key", tasks[1], true)
}

// What a request can no longer see it learns nothing of, and it claims nothing in its place.
func TestClaimNextRepeatsOfHiddenClaims(t *testing.T) {
	o := newTestEngine(t)
	ada, eve := o.register("ada"), o.register("eve")
	a, aTasks := o.project(ada, work.Public, work.PriorityHigh)
	b, _ := o.project(ada, work.Public, work.PriorityLow)
	o.mustClaim(eve, "key", aTasks[0], false)
	o.give(ada, a, &work.UpdateProject{Visibility: work.Private})
	o.mustFail(eve, "key", fault.TaskNotFound)
	if got := o.claims(eve, b); got != 0 {
		t.Errorf("%d claims", got)
	}
	o.give(ada, a, &work.UpdateProject{Visibility: work.Public, Reuse: work.AllowReuse})
	o.mustClaim(eve, "key", aTasks[0], true)
}

// A request looks at so many tasks of the caller's own projects at most, the best first.
func TestClaimNextLooksAtALimitedNumberOfTasks(t *testing.T) {
	o := newTestEngine(t)
	ann := o.register("ann")
	fill := func(priority work.Priority, tasks int) {
		t.Helper()
		project, made := o.project(ann, work.Private, priority)
		blocked := work.TaskChange{Status: work.TaskBlocked, Blocked: &work.Blocked{
			Kind: work.BlockedByTransient,
		}}
		o.give(ann, project, &work.UpdateTask{Task: made[0], Change: blocked})
		for ; tasks > 0; tasks -= 100 {
			command := &work.CreateCheckpoint{Summary: "tasks"}
			for range min(tasks, 100) {
				command.Tasks = append(command.Tasks, work.CheckpointTask{Create: &work.TaskSpec{
					Title: "waits", Priority: priority, Dependencies: made,
				}})
			}
			o.give(ann, project, command)
		}
	}
	claim := func() error {
		_, _, err := o.call(ann, request{operation: "task.claim_next"})
		return err
	}
	fill(work.PriorityUrgent, 9999)
	fill(work.PriorityHigh, 9999)
	o.project(ann, work.Private, work.PriorityNormal, work.PriorityLow)
	if err := claim(); err != nil {
		t.Errorf("behind 19,998 tasks: %v", err)
	}
	fill(work.PriorityNormal, 2)
	if err := claim(); fault.CodeOf(err) != fault.TaskNotFound {
		t.Errorf("behind 20,000 tasks: %v", err)
	}
}

// Agents that ask at the same time get a task each, as long as there are enough: none of them gives
// up because others were faster in many projects.
func TestClaimNextOfManyAgents(t *testing.T) {
	const crowd = 120
	o := newTestEngine(t)
	owner := o.register("owner")
	agents := make([]*testAgent, crowd)
	for i := range agents {
		agents[i] = o.register(fmt.Sprint("agent", i))
		tasks := []work.Priority{work.PriorityNormal}
		if i%10 == 0 {
			tasks = append(tasks, work.PriorityHigh, work.PriorityUrgent)
		}
		o.project(owner, work.Public, tasks...)
	}
	// All are choosing before the first claims.
	var choosing, running sync.WaitGroup
	choosing.Add(crowd)
	var first sync.Map
	o.before = func(order api.Order) error {
		if _, claims := order.Command.(*work.ClaimNext); !claims {
			return nil
		}
		if _, again := first.LoadOrStore(order.Agent, true); !again {
			choosing.Done()
			choosing.Wait()
		}
		return nil
	}
	claimed := make([]string, crowd)
	for i, agent := range agents {
		running.Go(func() {
			var err error
			if claimed[i], _, err = o.claimNext(agent, fmt.Sprint("key", i)); err != nil {
				t.Errorf("agent %d: %v", i, err)
			}
		})
	}
	running.Wait()
	slices.Sort(claimed)
	if got := len(slices.Compact(claimed)); got != crowd {
		t.Errorf("%d agents claimed %d tasks", crowd, got)
	}
}

// A task for the caller's skills is found behind many projects that ask for others.
func TestClaimNextFindsSkillsBehindOthers(t *testing.T) {
	o := newTestEngine(t)
	owner, agent := o.register("owner"), o.register("agent")
	for range 240 {
		project, _ := o.project(owner, work.Public)
		o.give(owner, project, &work.CreateTask{
			Spec: work.TaskSpec{Title: "task", Priority: work.PriorityHigh, Skills: []string{"cobol"}},
		})
	}
	project, _ := o.project(owner, work.Public)
	wanted := o.give(owner, project, &work.CreateTask{
		Spec: work.TaskSpec{Title: "task", Priority: work.PriorityLow, Skills: []string{"rust"}},
	})
	_, data, err := o.call(agent, request{
		operation: "task.claim_next", body: `{"skills":["go","rust"]}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := data["task"].(map[string]any)["id"]; got != wanted.Subject.Format(id.Task) {
		t.Errorf("claimed %v", got)
	}
}
