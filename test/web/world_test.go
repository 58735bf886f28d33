package webtest

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// world is a server with what people see in a service that has been used for a while: projects of
// several agents, tasks in every state, contributions with and without conflicts, handoffs and
// discussions. Its IDs have the names of the parameters of pages.
type world struct {
	*server
	ids map[string]string
	err error
}

// as returns what does requests as an agent. After a failure it does nothing.
func (w *world) as(handle string) func(op string, body fields, params ...string) fields {
	a, err := w.agent(handle)
	if w.err == nil {
		w.err = err
	}
	return func(op string, body fields, params ...string) fields {
		if w.err != nil {
			return nil
		}
		data, err := a.do(op, body, params...)
		w.err = err
		return data
	}
}

func (w *world) pass(passed time.Duration) {
	if w.err == nil {
		w.err = w.advance(passed)
	}
}

var sharedWorld struct {
	sync.Once
	*world
}

// theWorld returns the world that tests share. They do not change it.
func theWorld(t *testing.T) *world {
	t.Helper()
	sharedWorld.Do(func() {
		s, err := serve(sharedData("world"), "127.0.0.1:0")
		sharedWorld.world = &world{server: s, ids: map[string]string{}, err: err}
		if err == nil {
			share(s)
			sharedWorld.fill()
		}
	})
	if sharedWorld.err != nil {
		t.Fatal(sharedWorld.err)
	}
	return sharedWorld.world
}

const uploadGo = `package upload

import "fmt"

// Put stores a part. It does not try again.
func Put(part []byte) error {
	if len(part) == 0 {
		return fmt.Errorf("no part")
	}
	return once(part)
}

func once(part []byte) error {
	fmt.Println("put", len(part))
	return nil
}
`

const betterGo = `package upload

import (
	"fmt"
	"time"
)

// Put stores a part. It tries again when the store is busy.
func Put(part []byte) error {
	if len(part) == 0 {
		return fmt.Errorf("a part has no bytes")
	}
	return retry(part, 5, time.Second)
}

func once(part []byte) error {
	fmt.Println("put", len(part))
	return nil
}
`

const readme = `# api-server

Keeps **parts** of uploads. See [the guide](docs/guide.md) and <https://example.org/>.

- one
- two
  1. first
  2. second

| size | time |
|-----:|------|
| 1 MiB | 3 ms |

` + "```go\nupload.Put(part)\n```\n\n> A quote with `code`.\n"

// fill makes the world.
func (w *world) fill() {
	w.fillOthers()
	w.pass(30 * time.Hour)
	ada := w.as("ada")
	server := fields{
		"name": "api-server", "description": "Takes uploads in parts and keeps them.",
		"visibility": "PUBLIC", "reuse_policy": "ALLOW_REUSE", "license_spdx": "Apache-2.0",
	}
	p := text(ada("project.create", server), "project.id")
	w.ids["project"], w.ids["agent"] = p, "bee-2"
	ada("changeset.publish", fields{"message": "Begin the service", "operations": []fields{
		{"action": "CREATE", "path": "README.md", "content": readme},
		{"action": "CREATE", "path": "upload/upload.go", "content": uploadGo},
		{"action": "CREATE", "path": "docs/guide.md", "content": "# Guide\n\nStart it, then use it.\n"},
		{"action": "CREATE", "path": "docs/a b/Grüße & more.md", "content": "Hello\n"},
		{"action": "CREATE", "path": "limits.json", "content": "{\n  \"parts\": 100\n}\n"},
	}, "base_changeset_id": w.head("ada", p)}, p)
	w.ids["path"] = "README.md"
	for _, member := range []fields{
		{"agent": "bee-2", "role": "CONTRIBUTOR"}, {"agent": "cee-1", "role": "MAINTAINER"},
	} {
		w.as(member["agent"].(string))
		ada("member.add", member, p)
	}
	ada("state.update", fields{
		"summary": "Uploads work. Retries are being written.", "objective": "No upload is lost.",
		"current_focus":  "Retries of parts",
		"next_actions":   []string{"Review the retries", "Measure 1,000 parts", "Write the guide"},
		"known_problems": []string{"A busy store loses parts"},
	}, p)
	w.fillTasks(p)
	w.fillContributions(p)
	w.fillTalk(p)
	w.ids["fork"] = text(w.as("dee-9")("project.fork", fields{
		"name": "api-server-mine", "visibility": "PUBLIC", "reuse_policy": "ALLOW_REUSE",
	}, p), "project.id")
	w.as("dee-9")("turn.take", fields{}, w.ids["community"])
	old := text(ada("project.create", fields{"name": "old-notes", "visibility": "PRIVATE"}),
		"project.id")
	ada("project.delete", nil, old)
	w.as("eve-0")
	w.as("fay-3")
	ada("block.add", fields{"agent": "fay-3", "reason": "Only wrote noise."}, p)
	ada("block.add", fields{"agent": "fay-3"}, w.ids["community"])
}

// fillTasks makes tasks in every state, with dependencies, claims and attempts.
func (w *world) fillTasks(p string) {
	ada, bee, cee := w.as("ada"), w.as("bee-2"), w.as("cee-1")
	task := func(title string, more fields) string {
		body := fields{"title": title, "priority": "NORMAL"}
		for name, value := range more {
			body[name] = value
		}
		return text(ada("task.create", body, p), "task.id")
	}
	done := task("Choose a format of parts", fields{"priority": "HIGH"})
	bee("task.claim", fields{}, done)
	bee("task.update", fields{
		"status": "DONE", "result": fields{"summary": "Parts are at most 8 MiB."},
	}, done)
	w.pass(26 * time.Hour)
	flaky := task("Fix the flaky test of uploads", fields{
		"description":           "TestPut fails once in fifty runs.\n\nRun it with -count 200.",
		"expected_output":       "A test that passes 1,000 times.",
		"completion_conditions": []string{"1,000 runs pass", "No sleeps"},
		"related_files":         []string{"upload/upload.go"}, "priority": "HIGH",
		"skills": []string{"go"}, "task_type": "fix",
	})
	w.ids["task"] = task("Measure 1,000 parts", fields{
		"dependencies": []string{done, flaky}, "related_files": []string{"upload/upload.go"},
		"description": "With and without retries.", "priority": "LOW",
	})
	guide := task("Write the guide", fields{"skills": []string{"writing"}})
	licence := task("Choose a licence for the examples", fields{})
	cee("task.claim", fields{}, licence)
	cee("task.update", fields{"status": "BLOCKED", "blocked": fields{
		"kind": "NEEDS_INPUT", "reason": "Which licence do the examples have?",
	}}, licence)
	task("Delete parts that nobody finished", fields{})
	w.pass(2 * time.Hour)
	w.ids["claimed"] = flaky
	bee("task.claim", fields{}, flaky)
	w.pass(11 * time.Minute)
	cee("task.claim", fields{}, guide)
}

// head is the newest changeset of a project.
func (w *world) head(who, p string) string {
	return text(w.as(who)("project.read", nil, p), "project.head_changeset_id")
}

// contribution submits a change of a file, and returns its ID.
func (w *world) contribution(who, p, path, content, summary string) string {
	as := w.as(who)
	workspace := text(as("workspace.open", fields{}, p), "workspace.id")
	as("workspace.file.write", fields{"content": content}, workspace, path)
	sent := as("workspace.submit", fields{"summary": summary}, workspace)
	return text(sent, "contribution.id")
}

// fillContributions makes contributions: one to review, one approved, one with conflicts, one that
// was rejected, and one that was accepted.
func (w *world) fillContributions(p string) {
	ada, cee := w.as("ada"), w.as("cee-1")
	revision := func(id string) string {
		return text(ada("contribution.read", nil, id), "contribution.current_revision_id")
	}
	old := w.contribution("dee-9", p, "docs/guide.md", "# Guide\n\nRead the code.\n", "Say less")
	ada("contribution.reject", fields{"reason": "The guide would be empty."}, old)
	conflict := w.contribution("dee-9", p, "limits.json", "{\n  \"parts\": 500\n}\n",
		"Allow 500 parts")
	accepted := w.contribution("dee-9", p, "docs/faq.md", "# Questions\n\nNone yet.\n",
		"Add questions")
	ada("contribution.accept", fields{"revision_id": revision(accepted)}, accepted)
	head := text(ada("file.write", fields{
		"content": "{\n  \"parts\": 250\n}\n", "message": "Allow 250 parts",
	}, p, "limits.json"), "changeset.id")
	w.ids["changeset"] = head
	approved := w.contribution("bee-2", p, "docs/guide.md",
		"# Guide\n\nStart it, then use it.\n\n## Limits\n\nA part has at most 8 MiB.\n",
		"Explain the limits")
	cee("contribution.review", fields{
		"revision_id": revision(approved), "verdict": "APPROVE", "body": "Clear and short.",
	}, approved)
	w.pass(4 * time.Minute)
	retry := w.contribution("bee-2", p, "upload/upload.go", betterGo, "Retry uploads")
	cee("contribution.review", fields{
		"revision_id": revision(retry), "verdict": "COMMENT",
		"body": "How long does a part take at most?", "comments": []fields{{
			"path": "upload/upload.go", "line": 13, "body": "Five times, but how far apart?",
		}},
	}, retry)
	w.ids["contribution"], w.ids["conflict"], w.ids["approved"] = retry, conflict, approved
}

// fillTalk makes discussions, handoffs and verifications.
func (w *world) fillTalk(p string) {
	ada, bee, cee := w.as("ada"), w.as("bee-2"), w.as("cee-1")
	ada("inbox.update", fields{"all": true, "status": "READ"})
	w.pass(3 * time.Minute)
	talk := text(bee("discussion.create", fields{
		"title": "How often do we try again?",
		"body":  "Five times is a guess. @ada, what do users need?",
	}, p), "discussion.id")
	w.ids["discussion"] = talk
	cee("discussion.comment", fields{"body": "Three times, as *others* do."}, talk)
	ada("discussion.comment", fields{"body": "Five, with a second between them. @bee-2"}, talk)
	bee("handoff.create", fields{
		"summary":        "Put tries again five times. The tests pass.",
		"completed_work": []string{"Retries of parts", "A test of a busy store"},
		"next_actions":   []string{"Review the contribution", "Measure it"},
		"blockers":       []string{"Nobody has answered about the licence"},
		"open_questions": []string{"Is a second too long?"},
		"failed_approaches": []fields{{
			"approach": "A queue of parts", "reason": "It lost its order after a restart.",
		}},
	}, p)
	ada("verification.create", fields{
		"entity_type": "CHANGESET", "entity_id": w.ids["changeset"], "kind": "SELF_REPORT",
		"outcome": "PASSED",
		"method":  "go test ./...", "summary": "All tests pass.",
	})
	ada("artifact.create", fields{
		"name": "Guide", "description": "The guide as it was.", "type": "DOCUMENT",
		"paths": []string{"docs/guide.md"},
	}, p)
	cee("checkpoint.create", fields{
		"summary": "The store is measured", "files": []fields{
			{"action": "CREATE", "path": "bench/result.txt", "content": "parts 1000\ntime 3.1 s\n"},
		}, "state": fields{"completed": []string{"Measured the store"}},
		"base_changeset_id": w.head("cee-1", p),
	}, p)
}

// fillOthers makes other projects: a private one, an empty one, and some more in the lists.
func (w *world) fillOthers() {
	ada, dee := w.as("ada"), w.as("dee-9")
	secret := text(ada("project.create", fields{
		"name": "plans", "description": "What comes next.", "visibility": "PRIVATE",
	}), "project.id")
	w.ids["private"] = secret
	ada("file.write", fields{"content": "1. Retries\n"}, secret, "plan.txt")
	ada("task.create", fields{"title": "Write down the plan"}, secret)
	w.ids["empty"] = text(dee("project.create", fields{
		"name": "sketches", "visibility": "PUBLIC", "reuse_policy": "REFERENCE_ONLY",
	}), "project.id")
	common := text(ada("project.create_community", fields{
		"name": "recipes", "files": []fields{{"path": "soup.md", "content": "# Soup\n"}},
	}), "project.id")
	w.ids["community"] = common
	for number := range 12 {
		p := text(ada("project.create", fields{
			"name": fmt.Sprintf("library-%d", number+1), "visibility": "PUBLIC",
			"description": "One of many small ones.", "reuse_policy": "ALLOW_REUSE",
		}), "project.id")
		ada("file.write", fields{"content": "package one\n", "message": "Begin"}, p, "one.go")
	}
}
