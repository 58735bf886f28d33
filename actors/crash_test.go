package actors

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pws/api"
	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// crashWorkers write at the same time, each its own files; two share a project.
const crashWorkers = 8

// crashDirEnv makes TestCrashChild the process that is killed, on the data directory it names.
const crashDirEnv = "PWS_CRASH_DIR"

// crashRequest is the request of a worker's step: every third one creates two files in a changeset,
// the others write one. All contents differ.
func crashRequest(e *Engine, projects []id.ID, owner id.ID, worker, step int) (api.Order, error) {
	name := fmt.Sprintf("%d-%d", worker, step)
	order := api.Order{
		Project: projects[worker%len(projects)], Agent: owner, Idempotency: keyFor(name, name),
		Command: putOf(fmt.Sprint("one/", worker), name),
	}
	if step%3 > 0 {
		return order, nil
	}
	p, err := e.Project(order.Project)
	if err != nil {
		return order, err
	}
	a, b := blobOf("a "+name), blobOf("b "+name)
	order.Command = &work.PublishChangeset{Base: p.Head().ID, Operations: []work.Operation{
		{Action: work.Create, Path: "a/" + name, Content: &a, ContentType: "text/plain"},
		{Action: work.Create, Path: "b/" + name, Content: &b, ContentType: "text/plain"},
	}}
	return order, nil
}

// crashDo repeats a request until it is answered.
func crashDo(
	e *Engine, projects []id.ID, owner id.ID, worker, step int,
) (done api.Done, err error) {
	for {
		var order api.Order
		if order, err = crashRequest(e, projects, owner, worker, step); err != nil {
			return done, err
		}
		done, err = e.Do(order)
		if code := fault.CodeOf(err); code != fault.ProjectMoved && code != fault.RateLimited {
			return done, err
		}
	}
}

func crashParts(t *testing.T, e *Engine) (projects []id.ID, owner id.ID) {
	t.Helper()
	list, err := e.PublicProjects(index.Position{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		projects = append(projects, p.ID)
		owner = p.Owner
	}
	return projects, owner
}

// TestCrashChild is the child process of TestCrash: it writes until it is killed, and prints each
// acknowledged step.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashDirEnv)
	if dir == "" {
		t.Skip("it is the child of TestCrash")
	}
	config := quiet(dir)
	config.SweepEvery = 20 * time.Millisecond
	e := start(t, config)
	projects, owner := crashParts(t, e)
	var first [crashWorkers]int
	for n, text := range strings.Split(os.Getenv("PWS_CRASH_STEPS"), ",") {
		first[n], _ = strconv.Atoi(text)
	}
	// A step is printed BEFORE the next one begins.
	var output sync.Mutex
	report := func(format string, values ...any) {
		output.Lock()
		defer output.Unlock()
		fmt.Fprintf(os.Stdout, format, values...)
	}
	for worker := range crashWorkers {
		go func() {
			for step := first[worker]; ; step++ {
				if _, err := crashDo(e, projects, owner, worker, step); err != nil {
					report("failed %d %d %v\n", worker, step, err)
					return
				}
				report("done %d %d\n", worker, step)
			}
		}()
	}
	for n := 0; ; n++ {
		if err := e.Save(); err != nil {
			report("failed to save: %v\n", err)
		}
		handle := fmt.Sprintf("agent-%d-%d", first[0], n)
		register(t, e, handle)
		report("agent %s\n", handle)
	}
}

// crashed is what the parent knows of the child's work.
type crashed struct {
	t   *testing.T
	dir string
	// next is each worker's first step that was not acknowledged.
	next    [crashWorkers]int
	handles []string
}

// TestCrash kills a process that writes, again and again, and looks at what it leaves. There are 5
// rounds, or PWS_CRASH_ROUNDS.
func TestCrash(t *testing.T) {
	rounds := 5
	if text := os.Getenv("PWS_CRASH_ROUNDS"); text != "" {
		rounds, _ = strconv.Atoi(text)
	}
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	c := &crashed{t: t, dir: filepath.Join(t.TempDir(), "data")}
	e := start(t, quiet(c.dir))
	owner := register(t, e, "owner")
	for range 3 {
		createProject(t, e, owner, work.Public)
	}
	stop(t, e)
	for round := range rounds {
		c.round(50 + random.IntN(400))
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

// round lets a child work until it has acknowledged some steps, kills it and checks.
func (c *crashed) round(steps int) {
	c.t.Helper()
	var first []string
	for _, next := range c.next {
		first = append(first, strconv.Itoa(next))
	}
	killAfter(c.t, "TestCrashChild", steps, c.take, crashDirEnv+"="+c.dir,
		"PWS_CRASH_STEPS="+strings.Join(first, ","))
	e := start(c.t, quiet(c.dir))
	c.check(e)
	stop(c.t, e)
}

// killAfter runs a test of this binary as a process of its own with more environment, passes on
// what it prints line by line, and kills it after so many lines.
func killAfter(t *testing.T, test string, lines int, take func(line string), env ...string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	child.Env = append(os.Environ(), env...)
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	output := bufio.NewReader(out)
	for n := 0; ; n++ {
		if n == lines {
			if err := child.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
		line, err := output.ReadString('\n')
		if err == io.EOF {
			break
		}
		take(line)
	}
	_ = child.Wait()
}

func (c *crashed) take(line string) {
	words := strings.Fields(line)
	switch {
	case len(words) == 3 && words[0] == "done":
		worker, _ := strconv.Atoi(words[1])
		step, _ := strconv.Atoi(words[2])
		if step != c.next[worker] {
			c.t.Errorf("worker %d: step %d after %d", worker, step, c.next[worker])
		}
		c.next[worker] = step + 1
	case len(words) == 2 && words[0] == "agent":
		c.handles = append(c.handles, words[1])
	default:
		c.t.Errorf("the child says %q", line)
	}
}

// check expects every acknowledged step once, the one that was under way once or not at all, and
// nothing else; then repeats what was not answered, twice.
func (c *crashed) check(e *Engine) {
	c.t.Helper()
	for _, handle := range c.handles {
		if _, ok := e.Identity().AgentByHandle(handle); !ok {
			c.t.Errorf("the acknowledged agent %s is lost", handle)
		}
	}
	projects, owner := crashParts(c.t, e)
	if len(projects) != 3 {
		c.t.Fatalf("%d projects, want 3", len(projects))
	}
	before := c.contents(e, projects)
	for worker, next := range c.next {
		for step := range next + 2 {
			count, want := before.of(worker, step), 1
			if step == next && count == 0 || step > next {
				want = 0
			}
			if count != want {
				c.t.Errorf("worker %d has step %d of %d %d times", worker, step, next, count)
			}
		}
		var results [2]api.Done
		for i := range results {
			done, err := crashDo(e, projects, owner, worker, next)
			if err != nil {
				c.t.Fatal(err)
			}
			results[i] = done
		}
		if results[0].Result != results[1].Result || !results[1].Replayed ||
			results[0].Replayed != (before.of(worker, next) == 1) {
			c.t.Errorf("worker %d: repeats of step %d lead to %+v", worker, next, results)
		}
		c.next[worker]++
	}
	after := c.contents(e, projects)
	for worker, next := range c.next {
		if count := after.of(worker, next-1); count != 1 {
			c.t.Errorf("worker %d has its repeated step %d times", worker, count)
		}
	}
}

// crashContents counts the changesets that brought a content.
type crashContents map[work.Hash]int

// of counts a step; one that is there by half counts as -1.
func (c crashContents) of(worker, step int) int {
	name := fmt.Sprintf("%d-%d", worker, step)
	if step%3 > 0 {
		return c[blobOf(name).Hash]
	}
	a, b := c[blobOf("a "+name).Hash], c[blobOf("b "+name).Hash]
	if a != b {
		return -1
	}
	return a
}

// contents reads the whole history, and every content that it names.
func (c *crashed) contents(e *Engine, projects []id.ID) crashContents {
	c.t.Helper()
	counts := crashContents{}
	for _, project := range projects {
		p := viewOf(c.t, e, project)
		for sequence := range p.ChangesetsCount() {
			for _, op := range p.ChangesetNumber(uint32(sequence + 1)).Ops {
				counts[op.Blob]++
				content, err := e.Blob(op.Blob)
				if err != nil || blobOf(string(content)).Hash != op.Blob {
					c.t.Errorf("the content of %s is lost: %v", *op.Path, err)
				}
			}
		}
	}
	return counts
}
