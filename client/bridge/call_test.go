package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// answering is a service that gives these results one after the other, and the last one to all
// others. An error is one.
func answering(results ...any) (*fake, *[]string) {
	keys := new([]string)
	return &fake{do: func(_ context.Context, request *client.Request) (*client.Answer, error) {
		result := results[min(len(*keys), len(results)-1)]
		*keys = append(*keys, request.Key)
		switch result := result.(type) {
		case error:
			return nil, result
		case raw:
			return &client.Answer{Status: http.StatusOK, Body: []byte(result)}, nil
		}
		return answerTo(request, fmt.Sprint(result)), nil
	}}, keys
}

func TestAnswersPassAsTheyAre(t *testing.T) {
	const result = `{"content":[{"type":"text","text":"<\u2028é>"}],"structuredContent":{"a": [1]}}`
	limited := &client.Failure{
		Status: 429, Code: "RATE_LIMITED",
		Answer: &client.Answer{Body: []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32011}}`)},
	}
	synctest.Test(t, func(t *testing.T) {
		service, _ := answering(result, refusal("FILE_NOT_FOUND"), limited)
		h := connect(t, service, "")
		for _, want := range []string{
			`{"jsonrpc":"2.0","id":1,"result":` + result + `}`,
			`{"jsonrpc":"2.0","id":1,"result":` + refusal("FILE_NOT_FOUND") + `}`,
			string(limited.Answer.Body),
		} {
			h.send(toolCall("1", "file.read", "{}"))
			if got := h.one(); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	})
}

// TestCallsThatWaitTakeTheirTime has calls of a tool that waits for events.
func TestCallsThatWaitTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow []bool
		h := connect(t, &fake{do: func(
			_ context.Context, request *client.Request,
		) (*client.Answer, error) {
			slow = append(slow, request.Slow)
			return answerTo(request, fine), nil
		}}, "")
		for _, arguments := range []string{`{}`, `{"wait":9}`, `{"wait":"9"}`} {
			h.send(toolCall("1", "events_poll", arguments))
			h.one()
		}
		if !slices.Equal(slow, []bool{false, true, true}) {
			t.Errorf("slow: %v", slow)
		}
	})
}

// envelope is a refusal that is no message of the protocol.
func envelope(status int, code string) error {
	return &client.Failure{
		Status: status, Code: code, Message: "No.",
		Answer: &client.Answer{Status: status, Body: []byte(`{"ok":false}`)},
	}
}

func TestFailuresAreResults(t *testing.T) {
	for want, cause := range map[string]error{
		`"code":"SERVER_UNREACHABLE","message":"http://h does not answer: refused.","details":` +
			`{"cause":"refused","retryable":true,"server":"http://h"}`: &client.UnreachableError{
			Server: server, Cause: errors.New("refused"),
		},
		`"code":"SERVER_UNREACHABLE","message":"http://h does not answer: SHUT`: envelope(
			503, "SHUTTING_DOWN"),
		`"code":"CLIENT","message":"the key is open","details":{},"next_step":"think"`: errors.New(
			"the key is open"),
		`"code":"KEY_REVOKED","message":"signing in: No.","details":{},"next_step":"think"`: fmt.Errorf(
			"signing in: %w", envelope(403, "KEY_REVOKED")),
		`"code":"UNKNOWN","message":"No.","details":{},"next_step":"Ask for this command to be run in a ` +
			`shell on this machine, then call again: pws doctor"`: envelope(403, "UNKNOWN"),
		`"code":"RATE_LIMITED","message":"No.","details":{},"next_step":"Wait, and call again with the ` +
			`same arguments."`: &client.Failure{
			Status: 429, Code: "RATE_LIMITED", Message: "No.", Retryable: true,
		},
		`"code":"NO_ANSWER_OF_THE_SERVICE","message":"No.","details":{"retry_after_seconds":100,` +
			`"retryable":true},"next_step":"Wait 100 seconds, and call again with the same ` +
			`arguments."`: &client.Failure{
			Status: 429, Code: client.CodeNoAnswer, Message: "No.", RetryAfter: 100 * time.Second,
		},
		`"code":"SERVER_UNREACHABLE","message":"http://h does not answer: NO_ANSWER_OF_THE_SERVICE: ` +
			`No.","details":{"cause":"NO_ANSWER_OF_THE_SERVICE: No.","retry_after_seconds":100,` +
			`"retryable":true,"server":"http://h"}`: &client.Failure{
			Status: 503, Code: client.CodeNoAnswer, Message: "No.", RetryAfter: 100 * time.Second,
		},
		`"code":"BODY_TOO_LARGE","message":"No.","details":{},"next_step":"Send less in ` +
			`one call."`: envelope(413, "BODY_TOO_LARGE"),
		`"code":"BODY_TOO_LARGE","message":"Too large.","details":{"limit_bytes":7,"next_calls":[]},` +
			`"next_step":"Send less: at most 7 bytes in one call."`: &client.Failure{
			Status: 413, Code: "BODY_TOO_LARGE", Message: "Too large.", Details: jsontext.Value(
				`{"limit_bytes":7,"next_calls":[],"next_step":"Send less."}`),
		},
		`"code":"KEY_NOT_FOUND","message":"signing in as profile ada: No.","details":{},` +
			`"next_step":"Ask for this command to be run in a shell on this machine, then call ` +
			`again: think"`: &client.SignInError{Profile: "ada", Cause: &client.Failure{
			Status: 404, Code: "KEY_NOT_FOUND", Message: "No.",
			Details: jsontext.Value(`{"next_calls":[]}`),
		}},
		`"code":"SESSION_EXPIRED","message":"No."`: envelope(401, "SESSION_EXPIRED"),
	} {
		synctest.Test(t, func(t *testing.T) {
			service, _ := answering(cause)
			h := connect(t, service, "")
			h.send(toolCall("1", "file.read", "{}"))
			got := h.one()
			if !strings.Contains(got, `"structuredContent":{`+want) ||
				!strings.Contains(got, `"isError":true}}`) ||
				!strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"result":{"content":[{`) {
				t.Errorf("%v: %s, want %s", cause, got, want)
			}
			h.send(modern("tools/call", `,"name":"file.read"`))
			if got := h.one(); !strings.Contains(got, `"result":{"resultType":"complete",`) ||
				!strings.Contains(got, `"isError":true,"_meta":{"io.modelcontextprotocol/serverInfo"`) {
				t.Errorf("%v: %s", cause, got)
			}
			h.send(`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`)
			if got := h.one(); !strings.Contains(got, `"error":{"code":-32603`) {
				t.Errorf("%v: %s", cause, got)
			}
		})
	}
}

func TestForeignAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := connect(t, &fake{do: func(
			context.Context, *client.Request,
		) (*client.Answer, error) {
			return &client.Answer{Status: http.StatusOK, Body: []byte("<html>")}, nil
		}}, "")
		h.send(toolCall("1", "file.read", "{}"))
		if got := h.one(); !strings.Contains(got, `"code":"NO_ANSWER_OF_THE_SERVICE"`) {
			t.Error(got)
		}
	})
}

func TestWritesWithoutSignInNameTheCommand(t *testing.T) {
	for signedIn, want := range map[bool]string{
		false: "then call again: pws login http://h", true: `"message":"No."`,
	} {
		synctest.Test(t, func(t *testing.T) {
			service, _ := answering(refusal(codeSignIn))
			service.caller = Caller{Server: server, SignedIn: signedIn}
			h := connect(t, service, "")
			h.send(toolCall("1", "project.create", "{}"))
			if got := h.one(); !strings.Contains(got, want) {
				t.Errorf("signed in %t: %s", signedIn, got)
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, keys := answering(fine)
		service.readOnly = true
		h := connect(t, service, "names=underscore")
		h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		list := h.one()
		if strings.Contains(list, `"readOnlyHint":false`) || strings.Contains(list, `"task_claim"`) ||
			!strings.Contains(list, `"file_read"`) || !jsontext.Value(list).IsValid() ||
			strings.Count(list, `"readOnlyHint":true`) != strings.Count(list, `"inputSchema"`) {
			t.Error(list)
		}
		for tool, want := range map[string]string{
			"file_read": `"isError":false`, "file.read": `"isError":false`, "task_claim": codeReadOnly,
			"task.claim": codeReadOnly, "project.delete": codeReadOnly, "later": codeReadOnly,
		} {
			h.send(toolCall("1", tool, "{}"))
			if got := h.one(); !strings.Contains(got, want) {
				t.Errorf("%s: %s", tool, got)
			}
		}
		if len(*keys) != 2 {
			t.Errorf("%d calls", len(*keys))
		}
	})
}

// TestRepeatedCallsShareAKey checks which calls have one effect.
func TestRepeatedCallsShareAKey(t *testing.T) {
	lost := &client.UnreachableError{Server: server, Cause: errors.New("reset")}
	synctest.Test(t, func(t *testing.T) {
		service, keys := answering(fine, fine, fine, fine, fine, lost, fine, fine, lost, fine)
		h := connect(t, service, "")
		for i, step := range []struct {
			line string
			// as is the call before with the same key, -1 for none.
			as    int
			after time.Duration
		}{
			{toolCall("1", "task.create", `{"a":1}`), -1, 0},
			{toolCall("2", "task.create", `{"a":1}`), -1, 0},
			{toolCall("1", "task.create", `{"a":1}`), 0, 0}, // A repeat of the same message.
			{toolCall("1", "task.create", `{"a":2}`), -1, 0},
			{toolCall("3", "task.create", `{"idempotency_key":"mine"}`), -1, 0},
			{toolCall("4", "task.create", `{"a":3}`), -1, 0}, // It ends without an answer.
			{toolCall("5", "task.create", `{"a":3}`), 5, 0},
			{toolCall("6", "task.create", `{"a":3}`), -1, 0},
			{toolCall("7", "task.create", `{"a":4}`), -1, 0}, // It ends without an answer.
			{toolCall("8", "task.create", `{"a":4}`), -1, unansweredFor},
		} {
			pass(step.after)
			h.send(step.line)
			h.one()
			if first := slices.Index(*keys, (*keys)[i]); first != i != (step.as >= 0) ||
				step.as >= 0 && first != step.as {
				t.Errorf("call %d has the key of call %d", i, first)
			}
		}
		if (*keys)[4] != "mine" {
			t.Errorf("key %q", (*keys)[4])
		}
		h.send(toolCall("9", "task.create", `{"idempotency_key":"not visible"}`))
		h.one()
		if last := (*keys)[len(*keys)-1]; last != "" {
			t.Errorf("key %q", last)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		service, keys := answering(fine)
		for range 2 {
			h := connect(t, service, "")
			h.send(toolCall("1", "task.create", `{"a":1}`))
			h.one()
		}
		if (*keys)[0] == (*keys)[1] {
			t.Error("two processes have one key")
		}
	})
}

// TestReplayMarksAreRemoved checks that the answer to a call that the bridge has repeated is the
// first one.
func TestReplayMarksAreRemoved(t *testing.T) {
	const texts = `{"content":[{"type":"text","text":"{}"}`
	const note = `,{"type":"text","text":"This is a replay."}`
	const data = `],"structuredContent":{"a":",\"isError\":true"},"isError":false`
	const replay = `"pws/replay":{"replayed":true,"first_answered_at":"2026-01-01T00:00:00Z"}`
	const info = `"io.modelcontextprotocol/serverInfo":{"name":"pws","version":"1"}`
	for answer, want := range map[string]string{
		texts + note + data + `,"_meta":{` + replay + `}}`:              texts + data + `}`,
		texts + note + data + `,"_meta":{` + info + `,` + replay + `}}`: texts + data + `,"_meta":{` + info + `}}`,
		texts + data + `,"_meta":{` + info + `}}`:                       texts + data + `,"_meta":{` + info + `}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			service, _ := answering(answer)
			h := connect(t, service, "")
			for arguments, want := range map[string]string{
				`{}`: want, `{"idempotency_key":"mine"}`: answer,
			} {
				h.send(toolCall("1", "task.create", arguments))
				if got := h.one(); got != `{"jsonrpc":"2.0","id":1,"result":`+want+`}` {
					t.Errorf("%s: %s, want %s", arguments, got, want)
				}
			}
		})
	}
}

// TestCallAfterAnotherThatReplaces checks that a call which got no answer is made anew, and not
// replayed, AFTER another call of its tool replaced what it wrote.
func TestCallAfterAnotherThatReplaces(t *testing.T) {
	lost := &client.UnreachableError{Server: server, Cause: errors.New("reset")}
	const first, second, other = `"task":"t1"`, `"task":"t2"`, `"project":"p","path":"a"`
	for _, one := range []struct {
		tool, target, between, changes string
		answer                         any
		repeats                        bool
	}{
		{"task.update", first, "task.update", first, fine, false},
		{"task_update", first, "task_update", first, fine, false},
		{"task.update", first, "task.update", second, fine, true},
		{"task.update", first, "task.update", first, refusal("TASK_NOT_FOUND"), true},
		{"task.update", first, "task.get", first, fine, true},
		{"task.create", other, "task.create", other, fine, true},
		{"file.write", other, "file.edit", other, fine, false},
		{"file.write", other, "file.edit", first, fine, true},
		{"file.edit", other, "file.write", other, fine, true},
		{"project.checkpoint", other, "project.checkpoint", other, fine, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			service, keys := answering(lost, one.answer, fine)
			h := connect(t, service, "")
			for _, line := range []string{
				toolCall("1", one.tool, `{`+one.target+`,"title":"A"}`),
				toolCall("2", one.between, `{"title":"B",`+one.changes+`}`),
				toolCall("3", one.tool, `{`+one.target+`,"title":"A"}`),
			} {
				h.send(line)
				h.one()
			}
			if repeats := (*keys)[2] == (*keys)[0]; repeats != one.repeats {
				t.Errorf("%+v: repeats: %t", one, repeats)
			}
		})
	}
}

func TestCallThatStillRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, keys := answering(refusal(codeRunning), refusal(codeRunning), fine)
		h := connect(t, service, "")
		h.send(toolCall("1", "task.create", "{}"))
		pass(time.Minute)
		if got := h.one(); !strings.Contains(got, `"isError":false`) || len(slices.Compact(*keys)) != 1 {
			t.Errorf("%s, keys %q", got, *keys)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		service, _ := answering(refusal(codeRunning))
		h := connect(t, service, "")
		h.send(toolCall("1", "task.create", "{}"))
		pass(time.Minute)
		if got := h.one(); !strings.Contains(got, codeRunning) {
			t.Error(got)
		}
	})
}

// stuck is a service whose answers take until their request is canceled.
func stuck() *fake {
	return &fake{do: func(ctx context.Context, _ *client.Request) (*client.Answer, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
}

// TestWaitingCallsDelayNoOthers has more calls that wait at the server than are sent at one time.
func TestWaitingCallsDelayNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := connect(t, &fake{do: func(
			ctx context.Context, request *client.Request,
		) (*client.Answer, error) {
			if request.Slow {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return answerTo(request, fine), nil
		}}, "")
		for id := range requestsMax + waitingMax {
			h.send(toolCall(fmt.Sprint(id), "events_poll", `{"wait":15}`))
		}
		synctest.Wait()
		h.send(toolCall(`"read"`, "project_list", "{}"))
		begun := time.Now()
		if got := h.one(); string(parseID(got)) != `"read"` || time.Since(begun) > 0 {
			t.Errorf("AFTER %v: %s", time.Since(begun), got)
		}
	})
}

func TestCanceledCallsAreNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := connect(t, stuck(), "")
		const calls = requestsMax + 2 // Two have not been sent yet.
		for id := range calls {
			h.send(toolCall(fmt.Sprint(id), "events.poll", "{}"))
		}
		synctest.Wait()
		for id := range calls {
			h.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled",`+
				`"params":{"requestId":%d,"reason":"late"}}`, id))
		}
		h.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		if got := h.one(); string(parseID(got)) != `"p"` {
			t.Error(got)
		}
		_ = h.in.Close()
		synctest.Wait()
		if err := h.wait(); err != nil {
			t.Error(err)
		}
	})
}

func TestNotesOfProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := connect(t, stuck(), "")
		begun := time.Now()
		h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":` +
			`{"progressToken":"t"}}}`)
		h.send(toolCall("2", "x", "{}"))
		for _, second := range []int{2, 7, 12} {
			pass(time.Duration(second)*time.Second - time.Since(begun) - time.Millisecond)
			if lines := h.said(); len(lines) > 0 {
				t.Errorf("before %d s: %q", second, lines)
			}
			pass(time.Millisecond)
			want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":`+
				`{"progressToken":"t","progress":%d,"message":"Waiting for http://h."}}`, second)
			if got := h.one(); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		pass(answeredFor / 2)
		if lines := h.said(); len(lines) > 0 {
			t.Errorf("after its end: %q", lines)
		}
	})
}

// TestRunningCallsGetTwoSecondsAtTheEnd checks that running calls get two seconds AFTER the input
// has ended, or a signal came.
func TestRunningCallsGetTwoSecondsAtTheEnd(t *testing.T) {
	for name, end := range map[string]func(*host){
		"input":  func(h *host) { _ = h.in.Close() },
		"signal": func(h *host) { h.end() },
	} {
		for _, takes := range []time.Duration{graceAtEnd / 2, 2 * graceAtEnd} {
			synctest.Test(t, func(t *testing.T) {
				h := connect(t, &fake{do: func(
					ctx context.Context, request *client.Request,
				) (*client.Answer, error) {
					select {
					case <-ctx.Done():
						return nil, ctx.Err()
					case <-time.After(takes):
						return answerTo(request, fine), nil
					}
				}}, "")
				h.send(toolCall("1", "task.create", "{}"))
				synctest.Wait()
				begun := time.Now()
				end(h)
				if err := h.wait(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				took := time.Since(begun)
				if answered := len(h.said()) == 1; answered != (takes < graceAtEnd) ||
					took != min(takes, graceAtEnd) {
					t.Errorf("%s: answered %t after %s", name, answered, took)
				}
			})
		}
	}
}

// TestEndOfADeafHost has a host that sends and does not read. Its claim is not renewed AFTER that.
func TestEndOfADeafHost(t *testing.T) {
	for name, end := range map[string]func(*host){
		"input":  func(h *host) { _ = h.in.Close() },
		"signal": func(h *host) { h.end() },
	} {
		synctest.Test(t, func(t *testing.T) {
			service := &claiming{}
			h := connect(t, &fake{do: service.do, deaf: true}, "")
			h.send(toolCall("1", "task.claim", "{}"), modern("tools/list", ""), "nonsense",
				modern("ping", ""), toolCall("2", "task.claim", "{}"))
			synctest.Wait()
			begun := time.Now()
			end(h)
			if err := h.wait(); err != nil || time.Since(begun) > graceAtEnd {
				t.Errorf("%s: %v after %s", name, err, time.Since(begun))
			}
			pass(time.Hour)
			service.expect(t)
		})
	}
}

// TestMemoryIsFlat compares the memory after many calls with that after few.
func TestMemoryIsFlat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 32<<10) + `"}]}`
		service := &fake{do: func(
			_ context.Context, request *client.Request,
		) (*client.Answer, error) {
			return answerTo(request, large), nil
		}}
		h := connect(t, service, "")
		heap := func(calls int) uint64 {
			for id := range calls {
				h.send(toolCall(fmt.Sprint(id), "file.read", `{"path":"`+strings.Repeat("y", 4096)+`"}`))
				if id%64 == 0 {
					h.said()
				}
			}
			h.said()
			runtime.GC()
			var seen runtime.MemStats
			runtime.ReadMemStats(&seen)
			return seen.HeapAlloc
		}
		few := heap(200)
		const growth = 1 << 20
		if many := heap(4000); many > few+growth {
			t.Errorf("%d bytes after 200 calls, %d after 4,200", few, many)
		}
	})
}

// TestTooLongNamesAreRefused has names and versions that are too long for the headers of a server.
// They are refused as what they are.
func TestTooLongNamesAreRefused(t *testing.T) {
	long := strings.Repeat("é", 40_000)
	for text, want := range map[string]string{
		modern("tools/call", `,"name":"`+long+`"`): "-32602",
		modern(long, ""): "-32601",
		strings.Replace(modern("x", ""), "2026-07-28", long, 1):     "-32022",
		modern("tools/call", `,"name":"`+long+`","arguments":null`): "-32602",
	} {
		synctest.Test(t, func(t *testing.T) {
			h := connect(t, unasked(t), "")
			h.send(text)
			if got := h.one(); !strings.Contains(got, `"id":7,"error":{"code":`+want) {
				t.Errorf("%.100s: %.200s, want %s", text, got, want)
			}
		})
	}
}

// TestLogsAreShort fails a call of a tool with a long name.
func TestLogsAreShort(t *testing.T) {
	var log strings.Builder
	service := &fake{do: func(context.Context, *client.Request) (*client.Answer, error) {
		return nil, &client.Failure{Status: 500, Code: "INTERNAL"}
	}}
	b := New(Config{
		Service: service, Log: slog.New(slog.NewTextHandler(&log, nil)),
		NextStep: func(error) string { return "think" },
		Offline:  func(string) (Offline, error) { return nil, errors.New("none") },
	})
	call := toolCall("1", strings.Repeat("x", 70_000), "{}")
	b.ask(t.Context(), t.Context(), parse([]byte(call)))
	if size := log.Len(); size == 0 || size > 1000 {
		t.Errorf("the log has %d bytes", size)
	}
}
