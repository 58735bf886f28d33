package main

import (
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pws/bench/child"
	rest "pws/bench/client"
)

// webBench is a server with a person who looks at its pages.
type webBench struct {
	b         *testing.B
	url       string
	ada, bee  *rest.API
	browser   *nethttp.Client
	published int
}

func newWebBench(b *testing.B) *webBench {
	b.Helper()
	process, err := child.Start(context.Background(), patience, child.Program{
		Path: "pws", Args: []string{
			"serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(b.TempDir(), "data"),
			"--rate-limits", "off",
			"--project-stored-bytes", "0", "--agent-stored-bytes", "0", "--agent-hour-bytes", "0",
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(process.Kill)
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.Fatal(err)
	}
	w := &webBench{
		b: b, url: process.URL, browser: &nethttp.Client{Jar: jar, Timeout: patience},
	}
	for handle, agent := range map[string]**rest.API{"ada": &w.ada, "bee": &w.bee} {
		made, err := rest.New(process.URL)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(made.Close)
		*agent = made
		w.must(made.Register(handle))
	}
	w.signIn()
	return w
}

func (w *webBench) must(err error) {
	w.b.Helper()
	if err != nil {
		w.b.Fatal(err)
	}
}

// signIn opens a session of the browser by a code.
func (w *webBench) signIn() {
	var code struct {
		URL string `json:"url"`
	}
	w.post(w.ada, "auth/web-codes", nil, &code)
	_, text, _ := strings.Cut(code.URL, "#")
	request, err := nethttp.NewRequest("POST", w.url+"/ui/login", strings.NewReader(
		url.Values{"code": {text}, "confirmed": {"yes"}}.Encode()))
	w.must(err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", w.url)
	answer, err := w.browser.Do(request)
	w.must(err)
	w.must(answer.Body.Close())
	if answer.StatusCode != 200 {
		w.b.Fatalf("sign-in: %d", answer.StatusCode)
	}
}

func (w *webBench) post(agent *rest.API, path string, body, into any) {
	w.b.Helper()
	request := rest.Request{
		Method: "POST", Path: "/api/v1/" + path, IdempotencyKey: rest.RandomKey(),
	}
	if body != nil {
		text, err := rest.EncodeJSON(body)
		w.must(err)
		request.Body = text
	}
	_, err := agent.Call(request, into)
	w.must(err)
}

// put writes a file of a project or of a workspace.
func (w *webBench) put(agent *rest.API, path string) {
	w.b.Helper()
	w.published++
	body, err := rest.EncodeJSON(map[string]any{"content": fmt.Sprintf("%d\n", w.published)})
	w.must(err)
	_, err = agent.Call(rest.Request{Method: "PUT", Path: "/api/v1/" + path, Body: body}, nil)
	w.must(err)
}

// tasks makes a held task and a blocked one.
func (w *webBench) tasks(project string) {
	var made struct {
		Task struct {
			ID string `json:"id"`
		} `json:"task"`
	}
	w.post(w.ada, "projects/"+project+"/tasks", map[string]any{"title": "A held task"}, &made)
	w.post(w.ada, "tasks/"+made.Task.ID+"/claim", nil, nil)
	w.post(w.ada, "projects/"+project+"/tasks", map[string]any{"title": "A stuck task"}, &made)
	body, err := rest.EncodeJSON(map[string]any{
		"status": "BLOCKED", "blocked": map[string]any{"kind": "NEEDS_INPUT", "reason": "Which?"},
	})
	w.must(err)
	_, err = w.ada.Call(rest.Request{
		Method: "PATCH", Path: "/api/v1/tasks/" + made.Task.ID, Body: body,
	}, nil)
	w.must(err)
}

// contribute submits a contribution to a public project.
func (w *webBench) contribute(project string) {
	var made struct {
		Workspace struct {
			ID string `json:"id"`
		} `json:"workspace"`
	}
	w.post(w.bee, "projects/"+project+"/workspaces", nil, &made)
	w.put(w.bee, "workspaces/"+made.Workspace.ID+"/files/a.txt")
	w.post(w.bee, "workspaces/"+made.Workspace.ID+"/submit",
		map[string]any{"summary": "An improvement"}, nil)
}

// look measures how long a page takes. Half of the visits take no longer than p50-ms.
func (w *webBench) look(b *testing.B, path, wanted string) {
	pattern, took := regexp.MustCompile(wanted), make([]time.Duration, 0, 1000)
	size := 0
	for b.Loop() {
		began := time.Now()
		answer, err := w.browser.Get(w.url + path)
		w.must(err)
		page, err := io.ReadAll(answer.Body)
		took = append(took, time.Since(began))
		w.must(err)
		w.must(answer.Body.Close())
		if answer.StatusCode != 200 || !pattern.Match(page) {
			b.Fatalf("%s: %d %s", path, answer.StatusCode, page)
		}
		size = len(page)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(size), "bytes")
}

// BenchmarkPages measures pages of a person with 500 projects, of which every fifth has tasks and
// every tenth a contribution that waits.
func BenchmarkPages(b *testing.B) {
	w := newWebBench(b)
	project := ""
	for nth := range 500 {
		made, err := w.ada.CreatePublicProject(fmt.Sprintf("Project %d", nth))
		w.must(err)
		if project = made.ID; nth%5 == 0 {
			w.tasks(project)
		}
		if nth%10 == 0 && nth < 200 {
			w.contribute(project)
		}
	}
	for _, page := range [][2]string{
		{"/ui/", `9&#43;<span class="hidden"> waiting(?s:.)*A held task`},
		{"/ui/review", "An improvement"}, {"/ui/projects", "Project 499"},
		{"/ui/p/" + project, "Changesets of 14 days"},
	} {
		b.Run("path="+strings.Replace(page[0], project, "ID", 1), func(b *testing.B) {
			w.look(b, page[0], page[1])
		})
	}
}

// BenchmarkLongHistory measures pages of a project with 10,000 changesets.
func BenchmarkLongHistory(b *testing.B) {
	w := newWebBench(b)
	made, err := w.ada.CreatePublicProject("Old")
	w.must(err)
	for nth := range 10_000 {
		w.put(w.ada, fmt.Sprintf("projects/%s/files/f%d.txt", made.ID, nth%100))
	}
	for _, page := range [][2]string{
		{"/ui/p/" + made.ID, "10001 changesets"}, {"/ui/p/" + made.ID + "/log", "rel=.next"},
		{"/ui/p/" + made.ID + "/provenance", "10001"}, {"/ui/", "Old"},
	} {
		b.Run("path="+strings.Replace(page[0], made.ID, "ID", 1), func(b *testing.B) {
			w.look(b, page[0], page[1])
		})
	}
}
