package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	rest "pws/bench/client"
)

const (
	messageChars = 4000
	bodyChars    = 20_000
)

// writeMessages publishes changesets with long messages.
func (r *memoryRun) writeMessages(projects []string) {
	r.each(0, r.messages, func(api *rest.API, nth int) error {
		project := "/api/v1/projects/" + projects[nth%len(projects)]
		text := memoryText(4<<20+nth, messageChars)
		body, err := rest.EncodeJSON(map[string]string{
			"content": fmt.Sprint("content ", nth), "message": text,
		})
		if err != nil {
			return err
		}
		var made struct {
			Changeset struct {
				ID string `json:"id"`
			} `json:"changeset"`
		}
		_, err = api.Call(rest.Request{
			Method: "PUT", Path: fmt.Sprint(project, "/files/", nth%100), Body: body,
		}, &made)
		if err == nil {
			r.keep(project+"/changesets/"+made.Changeset.ID, text[:1000])
		}
		return err
	})
}

// writeDiscussions opens long discussions, each with a long comment.
func (r *memoryRun) writeDiscussions(projects []string) {
	r.each(0, r.discussions, func(api *rest.API, nth int) error {
		text := memoryText(5<<20+nth, 2*bodyChars)
		var made struct {
			Discussion struct {
				ID string `json:"id"`
			} `json:"discussion"`
		}
		_, err := api.Post("/api/v1/projects/"+projects[nth%len(projects)]+"/discussions",
			fmt.Sprint("discussion-", nth), map[string]any{
				"title": fmt.Sprint("discussion ", nth), "body": text[:bodyChars],
			}, &made)
		if err != nil {
			return err
		}
		path := "/api/v1/discussions/" + made.Discussion.ID
		_, err = api.Post(path+"/comments", fmt.Sprint("comment-", nth), map[string]any{
			"body": text[bodyChars:],
		}, nil)
		if err == nil {
			r.keep(path, text[bodyChars:bodyChars+1000])
		}
		return err
	})
}

// besideStranger calls do while another agent creates a project, writes files and reads them, all
// the time. None of its requests is refused.
func (r *memoryRun) besideStranger(do func()) {
	r.t.Helper()
	r.strangers++
	stranger, err := rest.New(r.process.URL)
	r.must(err)
	defer stranger.Close()
	r.must(stranger.Register(fmt.Sprint("stranger-", r.strangers)))
	project, err := stranger.CreateProject("small")
	r.must(err)
	over := make(chan struct{})
	var all sync.WaitGroup
	var writes int
	var slowest time.Duration
	var refusals []error
	all.Go(func() {
		path := "/api/v1/projects/" + project.ID + "/files/f"
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			began, body := time.Now(), fmt.Appendf(nil, `{"content":"%d"}`, writes)
			_, err := stranger.Call(rest.Request{Method: "PUT", Path: path, Body: body}, nil)
			if err == nil {
				err = stranger.Get(path, nil)
			}
			var failure *rest.Failure
			if errors.As(err, &failure) {
				refusals = append(refusals, err)
			} else if err != nil {
				refusals = append(refusals, err)
				return
			}
			writes, slowest = writes+1, max(slowest, time.Since(began))
		}
	})
	do()
	close(over)
	all.Wait()
	r.t.Logf("a stranger has written and read %d times beside it, %d refused, at most %.1f s",
		writes, len(refusals), slowest.Seconds())
	if len(refusals) > 0 || writes == 0 {
		r.t.Errorf("%d of %d writes of a stranger failed, the first: %v", len(refusals), writes,
			errors.Join(refusals[:min(1, len(refusals))]...))
	}
}

// TestMemoryOfMessagesAndDiscussions has an owner write long messages of changesets and long
// discussions. The most that was ever resident stays below the ceiling, nothing acknowledged is
// lost, also AFTER kill -9, and no request of a stranger is refused. With PWS_CUT_ALL the texts are
// as large as the projects' share of the memory, or larger.
func TestMemoryOfMessagesAndDiscussions(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the service for seconds")
	}
	load := memoryLoad{
		memory: "256MiB", ceiling: 256 << 20, messages: 6000, discussions: 1500,
		within: time.Minute,
	}
	if os.Getenv("PWS_CUT_ALL") != "" {
		load = memoryLoad{
			memory: "512MiB", ceiling: 512 << 20, messages: 36_000, discussions: 4000,
			within: 10 * time.Minute,
		}
	}
	r := newMemoryRun(t, load)
	r.begin()
	defer r.kill()
	projects := r.createProjects(8)
	r.measured("messages of changesets", func() {
		r.besideStranger(func() { r.writeMessages(projects) })
	})
	r.measured("discussions and comments", func() {
		r.besideStranger(func() { r.writeDiscussions(projects) })
	})
	r.check()
}
