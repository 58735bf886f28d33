package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pws/bench/child"
	rest "pws/bench/client"
)

// memoryLoad is a load on a server with a ceiling of memory.
type memoryLoad struct {
	// memory is the value of --memory, ceiling the same in bytes.
	memory  string
	ceiling int64
	// handoffs have handoffChars characters each, tasks taskChars.
	handoffs, handoffChars int
	tasks, taskChars       int
	// messages are changesets with long messages, discussions have a long comment each.
	messages, discussions int
	// projects are touched in turn, rounds times.
	projects, rounds int
	// unread is how many large answers are not read meanwhile.
	unread int
	// within bounds the time of all.
	within time.Duration
}

// TestMemoryStaysBelowItsCeiling runs the program with --memory under loads that write and keep
// large texts, touch many projects and leave large answers unread. The most that was ever resident
// stays below the ceiling, also AFTER kill -9, and nothing acknowledged is lost. With PWS_CUT_ALL
// the loads are many times larger than the ceiling.
func TestMemoryStaysBelowItsCeiling(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the service for seconds")
	}
	loads := []memoryLoad{{
		memory: "256MiB", ceiling: 256 << 20, handoffs: 60, handoffChars: 1_800_000,
		tasks: 400, taskChars: 100_000, projects: 60, rounds: 2, unread: 6, within: time.Minute,
	}}
	if os.Getenv("PWS_CUT_ALL") != "" {
		loads = []memoryLoad{
			{
				memory: "512MiB", ceiling: 512 << 20, handoffs: 200, handoffChars: 1_800_000,
				tasks: 1500, taskChars: 100_000, projects: 2000, rounds: 3, unread: 40,
				within: 10 * time.Minute,
			},
			{
				memory: "1GiB", ceiling: 1 << 30, handoffs: 400, handoffChars: 1_800_000,
				tasks: 3000, taskChars: 100_000, projects: 2000, rounds: 3, unread: 60,
				within: 10 * time.Minute,
			},
		}
	}
	for _, load := range loads {
		t.Run(load.memory, func(t *testing.T) { newMemoryRun(t, load).run() })
	}
}

// memoryRun is one run of a load.
type memoryRun struct {
	memoryLoad
	t       *testing.T
	ctx     context.Context
	data    string
	process *child.Process
	host    string
	// credential is the session of the agent that owns everything.
	credential string
	peak       int64
	refused    atomic.Int64
	// strangers counts the agents that worked beside a load.
	strangers int
	// killAt is how many acknowledged texts make the server be killed, 0 for none.
	killAt atomic.Int64
	mu     struct {
		sync.Mutex
		// written are the acknowledged handoffs and tasks: the path of each leads to the text that it
		// begins with.
		written map[string]string
		// described leads to the beginnings of the descriptions of tasks.
		described map[string]string
		unread    []net.Conn
	}
}

func newMemoryRun(t *testing.T, load memoryLoad) *memoryRun {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), load.within)
	t.Cleanup(cancel)
	r := &memoryRun{memoryLoad: load, t: t, ctx: ctx, data: filepath.Join(t.TempDir(), "data")}
	r.mu.written, r.mu.described = map[string]string{}, map[string]string{}
	return r
}

// begin starts the server and registers the owner.
func (r *memoryRun) begin() {
	r.start()
	owner, err := rest.New(r.process.URL)
	r.must(err)
	r.must(owner.Register("owner"))
	r.credential = owner.Credential
	owner.Close()
}

// check reads all texts AFTER kill -9 and compares the peak with the ceiling.
func (r *memoryRun) check() {
	r.kill()
	r.start()
	r.measured("all texts are read", r.readAll)
	if r.peak > r.ceiling {
		r.t.Errorf("%d MiB were resident, more than %s", r.peak>>20, r.memory)
	}
}

func (r *memoryRun) run() {
	r.begin()
	defer r.kill()
	projects := r.createProjects(max(4, r.handoffs/24+r.tasks/400))
	r.measured("handoffs", func() { r.writeHandoffs(projects, 0, r.handoffs/2) })
	r.leaveUnread(projects)
	r.measured("handoffs with unread answers", func() {
		r.writeHandoffs(projects, r.handoffs/2, r.handoffs)
	})
	r.measured("tasks until the kill", func() {
		r.killAt.Store(int64(r.handoffs + r.tasks/4))
		r.writeTasks(projects, 0, r.tasks/2)
		r.kill()
		r.killAt.Store(0)
		r.start()
	})
	r.measured("tasks after the kill", func() { r.writeTasks(projects, r.tasks/2, r.tasks) })
	r.measured("tasks are changed and claimed", r.changeTasks)
	r.measured("tasks are listed", func() { r.listTasks(projects) })
	r.leaveUnread(projects)
	r.measured("projects", func() { r.besideStranger(r.touchProjects) })
	r.check()
}

func (r *memoryRun) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *memoryRun) start() {
	process, err := child.Start(r.ctx, patience, child.Program{
		Path: "pws", Args: []string{
			"serve", "--listen", "127.0.0.1:0", "--data", r.data, "--memory", r.memory,
			"--rate-limits", "off", "--agent-stored-bytes", "0", "--agent-hour-bytes", "0",
			"--project-stored-bytes", "0",
		},
	})
	r.must(err)
	r.process = process
	r.host, err = rest.HostOf(process.URL)
	r.must(err)
}

// kill ends the server as kill -9 does, AFTER its peak was read.
func (r *memoryRun) kill() {
	r.mu.Lock()
	for _, one := range r.mu.unread {
		_ = one.Close()
	}
	r.mu.unread = nil
	r.mu.Unlock()
	r.notePeak()
	r.process.Kill()
}

func (r *memoryRun) notePeak() int64 {
	usage, err := child.ReadUsage(r.process.PID())
	if err == nil {
		r.peak = max(r.peak, usage.PeakBytes)
	}
	return usage.PeakBytes
}

func (r *memoryRun) measured(name string, do func()) {
	began, refused := time.Now(), r.refused.Load()
	do()
	r.t.Logf("%-30s %6.1f s, peak %4d MiB, %d refused", name, time.Since(began).Seconds(),
		r.notePeak()>>20, r.refused.Load()-refused)
}

// memoryWorkers send requests at the same time.
const memoryWorkers = 4

// each calls do for [from, to) by some workers, each with a connection of its own.
func (r *memoryRun) each(from, to int, do func(api *rest.API, nth int) error) {
	var next atomic.Int64
	next.Store(int64(from))
	var failed atomic.Pointer[error]
	var workers sync.WaitGroup
	for range memoryWorkers {
		workers.Go(func() {
			api := &rest.API{Host: r.host, Credential: r.credential}
			defer api.Close()
			for failed.Load() == nil {
				nth := int(next.Add(1)) - 1
				if nth >= to {
					return
				}
				err := r.untilAccepted(func() error { return do(api, nth) })
				if err != nil && r.wasKilled() {
					return
				}
				if err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	workers.Wait()
	if err := failed.Load(); err != nil {
		r.t.Fatal(*err)
	}
}

// untilAccepted repeats a request that the server has no room for.
func (r *memoryRun) untilAccepted(do func() error) error {
	for {
		err := do()
		var failure *rest.Failure
		if !errors.As(err, &failure) || failure.Code != "RATE_LIMITED" {
			return err
		}
		r.refused.Add(1)
		var details struct {
			Seconds int `json:"retry_after_seconds"`
		}
		if err := json.Unmarshal(failure.Details, &details); err != nil {
			return err
		}
		timer := time.NewTimer(time.Duration(cmp.Or(details.Seconds, 1)) * time.Second / 4)
		select {
		case <-timer.C:
		case <-r.ctx.Done():
			timer.Stop()
			return fmt.Errorf("no room within %v: %w", r.within, err)
		}
	}
}

func (r *memoryRun) createProjects(count int) []string {
	projects := make([]string, count)
	r.each(0, count, func(api *rest.API, nth int) error {
		made, err := api.CreateProject(fmt.Sprint("project ", nth))
		projects[nth] = made.ID
		return err
	})
	return projects
}

// memoryText is a text that does not compress.
func memoryText(seed, chars int) string {
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	raw := make([]byte, chars*3/4+3)
	_, _ = random.Read(raw)
	return base64.RawURLEncoding.EncodeToString(raw)[:chars]
}

// pieces cuts a text into items of a size.
func pieces(text string, size int) (items []string) {
	for ; len(text) > size; text = text[size:] {
		items = append(items, text[:size])
	}
	return append(items, text)
}

// keep notes that the text at a path is acknowledged. It kills the server when it is time.
func (r *memoryRun) keep(path, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.written[path] = text
	if int64(len(r.mu.written)) == r.killAt.Load() {
		r.notePeak()
		r.process.Kill()
	}
}

// wasKilled reports whether enough was acknowledged for the server to be killed.
func (r *memoryRun) wasKilled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.killAt.Load()
	return at > 0 && int64(len(r.mu.written)) >= at
}

// handoffLists are the members of a handoff that are lists of texts.
var handoffLists = []string{
	"completed_work", "blockers", "assumptions", "dependencies", "open_questions", "next_actions",
	"residual_risks", "decisions", "failed_approaches",
}

const handoffItems = 100

func (r *memoryRun) writeHandoffs(projects []string, from, to int) {
	r.each(from, to, func(api *rest.API, nth int) error {
		path := "/api/v1/projects/" + projects[nth%len(projects)] + "/handoffs"
		text := memoryText(nth, r.handoffChars)
		body := map[string]any{"summary": fmt.Sprint("handoff ", nth)}
		items := pieces(text, max(1, r.handoffChars/len(handoffLists)/handoffItems))
		for i, name := range handoffLists {
			body[name] = items[i*handoffItems : (i+1)*handoffItems]
		}
		var made struct {
			Handoff struct {
				ID string `json:"id"`
			} `json:"handoff"`
		}
		_, err := api.Post(path, rest.RandomKey(), body, &made)
		if err == nil {
			r.keep(path+"/"+made.Handoff.ID, text[:1000])
		}
		return err
	})
}

func (r *memoryRun) writeTasks(projects []string, from, to int) {
	r.each(from, to, func(api *rest.API, nth int) error {
		path := "/api/v1/projects/" + projects[nth%len(projects)] + "/tasks"
		text := memoryText(1<<20+nth, r.taskChars)
		var made struct {
			Task struct {
				ID string `json:"id"`
			} `json:"task"`
		}
		_, err := api.Post(path, rest.RandomKey(), map[string]any{
			"title": fmt.Sprint("task ", nth), "completion_conditions": pieces(text, 2000),
		}, &made)
		if err == nil {
			r.keep("/api/v1/tasks/"+made.Task.ID, text[:1000])
		}
		return err
	})
}

// changeTasks claims each task, replaces most of its long texts and releases it.
func (r *memoryRun) changeTasks() {
	const tasks = "/api/v1/tasks/"
	var paths []string
	for path := range r.mu.written {
		if strings.HasPrefix(path, tasks) {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		r.t.Fatal("no task was written")
	}
	r.each(0, len(paths), func(api *rest.API, nth int) error {
		path, text := paths[nth], memoryText(3<<20+nth, 18_000)
		_, err := api.Post(path+"/claim", fmt.Sprint("claim-", nth), struct{}{}, nil)
		if err != nil {
			return err
		}
		body, err := rest.EncodeJSON(map[string]any{
			"description": text[:10_000], "expected_output": text[10_000:14_000],
			"status": "BLOCKED", "blocked": map[string]any{
				"kind": "TRANSIENT", "reason": text[14_000:],
			},
		})
		if err == nil {
			_, err = api.Call(rest.Request{Method: "PATCH", Path: path, Body: body}, nil)
		}
		if err == nil {
			_, err = api.Post(path+"/release", fmt.Sprint("release-", nth), struct{}{}, nil)
		}
		if err == nil {
			r.mu.Lock()
			r.mu.described[path] = text[:1000]
			r.mu.Unlock()
		}
		return err
	})
}

// listTasks reads all pages of the tasks of each project.
func (r *memoryRun) listTasks(projects []string) {
	var listed atomic.Int64
	r.each(0, len(projects), func(api *rest.API, nth int) error {
		path, cursor := "/api/v1/projects/"+projects[nth]+"/tasks?limit=100", ""
		for {
			var page struct {
				Tasks  []json.RawMessage `json:"tasks"`
				Cursor *string           `json:"next_cursor"`
			}
			err := r.untilAccepted(func() error { return api.Get(path+cursor, &page) })
			if err != nil {
				return err
			}
			listed.Add(int64(len(page.Tasks)))
			if page.Cursor == nil {
				return nil
			}
			cursor = "&cursor=" + *page.Cursor
		}
	})
	if count := listed.Load(); count < int64(len(r.mu.described)) {
		r.t.Errorf("%d tasks are listed, %d were written", count, len(r.mu.described))
	}
}

// touchProjects creates projects and writes to one after the other, in turn.
func (r *memoryRun) touchProjects() {
	projects := r.createProjects(r.projects)
	for round := range r.rounds {
		r.each(0, len(projects), func(api *rest.API, nth int) error {
			path := "/api/v1/projects/" + projects[nth] + "/files/" + fmt.Sprint(round)
			text := memoryText(2<<20+nth+round, 5000)
			body, err := rest.EncodeJSON(map[string]string{"content": text})
			if err != nil {
				return err
			}
			_, err = api.Call(rest.Request{Method: "PUT", Path: path, Body: body}, nil)
			if err == nil {
				r.keep(path, text[:1000])
			}
			return err
		})
	}
}

// leaveUnread asks for large answers on connections that are not read.
func (r *memoryRun) leaveUnread(projects []string) {
	for nth := range r.unread {
		conn, err := net.Dial("tcp", r.host)
		r.must(err)
		path := "/api/v1/projects/" + projects[nth%len(projects)] + "/handoffs?limit=100"
		if nth%2 > 0 {
			path = "/api/v1/projects/" + projects[nth%len(projects)] + "/resume?detail=full"
		}
		request := rest.Request{
			Method: "GET", Path: path, Host: r.host, Credential: r.credential,
		}
		_, err = conn.Write(request.Append(nil))
		r.must(err)
		r.mu.Lock()
		r.mu.unread = append(r.mu.unread, conn)
		r.mu.Unlock()
	}
}

// readAll reads everything that was acknowledged.
func (r *memoryRun) readAll() {
	paths := make([]string, 0, len(r.mu.written))
	for path := range r.mu.written {
		paths = append(paths, path)
	}
	r.each(0, len(paths), func(api *rest.API, nth int) error {
		var data json.RawMessage
		if err := api.Get(paths[nth], &data); err != nil {
			return fmt.Errorf("%s: %w", paths[nth], err)
		}
		joined := strings.ReplaceAll(string(data), `","`, "")
		if !strings.Contains(joined, r.mu.written[paths[nth]]) ||
			!strings.Contains(joined, r.mu.described[paths[nth]]) {
			return fmt.Errorf("%s has lost its text", paths[nth])
		}
		return nil
	})
}
