package webtest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"testing"

	"pws/bench/client"
)

// unshown are members that take text which no page shows and no request of attack sends, with the
// reason.
var unshown = map[string]string{
	"auth.session.client_name":    "what agent.register_complete.client_name has",
	"auth.session.client_version": "what agent.register_complete.client_version has",
	"project.import.name":         "what project.create.name has",
	"project.import.description":  "what project.create.description has",
	"upload.create.name":          "what project.create.name has",
	"upload.create.description":   "what project.create.description has",
	"task.claim_next.skills":      "a filter",
	"task.claim_next.task_type":   "a filter",
	"report.create.details":       "for operators",
}

// register makes an agent whose client has a hostile name.
func (a *attack) register(handle string) {
	if a.err != nil {
		return
	}
	one, err := client.New(a.url)
	if err != nil {
		a.err = err
		return
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		a.err = err
		return
	}
	asked, begun := fields{}, fields{}
	_, err = one.Post("/api/v1/agents/register/start", "", fields{
		"public_key": base64.RawURLEncoding.EncodeToString(public), "algorithm": "Ed25519",
	}, &asked)
	if err == nil {
		signature := ed25519.Sign(private, []byte(text(asked, "signing_payload")))
		_, err = one.Post("/api/v1/agents/register/complete", "", fields{
			"challenge_id": asked["challenge_id"], "challenge": asked["challenge"],
			"signature": base64.RawURLEncoding.EncodeToString(signature), "handle": handle,
			"client_name":    a.text("agent.register_complete.client_name", schema{MaxLength: 64}),
			"client_version": a.text("agent.register_complete.client_version", schema{MaxLength: 32}),
		}, &begun)
	}
	a.err = err
	one.Credential = text(begun, "session.credential")
	a.agents[handle] = &agent{handle: handle, api: one, server: a.server}
}

// newAttack starts a server whose agents write the corpus everywhere.
func newAttack(t *testing.T) *attack {
	t.Helper()
	a := &attack{nth: map[string]int{}}
	a.server, a.ids = serveFor(t), map[string]string{}
	_, _, document, err := get(a.url + "/openapi.json")
	if err == nil {
		a.schemas, a.bodies, err = publishedSchemas([]byte(document))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, handle := range []string{"mallory", "moe", "max"} {
		a.register(handle)
		a.send(handle, "profile.declare", nil)
	}
	a.ids["agent"] = "mallory"
	for range 12 {
		a.send("mallory", "project.create", fields{"visibility": "PUBLIC",
			"reuse_policy": "ALLOW_REUSE", "topics": absent})
	}
	p := text(a.send("mallory", "project.create", fields{
		"visibility": "PUBLIC", "reuse_policy": "ALLOW_REUSE", "topics": absent,
	}), "project.id")
	a.ids["project"] = p
	a.send("mallory", "project.update", fields{"topics": absent, "status": absent}, p)
	a.writeFiles(p)
	a.writeTasks(p)
	a.writeContributions(p)
	a.writeTalk(p)
	a.writeProjects(p)
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a
}

// pageHTML and pageSVG are files that run scripts where they are taken for what they are.
const (
	pageHTML = `<!doctype html><html><body onload="alert(60)"><script>alert(61)</script>` +
		`<img src="//evil.example/f.png" onerror="alert(62)"></body></html>`
	pageSVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(63)"><script>alert(64)</script>` +
		`<image href="//evil.example/g.png"/></svg>`
)

// writeFiles writes hostile contents under hostile names.
func (a *attack) writeFiles(p string) {
	everything := bin(0, 1<<20, "\n\n")
	a.send("mallory", "file.write", fields{"content": everything}, p, "README.md")
	a.send("mallory", "file.write", fields{
		"content": "x\x01\x1b[31m\x7f\u0085" + everything}, p, "x.go")
	a.send("mallory", "file.write", fields{
		"content": pageHTML, "content_type": "text/html"}, p, "page.html")
	a.send("mallory", "file.write", fields{"content": pageSVG}, p, "image.svg")
	a.ids["path"] = "README.md"
	for _, path := range hostilePaths {
		a.send("mallory", "file.write", fields{"content": everything}, p, path)
	}
	changed := a.send("mallory", "file.edit", fields{"edits": []fields{
		{"old_text": "<script>alert(1)</script>", "new_text": everything},
	}}, p, hostilePaths[0])
	a.ids["changeset"] = text(changed, "changeset.id")
	a.send("mallory", "file.delete", nil, p, hostilePaths[4])
	sent := a.send("mallory", "changeset.publish", fields{
		"base_changeset_id": a.head("mallory", p), "operations": []fields{
			{"action": "CREATE", "path": "<b>.go", "content": everything, "edits": absent},
			{"action": "EDIT", "path": "x.go", "content": absent, "edits": []fields{
				{"old_text": "<script>alert(1)</script>", "new_text": bin(0, 4000, "\n")},
			}},
		},
	}, p)
	a.send("mallory", "changeset.revert", nil, text(sent, "changeset.id"))
	note := fields{"decisions": []fields{{}, {}}, "failed_approaches": []fields{{}, {}}}
	a.send("mallory", "state.update", nil, p)
	a.send("mallory", "handoff.create", note, p)
	a.send("mallory", "handoff.create", nil, p)
	gone := text(a.send("mallory", "handoff.create", nil, p), "handoff.id")
	a.send("mallory", "handoff.delete", nil, p, gone)
	for _, given := range []fields{note, {}} {
		a.send("mallory", "checkpoint.create", fields{
			"base_changeset_id": a.head("mallory", p), "state": fields{}, "state_patch": absent,
			"history": fields{}, "handoff": given, "end_work_session": absent,
			"files": []fields{
				{"path": "<i>.html", "content": everything, "edits": absent},
				{"path": "x.go", "action": "EDIT", "content": absent, "edits": []fields{
					{"old_text": "<script>alert(1)</script>", "new_text": everything},
				}},
			},
			"tasks": []fields{{"create": fields{}, "title": absent, "description": absent,
				"task_type": absent, "skills": absent, "related_files": absent,
				"expected_output": absent, "completion_conditions": absent}},
		}, p)
	}
}

// writeTasks makes tasks in states that show their texts.
func (a *attack) writeTasks(p string) {
	for number := range 8 {
		task := text(a.send("mallory", "task.create", fields{"priority": "URGENT"}, p), "task.id")
		a.as("moe")
		if number == 0 {
			a.send("mallory", "member.add", fields{"agent": "moe", "role": "MAINTAINER"}, p)
		}
		a.as("moe")("task.claim", fields{}, task)
		switch number {
		case 0:
			a.send("moe", "task.update", fields{"status": "BLOCKED", "result": absent,
				"blocked": fields{"kind": "NEEDS_INPUT"}}, task)
		case 1:
			a.ids["task"] = task
			a.send("moe", "task.update", fields{"status": "DONE", "blocked": absent,
				"result": fields{}}, task)
		case 2:
			a.send("moe", "checkpoint.create", fields{
				"base_changeset_id": absent, "files": absent, "state": absent,
				"state_patch": fields{}, "history": absent, "handoff": absent,
				"tasks": []fields{{"task_id": task, "status": "BLOCKED", "create": absent,
					"blocked": fields{"kind": "NEEDS_INPUT"}, "result": absent}},
			}, p)
			a.send("moe", "checkpoint.create", fields{
				"base_changeset_id": absent, "files": absent, "state": absent,
				"state_patch": absent, "history": absent, "handoff": absent,
				"tasks": []fields{{"task_id": task, "status": "DONE", "create": absent,
					"blocked": absent, "result": fields{}}},
			}, p)
		}
	}
}

// propose submits a contribution with hostile files.
func (a *attack) propose(p string) (contribution, revision string) {
	workspace := text(a.as("max")("workspace.open", fields{}, p), "workspace.id")
	a.send("max", "workspace.file.write", nil, workspace, "new <b>.md")
	a.send("max", "workspace.file.edit", fields{"edits": []fields{
		{"old_text": "<script>alert(1)</script>", "new_text": bin(0, 4000, "\n")},
	}}, workspace, "README.md")
	a.as("max")("workspace.file.rename", fields{"new_path": hostilePaths[0] + "2"}, workspace,
		hostilePaths[0])
	sent := a.send("max", "workspace.submit", nil, workspace)
	return text(sent, "contribution.id"), text(sent, "contribution.current_revision_id")
}

func (a *attack) writeContributions(p string) {
	id, revision := a.propose(p)
	a.ids["contribution"] = id
	for _, verdict := range []string{"COMMENT", "REQUEST_CHANGES"} {
		a.send("moe", "contribution.review", fields{
			"revision_id": revision, "verdict": verdict, "comments": []fields{
				{"path": "README.md", "line": 1}, {"path": hostilePaths[0]},
			},
		}, id)
	}
	deleted := a.send("moe", "contribution.review", fields{
		"revision_id": revision, "verdict": "COMMENT", "comments": absent,
	}, id)
	a.send("moe", "contribution.delete_review", nil, id, text(deleted, "review.id"))
	rejected, _ := a.propose(p)
	a.send("mallory", "contribution.reject", nil, rejected)
	a.ids["rejected"] = rejected
	withdrawn, _ := a.propose(p)
	a.send("max", "contribution.withdraw", nil, withdrawn)
	a.ids["withdrawn"] = withdrawn
	a.send("max", "contribution.delete", nil, withdrawn)
	taken, revision := a.propose(p)
	a.send("mallory", "contribution.accept", fields{"revision_id": revision}, taken)
	a.ids["accepted"] = taken
}

func (a *attack) writeTalk(p string) {
	for number := range 8 {
		talk := text(a.send("moe", "discussion.create", fields{"subject": absent}, p), "discussion.id")
		a.send("mallory", "discussion.comment", nil, talk)
		comment := text(a.send("moe", "discussion.comment", nil, talk), "comment.id")
		switch number {
		case 0:
			a.ids["discussion"] = talk
			a.send("moe", "discussion.delete_comment", nil, talk, comment)
		case 1:
			a.send("moe", "discussion.delete", nil, talk)
		}
	}
	verified := fields{"entity_type": "PROJECT", "entity_id": p, "kind": "SELF_REPORT",
		"outcome": "PASSED", "external_source": absent, "attestation_reference": absent}
	a.send("moe", "verification.create", verified)
	verified["kind"] = "EXTERNAL_ATTESTATION"
	delete(verified, "external_source")
	delete(verified, "attestation_reference")
	gone := text(a.send("moe", "verification.create", verified), "verification.id")
	verified["entity_type"], verified["entity_id"] = "CONTRIBUTION", a.ids["contribution"]
	a.send("moe", "verification.create", verified)
	a.send("moe", "verification.delete", nil, gone)
	artifact := text(a.send("mallory", "artifact.create", fields{
		"type": "DOCUMENT", "paths": []string{"README.md", hostilePaths[1]},
	}, p), "artifact.id")
	a.ids["artifact"] = artifact
	a.as("stranger")
	a.send("mallory", "block.add", fields{"agent": "stranger"}, p)
}

// writeProjects makes the projects that have something to do with another one.
func (a *attack) writeProjects(p string) {
	public := fields{"visibility": "PUBLIC", "reuse_policy": "ALLOW_REUSE"}
	fork := text(a.send("max", "project.fork", public, p), "project.id")
	a.send("max", "relation.create", fields{"type": "RELATED_TO", "target_project_id": p}, fork)
	a.as("max")("artifact.import", fields{
		"artifact_id": a.ids["artifact"], "target_prefix": "<u>/"}, fork)
	a.ids["fork"] = fork
	community := text(a.send("max", "project.create_community", fields{
		"topics": absent, "files": []fields{{"path": "<b>.md"}},
	}), "project.id")
	turn := a.as("moe")("turn.take", fields{}, community)
	workspace := text(turn, "workspace.id")
	a.send("moe", "workspace.file.write", nil, workspace, "<i>.md")
	a.send("moe", "turn.submit", nil, community)
	a.ids["community"] = community
	sessions := a.as("moe")("work_session.list", nil, p)
	list, _ := sessions["work_sessions"].([]any)
	for _, one := range list {
		session, _ := one.(fields)
		if text(session, "agent.handle") == "moe" && text(session, "status") == "ACTIVE" {
			a.send("moe", "session.end", nil, text(session, "id"))
			return
		}
	}
	if a.err == nil {
		a.err = fmt.Errorf("moe has no work session: %v", sessions)
	}
}

// covered checks that the corpus was sent as every member that takes text.
func (a *attack) covered(t *testing.T) {
	t.Helper()
	texts := a.texts()
	for member := range texts {
		if a.nth[member] == 0 && unshown[member] == "" {
			t.Errorf("%s takes text, and none of the corpus was sent", member)
		}
	}
	for member := range unshown {
		if !texts[member] || a.nth[member] > 0 {
			t.Errorf("%s is named as not shown, but takes no text or was sent", member)
		}
	}
}
