package bench

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"pws/bench/client"
)

// ClaimsResult compares the claims in the projects AFTER all rounds with the responses to the
// agents. Each task must be claimed at most once, and each response must be correct.
type ClaimsResult struct {
	Agents int `json:"agents"`
	// Projects and Tasks are those that agents claimed from; the last project has unclaimed tasks.
	Projects int `json:"projects"`
	Tasks    int `json:"tasks"`
	// Answers counts successful claims, including those outside of the measured time.
	Answers int `json:"answers"`
	// Claimed is the number of tasks that the service reports as claimed.
	Claimed int `json:"claimed"`
	// Twice is the number of tasks in more than one response. Unknown is the number of tasks in a
	// response that the service does not report as claimed.
	Twice   int `json:"given_out_twice"`
	Unknown int `json:"answered_and_not_claimed"`
	// Tokens is the number of claims with a fencing token other than 1.
	Tokens int `json:"wrong_fencing_tokens"`
	// Withheld is the number of open tasks in projects that reported having none.
	Withheld int `json:"withheld"`
	// Dry means that all projects ran out of tasks during a round.
	Dry bool `json:"ran_dry"`
	// Late means that claims may have expired before they were counted.
	Late bool `json:"counted_late"`
}

// failed lists what is wrong.
func (c *ClaimsResult) failed() (out []string) {
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			out = append(out, RunClaims+": "+fmt.Sprintf(format, args...))
		}
	}
	add(c.Late, "the rounds took longer than a claim lasts, so the claims cannot be counted")
	add(c.Dry, "all %d tasks were claimed BEFORE the rounds were over", c.Tasks)
	add(c.Answers != c.Claimed, "%d successful claims, %d tasks are claimed", c.Answers, c.Claimed)
	add(c.Twice > 0, "%d tasks were given out twice", c.Twice)
	add(c.Unknown > 0, "%d tasks were given out and are not claimed", c.Unknown)
	add(c.Tokens > 0, "%d claims have a fencing token other than 1", c.Tokens)
	add(c.Withheld > 0, "%d open tasks were withheld", c.Withheld)
	return out
}

// claimRace is a set of projects whose tasks agents claim concurrently, one project at a time.
type claimRace struct {
	server *server
	// perProject is the number of tasks in each project.
	perProject int
	projects   []string
	// at is the index of the current project; all are exhausted when it equals their number.
	at  atomic.Int64
	dry atomic.Bool
	// began is a time BEFORE the first claim.
	began  time.Time
	agents []*claimer
}

const (
	// claimHeadroom is the number of tasks that are prepared for each expected claim.
	claimHeadroom = 1.5
	// claimLeaseSeconds is the duration of a claim that is not renewed.
	claimLeaseSeconds = 1800
	// tasksPerRequest is the largest number of tasks in a checkpoint.
	tasksPerRequest = 100
)

// connect registers the agents and connects them.
func (r *claimRace) connect(ctx context.Context) connect {
	return func() (fleet, error) {
		agents, err := r.server.registerAgents(ctx, r.server.config.Connections)
		if err != nil {
			return nil, err
		}
		r.agents = make([]*claimer, len(agents))
		for i, one := range agents {
			r.agents[i] = &claimer{race: r, agent: one, asked: -1}
		}
		return clients(r.server.host, len(r.agents), func(at int) exchange { return r.agents[at] })()
	}
}

// provide creates enough tasks for a number of runs at a rate.
func (r *claimRace) provide(ctx context.Context, runs int, perSecond float64, l load) error {
	claims := perSecond * claimHeadroom * float64(runs) * (l.duration + l.warmup).Seconds()
	wanted := int(math.Ceil(claims / float64(r.perProject)))
	// The current project may be almost exhausted.
	missing := wanted - (len(r.projects) - int(r.at.Load()) - 1)
	if missing <= 0 {
		return nil
	}
	r.server.config.say("claims: making %d projects of %d tasks", missing, r.perProject)
	made := make([]string, missing)
	err := r.server.each(ctx, missing, func(api *client.API, at int) error {
		project, err := api.CreatePublicProject(fmt.Sprintf("Claims %d", len(r.projects)+at))
		if err != nil {
			return err
		}
		made[at] = project.ID
		if err := r.join(api, project.ID); err != nil {
			return err
		}
		return createTasks(api, project.ID, r.perProject)
	})
	if err != nil {
		return fmt.Errorf("prepare tasks: %w", err)
	}
	r.projects = append(r.projects, made...)
	if r.began.IsZero() {
		r.began = time.Now()
	}
	return nil
}

// join makes the agents members of a project, because others hold few claims at once.
func (r *claimRace) join(api *client.API, project string) error {
	for _, agent := range r.agents {
		member := map[string]string{"agent": agent.handle, "role": "READER"}
		if _, err := api.Post(projectPath(project)+"/members", "", member, nil); err != nil {
			return err
		}
	}
	return nil
}

// createTasks creates tasks by checkpoints.
func createTasks(api *client.API, project string, count int) error {
	words := newProse(count)
	for from := 0; from < count; from += tasksPerRequest {
		body := []byte(`{"summary":"Plan the work.","tasks":[`)
		for number := from; number < min(from+tasksPerRequest, count); number++ {
			if number > from {
				body = append(body, ',')
			}
			body = append(words.task(append(body, `{"create":`...), number), '}')
		}
		if _, err := postCheckpoint(api, project, append(body, `]}`...), nil); err != nil {
			return err
		}
	}
	return nil
}

// postCheckpoint sends the body of a checkpoint.
func postCheckpoint(api *client.API, project string, body []byte, into any) (client.Reply, error) {
	return api.Call(client.Request{
		Method: "POST", Path: projectPath(project) + "/checkpoint", Body: body,
		IdempotencyKey: client.RandomKey(),
	}, into)
}

// exhausted records that a project has no task left. The first agent to report it moves all agents
// on to the next project.
func (r *claimRace) exhausted(project int) {
	r.at.CompareAndSwap(int64(project), int64(project)+1)
}

// claimer is one agent of a race.
type claimer struct {
	race *claimRace
	agent
	// asked is the project of the prepared request.
	asked   int
	request []byte
	// taken are the tasks that this agent has claimed.
	taken []string
}

func (c *claimer) next() []byte {
	at := int(c.race.at.Load())
	if at >= len(c.race.projects) {
		if !c.race.dry.Swap(true) {
			c.race.server.config.say("claims: NO TASKS ARE LEFT, the figures of claims are void")
		}
		return nil
	}
	if at != c.asked {
		request := client.Request{
			Method: "POST", Path: "/api/v1/tasks/claim-next", Host: c.race.server.host,
			Credential: c.credential,
			Body:       []byte(`{"project_id":"` + c.race.projects[at] + `"}`),
		}
		c.asked, c.request = at, request.Append(nil)
	}
	return c.request
}

// noTaskLeft is the error code of a project without an open task.
const noTaskLeft = "404 TASK_NOT_FOUND"

func (c *claimer) complete(have []byte) (bool, string, error) {
	response, whole, err := parseHTTP(have)
	if err != nil || !whole {
		return false, "", err
	}
	outcome := client.Outcome(response)
	switch {
	case outcome == noTaskLeft:
		c.race.exhausted(c.asked)
		return true, outcomeUncounted, nil
	case outcome != "":
		return true, outcome, nil
	}
	task, found := findID(response.Body, `"task_id":"`)
	if !found || response.Status != 201 {
		return true, fmt.Sprintf("%d without a claim", response.Status), nil
	}
	c.taken = append(c.taken, task)
	return true, "", nil
}

// claimableTask is the part of a task that is checked.
type claimableTask struct {
	ID    string `json:"id"`
	Claim *struct {
		FencingToken uint64 `json:"fencing_token"`
	} `json:"claim"`
}

// check reads the tasks of all projects that agents claimed from.
func (r *claimRace) check(ctx context.Context) (*ClaimsResult, error) {
	at := int(r.at.Load())
	raced := min(at+1, len(r.projects))
	found := make([][]claimableTask, raced)
	err := r.server.each(ctx, raced, func(api *client.API, project int) error {
		var err error
		found[project], err = listTasks(api, r.projects[project])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("check the claims: %w", err)
	}
	result := r.count(found, at)
	result.Late = time.Since(r.began) > claimLeaseSeconds*time.Second
	return result, nil
}

// count compares the tasks of the projects with the responses. The first projects, up to exhausted,
// reported that they had no task left.
func (r *claimRace) count(found [][]claimableTask, exhausted int) *ClaimsResult {
	result := &ClaimsResult{Agents: len(r.agents), Projects: len(found), Dry: r.dry.Load()}
	answers := make(map[string]int)
	for _, agent := range r.agents {
		result.Answers += len(agent.taken)
		for _, task := range agent.taken {
			answers[task]++
			if answers[task] == 2 {
				result.Twice++
			}
		}
	}
	for project, tasks := range found {
		result.Tasks += len(tasks)
		for _, task := range tasks {
			switch {
			case task.Claim != nil:
				result.Claimed++
				if task.Claim.FencingToken != 1 {
					result.Tokens++
				}
				delete(answers, task.ID)
			case project < exhausted:
				result.Withheld++
			}
		}
	}
	result.Unknown = len(answers)
	return result
}

// listTasks reads all tasks of a project.
func listTasks(api *client.API, project string) ([]claimableTask, error) {
	var tasks []claimableTask
	for cursor := ""; ; {
		var page struct {
			Tasks  []claimableTask `json:"tasks"`
			Cursor *string         `json:"next_cursor"`
		}
		path := projectPath(project) + "/tasks?limit=200"
		if cursor != "" {
			path += "&cursor=" + client.EscapePath(cursor)
		}
		if err := api.Get(path, &page); err != nil {
			return nil, err
		}
		tasks = append(tasks, page.Tasks...)
		if page.Cursor == nil {
			return tasks, nil
		}
		cursor = *page.Cursor
	}
}
