package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// losing is a service that takes a second. It loses all answers while it is to, and notes the keys
// of calls by their ids.
type losing struct {
	lose bool
	mu   sync.Mutex
	keys map[string]string
}

func (l *losing) fake() *fake {
	l.lose, l.keys = true, map[string]string{}
	return &fake{do: func(_ context.Context, request *client.Request) (*client.Answer, error) {
		l.mu.Lock()
		l.keys[string(parse(request.Body).id)] = request.Key
		l.mu.Unlock()
		pass(time.Second)
		if l.lose {
			return nil, &client.UnreachableError{Server: server, Cause: errors.New("reset")}
		}
		return answerTo(request, fine), nil
	}}
}

// TestEqualCallsHaveAKeyEach loses the answers to equal calls of two agents, twice. Each of their
// repeats takes the place of one of them.
func TestEqualCallsHaveAKeyEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := new(losing)
		h := connect(t, service.fake(), "")
		call := func(ids ...string) (keys []string) {
			t.Helper()
			for _, id := range ids {
				h.send(toolCall(id, "task.next", "{}"))
			}
			pass(time.Minute)
			h.said()
			for _, id := range ids {
				keys = append(keys, service.keys[id])
			}
			slices.Sort(keys)
			return keys
		}
		first, again := call("1", "2"), call("3", "4")
		service.lose = false
		answered, more := call("5", "6"), call("7")
		if first[0] == first[1] || !slices.Equal(again, first) || !slices.Equal(answered, first) ||
			slices.Contains(first, more[0]) {
			t.Errorf("keys %q, then %q and %q, then %q", first, again, answered, more)
		}
	})
}

// TestMessageThatIsLostTwice sends one message twice at once, and its call with other ids. It has
// one key, which one repeat takes.
func TestMessageThatIsLostTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := new(losing)
		h := connect(t, service.fake(), "")
		h.send(toolCall("1", "task.next", "{}"), toolCall("1", "task.next", "{}"))
		pass(time.Minute)
		h.said()
		service.lose = false
		h.send(toolCall("2", "task.next", "{}"), toolCall("3", "task.next", "{}"))
		pass(time.Minute)
		h.said()
		if k := service.keys; (k["2"] == k["1"]) == (k["3"] == k["1"]) {
			t.Errorf("keys %q", k)
		}
	})
}

// TestTheFirstLostCallsAreDropped loses more calls than are remembered.
func TestTheFirstLostCallsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := new(losing)
		h := connect(t, service.fake(), "")
		const calls = unansweredMax + 2
		call := func(id string, at int) string {
			t.Helper()
			h.send(toolCall(id, "task.create", fmt.Sprintf(`{"a":%d}`, at)))
			pass(time.Second)
			h.one()
			return service.keys[id]
		}
		var lost, repeated []string
		for at := range calls {
			lost = append(lost, call(fmt.Sprint(at), at))
		}
		service.lose = false
		for at := range calls {
			repeated = append(repeated, call(`"again"`, at))
		}
		if !slices.Equal(repeated[2:], lost[2:]) || repeated[0] == lost[0] || repeated[1] == lost[1] {
			t.Error("other keys than those of the last calls are remembered")
		}
	})
}

// raw is the body of an answer that is sent as it is.
type raw string

// TestCallsWithoutAnAnswerOfTheServer has answers of others, and answers without their ends. The
// server may have carried out the calls, so a repeat has the same key.
func TestCallsWithoutAnAnswerOfTheServer(t *testing.T) {
	const whole = `{"jsonrpc":"2.0","id":1,"result":` + fine + `}`
	for body, want := range map[string]string{
		"<html>": `"code":"NO_ANSWER_OF_THE_SERVICE","message":"The address http://h did not answer ` +
			`like a pws server. The call may have been carried out.","details":{"retryable":true,` +
			`"server":"http://h"},"next_step":"Call again`,
		whole[:len(whole)/2]: `"code":"SERVER_UNREACHABLE"`,
		whole[:len(whole)-1]: `"code":"SERVER_UNREACHABLE"`,
		whole[:5]:            `"code":"SERVER_UNREACHABLE"`,
		"":                   `"code":"SERVER_UNREACHABLE"`,
	} {
		synctest.Test(t, func(t *testing.T) {
			service, keys := answering(fine, raw(body))
			h := connect(t, service, "")
			h.send(toolCall("0", "task.get", "{}"))
			h.one()
			for range 2 {
				h.send(toolCall("1", "task.create", "{}"))
				pass(time.Minute)
				if got := h.one(); !strings.Contains(got, want) || !jsontext.Value(got).IsValid() {
					t.Errorf("%q: %s, want %s", body, got, want)
				}
				h.send(toolCall("2", "task.create", "{}"))
				pass(time.Minute)
				h.one()
			}
			if used := slices.Compact((*keys)[1:]); len(used) != 1 {
				t.Errorf("%q: keys %q", body, used)
			}
		})
	}
}

// TestCutAnswersAreAskedForAgain has one answer without its end.
func TestCutAnswersAreAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, keys := answering(raw(`{"jsonrpc":"2.0","id":1,"result":{"content":[`), fine)
		h := connect(t, service, "")
		h.send(toolCall("1", "task.create", "{}"))
		pass(time.Minute)
		if got := h.one(); !strings.Contains(got, fine) || len(slices.Compact(*keys)) != 1 {
			t.Errorf("%s, keys %q", got, *keys)
		}
	})
}

// TestRefusalsThatDecideNothingKeepTheKey checks which refusals leave open whether a call is
// carried out.
func TestRefusalsThatDecideNothingKeepTheKey(t *testing.T) {
	for code, keeps := range map[string]bool{
		codeRunning: true, "STORAGE_UNAVAILABLE": true, "SHUTTING_DOWN": true, "INTERNAL": true,
		"TASK_NOT_FOUND": false, "VALIDATION_FAILED": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			service, keys := answering(refusal(code))
			h := connect(t, service, "")
			for _, id := range []string{"1", "2"} {
				h.send(toolCall(id, "task.create", "{}"))
				pass(time.Minute)
				if got := h.one(); !strings.Contains(got, code) {
					t.Errorf("%s: %s", code, got)
				}
			}
			if kept := len(slices.Compact(*keys)) == 1; kept != keeps {
				t.Errorf("%s: the key was kept: %t", code, kept)
			}
		})
	}
}

// TestCanceledCallThatIsDone has a call whose answer comes when its host has just canceled it. A
// repeat gets what the first call had, and the note about its claim.
func TestCanceledCallThatIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		claims := &claiming{}
		h := connect(t, &fake{do: func(
			ctx context.Context, request *client.Request,
		) (*client.Answer, error) {
			keys = append(keys, request.Key)
			if len(keys) == 1 {
				<-ctx.Done()
			}
			return claims.do(ctx, request)
		}}, "")
		h.send(toolCall("1", "task.next", "{}"))
		synctest.Wait()
		h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		synctest.Wait()
		h.send(toolCall("2", "task.next", "{}"))
		got := h.one()
		if len(keys) != 2 || keys[0] != keys[1] || !strings.Contains(got, keptNote) {
			t.Errorf("%s, keys %q", got, keys)
		}
	})
}
