package actors

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pws/api"
	"pws/index"
	"pws/internal/id"
	"pws/work"
)

// spaceCrashWorkers write in workspaces at the same time: the last one in turns of a community
// project, the others each in a workspace of its own.
const (
	spaceCrashWorkers = 5
	turnWorker        = spaceCrashWorkers - 1
)

const spaceCrashDirEnv = "PWS_SPACE_CRASH_DIR"

// spaceCrash is where the workers work.
type spaceCrash struct {
	e                  *Engine
	project, community id.ID
	agents             []id.ID
	spaces             []id.ID
}

func openSpaceCrash(t *testing.T, dir string) *spaceCrash {
	t.Helper()
	c := &spaceCrash{e: start(t, quiet(dir)), spaces: make([]id.ID, turnWorker)}
	list, err := c.e.PublicProjects(index.Position{}, 10)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d projects: %v", len(list), err)
	}
	for _, p := range list {
		if p.Kind == work.Community {
			c.community = p.ID
		} else {
			c.project = p.ID
		}
	}
	for worker := range spaceCrashWorkers {
		agent, ok := c.e.Identity().AgentByHandle(fmt.Sprint("agent-", worker))
		if !ok {
			t.Fatalf("worker %d is lost", worker)
		}
		c.agents = append(c.agents, agent.ID)
	}
	viewOf(t, c.e, c.project).Workspaces(func(w *work.Workspace) bool {
		for worker := range c.spaces {
			if c.agents[worker] == w.Agent {
				c.spaces[worker] = w.ID
			}
		}
		return true
	})
	return c
}

// do carries out a worker's step, under a key of its own.
func (c *spaceCrash) do(worker, step int) (api.Done, error) {
	name := fmt.Sprintf("%d-%d", worker, step)
	order := api.Order{
		Project: c.project, Agent: c.agents[worker], Idempotency: keyFor(name, name),
	}
	write := func(space id.ID, path string) *work.WriteWorkspaceFile {
		return &work.WriteWorkspaceFile{
			Workspace: space, Path: path, Blob: blobOf(name), ContentType: "text/plain",
		}
	}
	if worker == turnWorker {
		order.Project = c.community
		switch step % turnSteps {
		case 0:
			order.Command = new(work.TakeTurn)
		case turnSteps - 1:
			order.Command = &work.SubmitTurn{Summary: name}
		default:
			view, err := c.e.Project(c.community)
			if err != nil {
				return api.Done{}, err
			}
			open := view.CommunityWorkspace(order.Agent, 0)
			order.Command = write(open.ID, fmt.Sprint("file-", step%7))
		}
		return c.e.Do(order)
	}
	space, base := c.spaces[worker], step/spaceSteps%8
	switch step % spaceSteps {
	case 0:
		order.Command = write(space, fmt.Sprint("kept-", base))
	case 1:
		order.Command = write(space, fmt.Sprint("new-", base))
	case 2:
		order.Command = &work.RenameWorkspaceFile{
			Workspace: space, Path: fmt.Sprint("new-", base), NewPath: fmt.Sprint("moved-", base),
		}
	case 3:
		path := fmt.Sprint("moved-", base)
		order.Command = &work.DeleteWorkspaceFile{Workspace: space, Path: path}
	}
	return c.e.Do(order)
}

// turnSteps are a turn: taking it, two writes and the submission; spaceSteps are two writes, and
// the second file is moved and deleted.
const turnSteps, spaceSteps = 4, 4

// wanted are the files after so many steps of a worker, and how many changesets its turns made
// behind the two that the project begins with.
func wanted(worker, steps int) (files map[string]string, published int) {
	files = map[string]string{}
	for step := range steps {
		name, base := fmt.Sprintf("%d-%d", worker, step), step/spaceSteps%8
		kept, fresh := fmt.Sprint("kept-", base), fmt.Sprint("new-", base)
		moved := fmt.Sprint("moved-", base)
		switch {
		case worker == turnWorker && step%turnSteps == turnSteps-1:
			published++
		case worker == turnWorker && step%turnSteps > 0:
			files[fmt.Sprint("file-", step%7)] = name
		case worker == turnWorker:
		case step%spaceSteps == 0:
			files[kept] = name
		case step%spaceSteps == 1:
			files[fresh] = name
		case step%spaceSteps == 2:
			files[moved] = files[fresh]
			delete(files, fresh)
		default:
			delete(files, moved)
		}
	}
	return files, published
}

// TestSpaceCrashChild is the child process of TestSpaceCrash: it writes until it is killed, and
// prints each acknowledged step.
func TestSpaceCrashChild(t *testing.T) {
	dir := os.Getenv(spaceCrashDirEnv)
	if dir == "" {
		t.Skip("it is the child of TestSpaceCrash")
	}
	c := openSpaceCrash(t, dir)
	var output sync.Mutex
	report := func(format string, values ...any) {
		output.Lock()
		defer output.Unlock()
		fmt.Fprintf(os.Stdout, format, values...)
	}
	for worker, text := range strings.Split(os.Getenv("PWS_CRASH_STEPS"), ",") {
		first, _ := strconv.Atoi(text)
		go func() {
			for step := first; ; step++ {
				if _, err := c.do(worker, step); err != nil {
					report("failed %d %d %v\n", worker, step, err)
					return
				}
				report("done %d %d\n", worker, step)
			}
		}()
	}
	for {
		if err := c.e.Save(); err != nil {
			report("failed to save: %v\n", err)
		}
	}
}

// TestSpaceCrash kills a process whose agents write in workspaces, again and again. Every step that
// was acknowledged is there, the one that was under way is there whole or not at all, and its
// repeat leads to one effect. There are 4 rounds, or PWS_CRASH_ROUNDS.
func TestSpaceCrash(t *testing.T) {
	rounds := 4
	if text := os.Getenv("PWS_CRASH_ROUNDS"); text != "" {
		rounds, _ = strconv.Atoi(text)
	}
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	dir := filepath.Join(t.TempDir(), "data")
	e := start(t, quiet(dir))
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	(&simulation{t: t, e: e}).createCommunity(owner)
	for worker, agent := range agents(t, e, "agent", spaceCrashWorkers) {
		if worker != turnWorker {
			mustDo(t, e, project, agent, new(work.OpenWorkspace))
		}
	}
	stop(t, e)
	next := make([]int, spaceCrashWorkers)
	for range rounds {
		first := strings.Trim(strings.ReplaceAll(fmt.Sprint(next), " ", ","), "[]")
		killAfter(t, "TestSpaceCrashChild", 50+random.IntN(300), func(line string) {
			var worker, step int
			if n, _ := fmt.Sscanf(line, "done %d %d\n", &worker, &step); n != 2 ||
				step != next[worker] {
				t.Errorf("the child says %q, and the next steps are %v", line, next)
				return
			}
			next[worker]++
		}, spaceCrashDirEnv+"="+dir, "PWS_CRASH_STEPS="+first)
		c := openSpaceCrash(t, dir)
		for worker := range next {
			c.check(t, worker, next[worker])
			next[worker]++
		}
		want := fullState(t, c.e)
		stop(t, c.e)
		again := start(t, quiet(dir))
		sameState(t, "after another start", want, fullState(t, again))
		stop(t, again)
	}
}

// check expects the acknowledged steps of a worker and perhaps one more, and repeats that.
func (c *spaceCrash) check(t *testing.T, worker, next int) {
	t.Helper()
	before, after := c.differs(t, worker, next), c.differs(t, worker, next+1)
	if before != "" && after != "" {
		t.Fatalf("worker %d after %d steps: %s; and %s", worker, next, before, after)
	}
	for range 2 {
		if _, err := c.do(worker, next); err != nil {
			t.Fatalf("worker %d: the repeat of step %d: %v", worker, next, err)
		}
		if wrong := c.differs(t, worker, next+1); wrong != "" {
			t.Fatalf("worker %d: a repeat of step %d: %s", worker, next, wrong)
		}
	}
}

// differs says what is other than it is after so many steps of a worker.
func (c *spaceCrash) differs(t *testing.T, worker, steps int) string {
	t.Helper()
	files, published := wanted(worker, steps)
	if worker != turnWorker {
		p := viewOf(t, c.e, c.project)
		w, _ := p.Workspace(c.spaces[worker])
		if w.Revision != uint64(1+steps) {
			return fmt.Sprintf("revision %d", w.Revision)
		}
		return c.otherFiles(p, w, files)
	}
	files["a/0"] = "community"
	p := viewOf(t, c.e, c.community)
	w := p.CommunityWorkspace(c.agents[worker], 0)
	if open := steps%turnSteps > 0; open != (w != nil) || p.ChangesetsCount() != 2+published {
		return fmt.Sprintf("a workspace: %t, and %d changesets", w != nil, p.ChangesetsCount())
	}
	if w == nil {
		w = &work.Workspace{Base: p.Head().ID}
	} else if want := 1 + (steps-1)%turnSteps; w.Revision != uint64(want) {
		return fmt.Sprintf("revision %d of a turn, not %d", w.Revision, want)
	}
	return c.otherFiles(p, w, files)
}

// otherFiles says what a workspace shows that it should not, or the reverse.
func (c *spaceCrash) otherFiles(
	p *work.Project, w *work.Workspace, want map[string]string,
) (wrong string) {
	seen := 0
	p.WorkspaceFiles(w, "", func(file work.WorkspaceFile) bool {
		seen++
		content, err := c.e.Blob(file.Blob)
		if err != nil || string(content) != want[file.Path] {
			wrong = fmt.Sprintf("%s holds %q: %v", file.Path, content, err)
		}
		return wrong == ""
	})
	if wrong == "" && seen != len(want) {
		wrong = fmt.Sprintf("%d files, want %d", seen, len(want))
	}
	return wrong
}
