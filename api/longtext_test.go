package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// TestAnswersHaveLongMessagesAndBodies publishes changesets with long messages and writes long
// discussions. Each answer has the text, also the repeat with the same Idempotency-Key, but what is
// stored for repeats has not.
func TestAnswersHaveLongMessagesAndBodies(t *testing.T) {
	o := newTestEngine(t)
	ann := o.register("ann")
	project, _ := o.project(ann, work.Public)
	name := project.Format(id.Project)
	long := strings.Repeat("long ", 700)
	ask := func(r request, part string) map[string]any {
		t.Helper()
		return askTwice(t, o, ann, r, part)
	}
	of := func(data map[string]any, record string) string {
		one, _ := data[record].(map[string]any)
		text, _ := one["id"].(string)
		return text
	}
	message := func(nth int) string { return fmt.Sprint("message ", nth, " ", long) }
	ask(request{
		operation: "file.write", params: []string{name, "a"}, key: "write",
		body: `{"content":"1","message":"` + message(1) + `"}`,
	}, message(1))
	head := of(ask(request{
		operation: "file.delete", params: []string{name, "a"}, key: "delete",
		body: `{"message":"` + message(2) + `"}`,
	}, message(2)), "changeset")
	ask(request{
		operation: "checkpoint.create", params: []string{name}, key: "checkpoint",
		body: `{"summary":"s","history":{"message":"` + message(3) + `"},` +
			`"base_changeset_id":"` + head + `","files":[{"path":"b","content":"2"}]}`,
	}, message(3))
	talk := []string{of(ask(request{
		operation: "discussion.create", params: []string{name}, key: "talk",
		body: `{"title":"t","body":"` + message(4) + `"}`,
	}, message(4)), "discussion")}
	ask(request{
		operation: "discussion.comment", params: talk, key: "comment",
		body: `{"body":"` + message(5) + `"}`,
	}, message(5))
	ask(request{
		operation: "discussion.update", params: talk, key: "close", body: `{"status":"CLOSED"}`,
	}, message(4))
	for nth := 1; nth <= 3; nth++ {
		ask(request{operation: "changeset.list", params: []string{name}}, message(nth))
	}
	ask(request{operation: "discussion.list", params: []string{name}}, message(4))
	ask(request{operation: "discussion.read", params: talk}, message(5))
	ask(request{
		operation: "resume.read", params: []string{name},
		query: map[string]string{"detail": "full", "max_chars": "100000"},
	}, message(3))
	checkLeftOut(t, o, project, 4)
}

// askTwice sends a request, and sends it again if it has an Idempotency-Key. Both answers are the
// same and have a text.
func askTwice(
	t *testing.T, o *testEngine, who *testAgent, r request, part string,
) map[string]any {
	t.Helper()
	reply, data, err := o.call(who, r)
	if err != nil {
		t.Fatalf("%s: %v", r.operation, err)
	}
	if answer := string(reply.AppendData(nil)); !strings.Contains(answer, part) {
		t.Errorf("%s lacks %.20q: %.400s", r.operation, part, answer)
	}
	if r.key == "" {
		return data
	}
	again, _, err := o.call(who, r)
	if err != nil || !again.Replayed {
		t.Fatalf("%s: the repeat: %v, %+v", r.operation, err, again)
	}
	if a, b := reply.AppendData(nil), again.AppendData(nil); string(a) != string(b) {
		t.Errorf("%s: the repeat has another answer:\n%.300s\n%.300s", r.operation, a, b)
	}
	return data
}

// TestAnswersHaveLongHandoffs writes long handoffs, as the test above.
func TestAnswersHaveLongHandoffs(t *testing.T) {
	o := newTestEngine(t)
	ann := o.register("ann")
	project, _ := o.project(ann, work.Public)
	params := []string{project.Format(id.Project)}
	end := "the end of the summary"
	handoff := `{"summary":"` + strings.Repeat("long ", 700) + end + `","decisions":["d",` +
		`{"decision":"e","rationale":"r"}],"failed_approaches":["f"],"completed_work":["c"],` +
		`"blockers":["b"],"assumptions":["a"],"dependencies":["on"],"open_questions":["q"],` +
		`"next_actions":["n"],"residual_risks":["r"]}`
	checkpoint := `{"summary":"s","handoff":` + handoff + `}`
	askTwice(t, o, ann, request{
		operation: "checkpoint.create", params: params, body: checkpoint, key: "checkpoint",
	}, end)
	askTwice(t, o, ann, request{
		operation: "checkpoint.create", params: params, body: checkpoint,
	}, end)
	askTwice(t, o, ann, request{
		operation: "handoff.create", params: params, body: handoff, key: "handoff",
	}, end)
	checkLeftOut(t, o, project, 1)
}

// TestAnswersHaveMarkedTexts makes a conflict. Each answer has the text with conflict markers, also
// the repeat, until an operator purges it; what is stored for repeats has not.
func TestAnswersHaveMarkedTexts(t *testing.T) {
	o := newTestEngine(t)
	ann, bob := o.register("ann"), o.register("bob")
	project, _ := o.project(ann, work.Public)
	name := project.Format(id.Project)
	write := func(text string) {
		t.Helper()
		askTwice(t, o, ann, request{
			operation: "file.write", params: []string{name, "a"}, body: `{"content":"` + text + `"}`,
		}, name)
	}
	write("base")
	opened := askTwice(t, o, bob, request{
		operation: "workspace.open", params: []string{name}, key: "open",
	}, name)
	workspace := opened["workspace"].(map[string]any)["id"].(string)
	askTwice(t, o, bob, request{
		operation: "workspace.file.write", params: []string{workspace, "a"}, key: "write",
		body: `{"content":"mine"}`,
	}, "revision")
	write("theirs")
	text := "<<<<<<< ours\nmine\n=======\ntheirs\n>>>>>>> theirs\n"
	refresh := request{operation: "workspace.refresh", params: []string{workspace}, key: "refresh"}
	refreshed := askTwice(t, o, bob, refresh, "ours\\nmine")
	if shown := first(refreshed, "conflicts"); shown["merged_with_markers"] != text {
		t.Errorf("the conflict is %v", shown)
	}
	checkLeftOut(t, o, project, 1)
	if err := o.PurgeContent(sha256.Sum256([]byte(text)), "leaked"); err != nil {
		t.Fatal(err)
	}
	again, _, err := o.call(bob, refresh)
	if err != nil || !again.Replayed {
		t.Fatalf("the repeat: %v, %+v", err, again)
	}
	if answer := string(again.AppendData(nil)); strings.Contains(answer, "mine") ||
		strings.Count(answer, `"merged_with_markers":null`) != 2 {
		t.Errorf("AFTER the purge: %s", answer)
	}
}

// checkLeftOut checks that the stored answers of a project have no long texts, and counts those
// that lack one.
func checkLeftOut(t *testing.T, o *testEngine, project id.ID, want int) {
	t.Helper()
	view, err := o.Project(project)
	if err != nil {
		t.Fatal(err)
	}
	left := 0
	for nth, to := view.ResultRange(); nth < to; nth++ {
		if kept, _ := view.ResultAt(nth); kept.LeftOut {
			left++
		} else if len(kept.Body) > 1000 {
			t.Errorf("answer %d has %d bytes", nth, len(kept.Body))
		}
	}
	if left != want {
		t.Errorf("%d answers are stored without their texts, want %d", left, want)
	}
}

// TestDamagedLongTexts reads records whose texts are damaged, and those whose texts were purged.
func TestDamagedLongTexts(t *testing.T) {
	o := newTestEngine(t)
	ann := o.register("ann")
	project, _ := o.project(ann, work.Public)
	name := project.Format(id.Project)
	long := strings.Repeat("long ", 700)
	write := func(operation, body string, params ...string) {
		t.Helper()
		if _, _, err := o.call(ann, request{
			operation: operation, params: params, body: body,
		}); err != nil {
			t.Fatal(err)
		}
	}
	write("file.write", `{"content":"1","message":"m`+long+`"}`, name, "a")
	write("discussion.create", `{"title":"t","body":"b`+long+`"}`, name)
	view, err := o.Project(project)
	if err != nil {
		t.Fatal(err)
	}
	var talk, changeset string
	var texts []work.Hash
	view.LongTexts(func(kind id.Prefix, record id.ID, text work.Away) bool {
		texts = append(texts, text.Hash)
		if kind == id.Discussion {
			talk = record.Format(kind)
		} else {
			changeset = record.Format(kind)
		}
		return true
	})
	reads := []request{
		{operation: "changeset.list", params: []string{name}},
		{operation: "changeset.list", params: []string{name}, query: map[string]string{"path": "a"}},
		{operation: "changeset.read", params: []string{name, changeset}},
		{operation: "discussion.list", params: []string{name}},
		{operation: "discussion.read", params: []string{talk}},
	}
	o.damaged = map[work.Hash]bool{texts[0]: true, texts[1]: true}
	for _, r := range reads {
		if _, _, err := o.call(ann, r); fault.CodeOf(err) != fault.BlobCorrupt {
			t.Errorf("%s: a damaged text: %v", r.operation, err)
		}
	}
	o.damaged = nil
	for _, hash := range texts {
		if err := o.PurgeContent(hash, "leaked"); err != nil {
			t.Fatalf("%s: %v", hex.EncodeToString(hash[:]), err)
		}
	}
	for _, r := range reads {
		reply, _, err := o.call(ann, r)
		if err != nil || strings.Contains(string(reply.AppendData(nil)), "long") {
			t.Errorf("%s: a purged text: %v, %s", r.operation, err, reply.AppendData(nil))
		}
	}
}
