package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"pws/internal/fault"
)

// nemesisWorld is a project with the objects that all clients use at a time. Another one follows,
// so that the history of an object stays short enough to be checked.
type nemesisWorld struct {
	project    string
	files      []string
	tasks      []string
	discussion string
	// comments counts those that were sent; there are at most nemesisCommentsMax.
	comments atomic.Int64
}

const (
	// nemesisCommentsMax is less than what one page shows.
	nemesisCommentsMax = 90
	// nemesisRepeatMax bounds the repeats of a request.
	nemesisRepeatMax = 10 * time.Second
)

// nemesisWorker is a client that does one thing AFTER another.
type nemesisWorker struct {
	*nemesisClient
	load   *nemesisLoad
	number int
	// agent is the ID of the agent, random belongs to this worker alone.
	agent  string
	random *rand.Rand
	serial int
	// seen has of each file what was read last, held the fencing tokens of the claims, version the
	// version of the state.
	seen    map[string]nemesisFile
	held    map[string]uint64
	version uint64
}

// nemesisFile is a file as it was read: its ETag is the changeset that has changed it.
type nemesisFile struct{ content, etag string }

// run works until the context ends.
func (w *nemesisWorker) run(ctx context.Context) {
	defer w.http.CloseIdleConnections()
	var world *nemesisWorld
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(2+w.random.IntN(14)) * time.Millisecond):
		}
		if now := w.load.world.Load(); now != world {
			world = now
			w.seen, w.held, w.version = map[string]nemesisFile{}, map[string]uint64{}, 1
		}
		w.step(world)
	}
}

// step does one thing.
func (w *nemesisWorker) step(world *nemesisWorld) {
	file := world.files[w.random.IntN(len(world.files))]
	task := world.tasks[w.random.IntN(len(world.tasks))]
	mcp := w.random.IntN(4) == 0
	switch w.random.IntN(16) {
	case 0, 1, 2:
		w.readFile(w.anyHost(), world, file, mcp)
	case 3, 4:
		w.writeFile(world, file, mcp)
	case 5, 6:
		w.replaceFile(world, file)
	case 7:
		w.editFile(world, file, mcp)
	case 8:
		w.readState(w.anyHost(), world)
	case 9, 10:
		w.writeState(world)
	case 11, 12:
		if token, held := w.held[task]; held {
			w.release(task, token, mcp)
		} else {
			w.claim(task, mcp)
		}
	case 13:
		w.readTask(w.anyHost(), task)
	case 14:
		w.comment(world)
	case 15:
		w.readComments(w.anyHost(), world)
	}
}

func (w *nemesisWorker) anyHost() string { return w.load.group.host(w.random.IntN(60)) }

// name is a text that no other write has.
func (w *nemesisWorker) name() string {
	w.serial++
	return fmt.Sprintf("w%d-%d", w.number, w.serial)
}

// write sends a request and records it. codes are those of refusals that say that the object is not
// as the client expects. number finds the number in an answer. One of unknown outcome is repeated
// with its key, mostly: then all tries are one operation. Where a repeat is refused, an earlier try
// may still take effect later.
func (w *nemesisWorker) write(
	call nemesisCall, in nemesisInput, code fault.Code, number func(a *nemesisAnswer) (uint64, error),
) nemesisOutput {
	begun, limit := w.load.history.now(), time.Now().Add(nemesisRepeatMax)
	unknown := nemesisOutput{outcome: nemesisUnknown}
	pending := false
	for {
		sent, called := time.Now(), w.load.history.now()
		host := w.anyHost()
		answer := w.send(host, call)
		w.load.history.try(w.number, host, called, in, call, &answer)
		out := nemesisOutput{outcome: answer.outcome}
		switch answer.outcome {
		case nemesisDone:
			w.load.acknowledged(sent)
			var err error
			if out.number, err = number(&answer); err != nil {
				w.load.history.problem("%+v: %v", in, err)
			}
			w.load.history.add(w.number, begun, in, out)
			return out
		case nemesisRefused:
			if answer.code != string(code) {
				w.load.history.problem("%+v: %d %s", in, answer.status, answer.text)
				out.outcome = nemesisUnknown
			}
			if pending {
				w.load.history.add(w.number, begun, in, unknown)
			}
			w.load.history.add(w.number, called, in, out)
			if pending {
				return unknown
			}
			return out
		case nemesisUnknown:
			if answer.code == string(fault.Internal) && !w.load.damaged.Load() {
				w.load.history.problem("%+v: %s", in, answer.text)
			}
			pending = true
		}
		give := call.key == "" || time.Now().After(limit) || w.random.IntN(4) == 0
		switch {
		case pending && give:
			w.load.history.add(w.number, begun, in, unknown)
			nemesisPause(time.Duration(100+w.random.IntN(300)) * time.Millisecond)
			return unknown
		case !pending:
			w.load.history.add(w.number, begun, in, out)
			return out
		}
		nemesisPause(20 * time.Millisecond)
	}
}

// read sends a request that changes nothing, and decodes what it is answered.
func (w *nemesisWorker) read(host string, call nemesisCall, into any) (nemesisAnswer, int64, bool) {
	called := w.load.history.now()
	answer := w.send(host, call)
	switch answer.outcome {
	case nemesisDone:
		if err := answer.into(into); err != nil {
			w.load.history.problem("%s: %v", call.path, err)
			return answer, called, false
		}
		return answer, called, true
	case nemesisRefused:
		if answer.code != string(fault.FileNotFound) {
			w.load.history.problem("%s%s: %d %s", call.tool, call.path, answer.status, answer.text)
		}
	case nemesisUnknown:
		if answer.code == string(fault.Internal) && !w.load.damaged.Load() {
			w.load.history.problem("%s%s: %s", call.tool, call.path, answer.text)
		}
	}
	return answer, called, false
}

func nothingNumbered(*nemesisAnswer) (uint64, error) { return 0, nil }

func fileObject(world *nemesisWorld, path string) string {
	return "file " + world.project + "/" + path
}

// readFile reports whether the file was read, or is not there.
func (w *nemesisWorker) readFile(host string, world *nemesisWorld, path string, mcp bool) bool {
	call := nemesisCall{method: "GET", path: "projects/" + world.project + "/files/" + path}
	if mcp {
		call.tool, call.body = "file.read", map[string]any{"project": world.project, "path": path}
	}
	var got struct {
		File struct {
			Content string `json:"content"`
			Updated string `json:"updated_changeset_id"`
		} `json:"file"`
	}
	answer, called, ok := w.read(host, call, &got)
	if !ok && answer.code != string(fault.FileNotFound) {
		return false
	}
	w.load.history.add(w.number, called, nemesisInput{object: fileObject(world, path)},
		nemesisOutput{outcome: nemesisDone, value: got.File.Content})
	if !ok {
		w.seen[path] = nemesisFile{}
	} else if got.File.Updated != "" {
		w.seen[path] = nemesisFile{got.File.Content, `"` + got.File.Updated + `"`}
	}
	return true
}

// key is an Idempotency-Key, or none for some requests.
func (w *nemesisWorker) key(name string) string {
	if w.random.IntN(4) == 0 {
		return ""
	}
	return name
}

// arguments are those of a tool, with the key.
func arguments(key string, all map[string]any) map[string]any {
	if key != "" {
		all["idempotency_key"] = key
	}
	return all
}

func (w *nemesisWorker) writeFile(world *nemesisWorld, path string, mcp bool) {
	name := w.name()
	call := nemesisCall{
		method: "PUT", path: "projects/" + world.project + "/files/" + path, key: w.key(name),
		body: map[string]any{"content": name, "message": name},
	}
	if mcp {
		call.tool, call.body = "file.write", arguments(call.key, map[string]any{
			"project": world.project, "path": path, "content": name, "message": name,
		})
	}
	in := nemesisInput{object: fileObject(world, path), action: nemesisWrite, value: name}
	w.load.history.effect(world, in, w.write(call, in, "", nothingNumbered).outcome)
}

// replaceFile replaces what this worker has read last: If-Match.
func (w *nemesisWorker) replaceFile(world *nemesisWorld, path string) {
	seen, known := w.seen[path]
	if !known {
		return
	}
	name := w.name()
	call := nemesisCall{
		method: "PUT", path: "projects/" + world.project + "/files/" + path, key: w.key(name),
		body:   map[string]any{"content": name, "message": name},
		header: "If-Match: " + seen.etag,
	}
	if seen.etag == "" {
		call.header = "If-None-Match: *"
	}
	in := nemesisInput{
		object: fileObject(world, path), action: nemesisReplace, value: name, old: seen.content,
	}
	out := w.write(call, in, fault.PreconditionFailed, nothingNumbered)
	w.load.history.effect(world, in, out.outcome)
}

// editFile replaces the text that this worker has read last: expected_blob_hash.
func (w *nemesisWorker) editFile(world *nemesisWorld, path string, mcp bool) {
	seen := w.seen[path]
	if seen.content == "" {
		return
	}
	name, hash := w.name(), sha256.Sum256([]byte(seen.content))
	body := map[string]any{
		"edits":              []any{map[string]any{"old_text": seen.content, "new_text": name}},
		"expected_blob_hash": hex.EncodeToString(hash[:]), "message": name,
	}
	call := nemesisCall{
		method: "PATCH", path: "projects/" + world.project + "/files/" + path, key: w.key(name),
		body: body,
	}
	if mcp {
		body["project"], body["path"] = world.project, path
		call.tool, call.body = "file.edit", arguments(call.key, body)
	}
	in := nemesisInput{
		object: fileObject(world, path), action: nemesisReplace, value: name, old: seen.content,
	}
	out := w.write(call, in, fault.FileChanged, nothingNumbered)
	w.load.history.effect(world, in, out.outcome)
}

// nemesisStateData is the answer of reads and writes of a state. Its first version is 1.
type nemesisStateData struct {
	State struct {
		Summary string `json:"summary"`
		Version uint64 `json:"version"`
	} `json:"state"`
}

func (w *nemesisWorker) readState(host string, world *nemesisWorld) bool {
	var got nemesisStateData
	call := nemesisCall{method: "GET", path: "projects/" + world.project + "/state"}
	_, called, ok := w.read(host, call, &got)
	if ok {
		w.version = got.State.Version
		w.load.history.addState(w.number, called, world, got)
	}
	return ok
}

// addState is add of a read of a state.
func (h *nemesisHistory) addState(
	client int, called int64, world *nemesisWorld, got nemesisStateData,
) {
	h.add(client, called, nemesisInput{object: "state " + world.project},
		nemesisOutput{nemesisDone, got.State.Summary, got.State.Version - 1})
}

// writeState replaces the state, or mostly the version that this worker has seen. The operation has
// no keys. It reports whether it was acknowledged.
func (w *nemesisWorker) writeState(world *nemesisWorld) bool {
	name := w.name()
	body := map[string]any{"summary": name}
	in := nemesisInput{object: "state " + world.project, action: nemesisWrite, value: name}
	if w.random.IntN(3) > 0 {
		body["expected_version"] = w.version
		in.action, in.number = nemesisReplace, w.version-1
	}
	call := nemesisCall{
		method: "PATCH", path: "projects/" + world.project + "/state", body: body,
	}
	out := w.write(call, in, fault.StateConflict, func(a *nemesisAnswer) (uint64, error) {
		var got nemesisStateData
		err := a.into(&got)
		return got.State.Version - 1, err
	})
	if out.outcome == nemesisDone {
		w.version = out.number + 1
	}
	return out.outcome == nemesisDone
}

// nemesisClaimData is the part of a claim that clients use.
type nemesisClaimData struct {
	Agent string `json:"agent_id"`
	Token uint64 `json:"fencing_token"`
}

func (w *nemesisWorker) readTask(host, task string) bool {
	var got struct {
		Task struct {
			Claim nemesisClaimData `json:"claim"`
		} `json:"task"`
	}
	_, called, ok := w.read(host, nemesisCall{method: "GET", path: "tasks/" + task}, &got)
	if ok {
		w.load.history.add(w.number, called, nemesisInput{object: "task " + task},
			nemesisOutput{nemesisDone, got.Task.Claim.Agent, got.Task.Claim.Token})
		if got.Task.Claim.Agent == w.agent {
			// A claim of unknown outcome took effect.
			w.held[task] = got.Task.Claim.Token
		}
	}
	return ok
}

func (w *nemesisWorker) claim(task string, mcp bool) {
	call := nemesisCall{method: "POST", path: "tasks/" + task + "/claim", key: w.key(w.name())}
	if mcp {
		call.tool, call.body = "task.claim", arguments(call.key, map[string]any{"task": task})
	}
	in := nemesisInput{object: "task " + task, action: nemesisClaim, value: w.agent}
	out := w.write(call, in, fault.TaskAlreadyClaimed, func(a *nemesisAnswer) (uint64, error) {
		var got struct {
			Claim nemesisClaimData `json:"claim"`
		}
		err := a.into(&got)
		return got.Claim.Token, err
	})
	if out.outcome == nemesisDone {
		w.held[task] = out.number
	}
}

func (w *nemesisWorker) release(task string, token uint64, mcp bool) {
	body := map[string]any{"fencing_token": token}
	call := nemesisCall{
		method: "POST", path: "tasks/" + task + "/release", key: w.key(w.name()), body: body,
	}
	if mcp {
		body["task"] = task
		call.tool, call.body = "task.release", arguments(call.key, body)
	}
	in := nemesisInput{
		object: "task " + task, action: nemesisRelease, value: w.agent, number: token,
	}
	w.write(call, in, fault.ClaimLost, nothingNumbered)
	delete(w.held, task)
}

// comment appends a comment, always with a key.
func (w *nemesisWorker) comment(world *nemesisWorld) {
	if world.comments.Add(1) > nemesisCommentsMax {
		return
	}
	name := w.name()
	call := nemesisCall{
		method: "POST", path: "discussions/" + world.discussion + "/comments", key: name,
		body: map[string]any{"body": name},
	}
	in := nemesisInput{object: "discussion " + world.discussion, action: nemesisAppend, value: name}
	w.load.history.effect(world, in, w.write(call, in, "", nothingNumbered).outcome)
}

func (w *nemesisWorker) readComments(host string, world *nemesisWorld) bool {
	var got struct {
		Comments []struct {
			Body string `json:"body"`
		} `json:"comments"`
	}
	_, called, ok := w.read(host, nemesisCall{
		method: "GET", path: "discussions/" + world.discussion + "?limit=200",
	}, &got)
	if !ok {
		return false
	}
	var texts []string
	for _, one := range got.Comments {
		texts = append(texts, one.Body)
	}
	w.load.history.add(w.number, called, nemesisInput{object: "discussion " + world.discussion},
		nemesisOutput{outcome: nemesisDone, value: joinTexts(texts)})
	return true
}

// readAll reads all objects of a world from one member, and repeats that until it has all.
func (w *nemesisWorker) readAll(host string, world *nemesisWorld) error {
	until := time.Now().Add(patience)
	w.seen, w.held = map[string]nemesisFile{}, map[string]uint64{}
	reads := []func() bool{
		func() bool { return w.readState(host, world) },
		func() bool { return w.readComments(host, world) },
	}
	for _, path := range world.files {
		reads = append(reads, func() bool { return w.readFile(host, world, path, false) })
	}
	for _, task := range world.tasks {
		reads = append(reads, func() bool { return w.readTask(host, task) })
	}
	for _, read := range reads {
		for !read() {
			if time.Now().After(until) {
				return fmt.Errorf("%s does not answer reads of %s", host, strings.TrimSpace(world.project))
			}
			nemesisPause(50 * time.Millisecond)
		}
	}
	return nil
}
