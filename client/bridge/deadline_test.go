package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pws/client"
)

// TestSilentServerIsLeftInTime has a server that takes requests and stays silent, and more calls
// than are sent at one time.
func TestSilentServerIsLeftInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := connect(t, stuck(), "")
		const calls = 2*requestsMax + 1
		for id := range calls {
			h.send(toolCall(fmt.Sprint(id), "task.create", "{}"))
		}
		h.send(toolCall(`"poll"`, "events.poll", `{"wait":30}`))
		pass(answeredFor - time.Millisecond)
		if lines := h.said(); len(lines) > 0 {
			t.Errorf("too early: %q", lines)
		}
		pass(time.Millisecond)
		lines, unsent := h.said(), 0
		for _, line := range lines {
			if !strings.Contains(line, `"code":"SERVER_UNREACHABLE"`) {
				t.Error(line)
			}
			if strings.Contains(line, "16 calls before this one have no answer") {
				unsent++
			} else if !strings.Contains(line, "no answer within 50 seconds") {
				t.Error(line)
			}
		}
		if len(lines) != calls || unsent == 0 {
			t.Errorf("%d answers, %d of them of calls that were not sent", len(lines), unsent)
		}
	})
}

// TestLateCallsKeepTheirKeys repeats a call that was not answered in time.
func TestLateCallsKeepTheirKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		h := connect(t, &fake{do: func(
			ctx context.Context, request *client.Request,
		) (*client.Answer, error) {
			keys = append(keys, request.Key)
			<-ctx.Done()
			return nil, ctx.Err()
		}}, "")
		for id := range 2 {
			h.send(toolCall(fmt.Sprint(id), "task.create", "{}"))
			pass(answeredFor)
			h.one()
		}
		if keys[0] != keys[1] {
			t.Errorf("keys %q", keys)
		}
	})
}

// TestTimeOfRepeatingBeginsWithTheMessage has calls that fail as long as they are repeated, and
// more of them than are sent at one time.
func TestTimeOfRepeatingBeginsWithTheMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := connect(t, &fake{do: func(
			_ context.Context, request *client.Request,
		) (*client.Answer, error) {
			pass(time.Until(request.Begun.Add(repeatedFor)))
			return nil, &client.UnreachableError{Server: server, Cause: errors.New("reset")}
		}}, "")
		const calls = 100
		for id := range calls {
			h.send(toolCall(fmt.Sprint(id), "task.create", "{}"))
		}
		pass(repeatedFor)
		if lines := h.said(); len(lines) != calls {
			t.Errorf("%d answers", len(lines))
		}
	})
}

// TestMovingCallsTakeTheirTime has a call whose bytes go on for long, and then no more.
func TestMovingCallsTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := connect(t, &fake{do: func(
			ctx context.Context, request *client.Request,
		) (*client.Answer, error) {
			for range 100 {
				pass(time.Second)
				request.Moved()
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}}, "")
		h.send(toolCall("1", "artifact.create", "{}"))
		pass(100*time.Second + movingFor - time.Millisecond)
		if lines := h.said(); len(lines) > 0 {
			t.Errorf("too early: %q", lines)
		}
		pass(time.Millisecond)
		if got := h.one(); !strings.Contains(got, `"code":"SERVER_UNREACHABLE"`) {
			t.Error(got)
		}
	})
}
