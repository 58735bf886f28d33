package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// registerCall is what is done with a file: read, written, or written where it has a content.
type registerCall struct {
	file     int
	reads    bool
	expected string
	content  string
	// etag stands for the expected content.
	etag string
}

// registerResult is what a call has found. Of an unknown one nothing is known.
type registerResult struct {
	content string
	etag    string
	moved   bool
	unknown bool
}

// history is what was done with files.
type history []porcupine.Operation

// registers is the model of files: each is a register.
var registers = porcupine.Model{
	Partition: func(all []porcupine.Operation) (parts [][]porcupine.Operation) {
		parts = make([][]porcupine.Operation, nemesisFiles)
		for _, one := range all {
			file := one.Input.(registerCall).file
			parts[file] = append(parts[file], one)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		content, call, got := state.(string), input.(registerCall), output.(registerResult)
		switch {
		case call.reads:
			return got.content == content, content
		case call.expected == "":
			return true, call.content
		case got.unknown && content == call.expected:
			return true, call.content
		case got.unknown:
			return true, content
		case got.moved:
			return content != call.expected, content
		}
		return content == call.expected, call.content
	},
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%+v: %+v", input, output)
	},
}

// nemesisFiles is the number of files.
const nemesisFiles = 6

// useFiles reads and writes files until the end.
func (n *nemesis) useFiles(random *rand.Rand) {
	last := make([]registerResult, nemesisFiles)
	for count := 0; ; count++ {
		select {
		case <-n.over:
			return
		default:
		}
		call := registerCall{file: random.IntN(nemesisFiles), reads: random.IntN(2) == 0}
		key := ""
		if !call.reads {
			call.content = fmt.Sprintf("%d-%x", count, random.Uint64())
			if random.IntN(3) == 0 {
				call.expected, call.etag = last[call.file].content, last[call.file].etag
			}
			if random.IntN(4) > 0 {
				key = "file-" + call.content
			}
		}
		begun := n.now()
		result, effect := n.useFile(random, call, key)
		if !effect {
			continue
		}
		ended := n.now()
		if result.unknown {
			ended = math.MaxInt64
		}
		if call.reads {
			last[call.file] = result
		}
		n.mu.Lock()
		n.mu.history = append(n.mu.history, porcupine.Operation{
			Input: call, Output: result, Call: int64(begun), Return: int64(ended),
		})
		n.mu.Unlock()
	}
}

// useFile carries out a call. One with a key is repeated until its outcome is known, or all is
// over. It reports false for one without effect.
func (n *nemesis) useFile(
	random *rand.Rand, call registerCall, key string,
) (result registerResult, effect bool) {
	path := fmt.Sprintf("projects/%s/files/f%d", n.project, call.file)
	for attempt := 0; ; attempt++ {
		if call.reads {
			got := n.send(random, 0, "GET", path, nil)
			return contentOf(got)
		}
		var headers []string
		if key != "" {
			headers = append(headers, "Idempotency-Key", key)
		}
		if call.etag != "" {
			headers = append(headers, "If-Match", call.etag)
		}
		body := map[string]string{"content": call.content}
		got := n.send(random, 0, "PUT", path, body, headers...)
		code, _ := got.fault()
		switch {
		case got.status == 200 || got.status == 201:
			return result, true
		case code == "PRECONDITION_FAILED":
			return registerResult{moved: true}, true
		case got.refused() && attempt == 0:
			return result, false
		case !got.refused() && !got.unknown():
			n.problem("PUT %s: %d %s", path, got.status, got.body)
			return result, false
		case key == "" || n.ended():
			return registerResult{unknown: true}, true
		}
	}
}

// ended reports whether all is over for a while: whoever waits for an outcome gives up.
func (n *nemesis) ended() bool {
	select {
	case <-n.over:
		return true
	default:
		return false
	}
}

// contentOf reads an answer with a file. A file that is not there is empty.
func contentOf(got answered) (result registerResult, effect bool) {
	var said struct {
		Data struct{ File struct{ Content string } }
	}
	switch err := json.Unmarshal(got.body, &said); {
	case got.status == 404:
		return result, true
	case got.status != 200 || err != nil:
		return result, false
	}
	return registerResult{content: said.Data.File.Content, etag: got.etag}, true
}

// useTasks creates tasks, and has two agents claim each at the same time.
func (n *nemesis) useTasks(worker uint64, random *rand.Rand) {
	for count := 0; !n.ended(); count++ {
		title := fmt.Sprintf("task %d-%d", worker, count)
		got := n.insist(random, 0, "projects/"+n.project+"/tasks", map[string]string{"title": title})
		var said struct {
			Data struct{ Task struct{ ID string } }
		}
		if got.status != 201 || json.Unmarshal(got.body, &said) != nil {
			n.problem("%s: %d %s", title, got.status, got.body)
			return
		}
		n.mu.Lock()
		n.mu.tasks = append(n.mu.tasks, title)
		n.mu.Unlock()
		won := make(chan int, 2)
		for agent := range 2 {
			own := rand.New(rand.NewPCG(random.Uint64(), 1))
			go func() {
				got := n.insist(own, agent, "tasks/"+said.Data.Task.ID+"/claim", map[string]string{})
				won <- got.status
			}()
		}
		statuses := []int{<-won, <-won}
		if slices.Sort(statuses); statuses[0]/100 != 2 || statuses[1] != 409 {
			n.problem("two claims of %s: %v", title, statuses)
		}
	}
}

// insist repeats a write with one key until its outcome is known.
func (n *nemesis) insist(random *rand.Rand, agent int, path string, body any) (got answered) {
	key := fmt.Sprintf("insist-%x", random.Uint64())
	for end := time.Now().Add(2 * hangMax); time.Now().Before(end); {
		got = n.send(random, agent, "POST", path, body, "Idempotency-Key", key)
		if !got.refused() && !got.unknown() {
			return got
		}
	}
	return got
}

// check expects what the servers have agreed on to be what they have answered.
func (n *nemesis) check() error {
	n.mu.Lock()
	all, tasks, problems := n.mu.history, n.mu.tasks, n.mu.problems
	n.mu.Unlock()
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n"))
	}
	n.ts.Logf("%d calls of files, %d tasks", len(all), len(tasks))
	if len(all) < 20 || len(tasks) < 2 {
		return errors.New("too little was done")
	}
	result, info := porcupine.CheckOperationsVerbose(registers, all, time.Minute)
	if result != porcupine.Ok {
		name := filepath.Join(n.s.work, "history.html")
		return errors.Join(fmt.Errorf("the history is %v; see %s", result, name),
			porcupine.VisualizePath(registers, info, name))
	}
	slices.Sort(tasks)
	var files []string
	for number, m := range n.s.members {
		n.mu.Lock()
		n.mu.addresses = map[uint64]string{number: m.running.address}
		n.mu.Unlock()
		found, contents, err := n.everything()
		if err != nil {
			return fmt.Errorf("member %d: %w", number, err)
		}
		if files == nil {
			files = contents
		}
		if !slices.Equal(found, tasks) {
			return fmt.Errorf("member %d has tasks %q, and %q were created", number, found, tasks)
		}
		if !slices.Equal(contents, files) {
			return fmt.Errorf("member %d has files %q, another one %q", number, contents, files)
		}
	}
	return nil
}

// everything reads all tasks, by title, and all files from the member that is asked.
func (n *nemesis) everything() (tasks, files []string, err error) {
	random := rand.New(rand.NewPCG(1, 1))
	for cursor := ""; ; {
		got := n.send(random, 0, "GET",
			"projects/"+n.project+"/tasks?limit=200"+cursor, nil)
		var said struct {
			Data struct {
				Tasks      []struct{ Title string }
				NextCursor *string `json:"next_cursor"`
			}
		}
		if err := json.Unmarshal(got.body, &said); err != nil || got.status != 200 {
			return nil, nil, fmt.Errorf("%d %s %v", got.status, got.body, err)
		}
		for _, one := range said.Data.Tasks {
			tasks = append(tasks, one.Title)
		}
		if said.Data.NextCursor == nil {
			break
		}
		cursor = "&cursor=" + *said.Data.NextCursor
	}
	for file := range nemesisFiles {
		got := n.send(random, 0, "GET", fmt.Sprintf("projects/%s/files/f%d", n.project, file), nil)
		result, ok := contentOf(got)
		if !ok {
			return nil, nil, fmt.Errorf("%d %s", got.status, got.body)
		}
		files = append(files, result.content)
	}
	slices.Sort(tasks)
	return tasks, files, nil
}
