package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pws/client"
)

const renewAfter = 600 * time.Second

// claiming is a service with one task. It notes when its claim is renewed.
type claiming struct {
	mu      sync.Mutex
	begun   time.Time
	renewed []time.Duration
	// fails is the answer to a renewal, nil for success.
	fails error
	// foreign says that something else answers renewals, with a status of success.
	foreign bool
}

func (c *claiming) do(_ context.Context, request *client.Request) (*client.Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if request.Path == "/api/v1/tasks/tsk_1/claim/renew" {
		c.renewed = append(c.renewed, time.Since(c.begun))
		if string(request.Body) != `{"claim_id":"clm_1","fencing_token":3}` || request.Key == "" {
			return nil, fmt.Errorf("body %s, key %q", request.Body, request.Key)
		}
		if c.foreign {
			return &client.Answer{Status: 200, Body: []byte("<html>")}, nil
		}
		return &client.Answer{Status: 200, Body: []byte("{}")}, c.fails
	}
	if strings.HasPrefix(parse(request.Body).tool, "task") {
		return answerTo(request, `{"content":[{"type":"text","text":"{}"}],"structuredContent":`+
			`{"task":{"id":"tsk_1"},"claim":{"id":"clm_1","fencing_token":3,`+
			`"renew_after_seconds":600}},"isError":false}`), nil
	}
	return answerTo(request, fine), nil
}

// fail sets the answer to renewals.
func (c *claiming) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fails = err
}

// claimed connects a host and takes a claim.
func claimed(t *testing.T, service *claiming) *host {
	t.Helper()
	h := connect(t, &fake{do: service.do}, "")
	service.begun = time.Now()
	h.send(toolCall("1", "task_next", "{}"))
	if got := h.one(); !strings.Contains(got,
		`{"type":"text","text":"{}"},{"type":"text","text":"`+keptNote+`"}],"structuredContent":`) {
		t.Errorf("the answer does not say that the claim is renewed: %s", got)
	}
	return h
}

// call calls a tool.
func (h *host) call(tool string) string {
	h.t.Helper()
	h.send(toolCall("1", tool, "{}"))
	return h.one()
}

func (c *claiming) expect(t *testing.T, want ...time.Duration) {
	t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if fmt.Sprint(c.renewed) != fmt.Sprint(want) {
		t.Errorf("renewed after %v, want %v", c.renewed, want)
	}
}

func TestClaimsAreRenewedWhileToolsAreCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &claiming{}
		h := claimed(t, service)
		pass(time.Hour)
		service.expect(t, renewAfter, 2*renewAfter, 3*renewAfter)
		// The next call renews what is due.
		h.call("file_read")
		service.expect(t, renewAfter, 2*renewAfter, 3*renewAfter, time.Hour)
		pass(renewAfter)
		service.expect(t, renewAfter, 2*renewAfter, 3*renewAfter, time.Hour, time.Hour+renewAfter)
	})
}

func TestClaimsAreRenewedForEightHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &claiming{}
		h := claimed(t, service)
		for range 12 * 60 / 20 {
			pass(20 * time.Minute)
			h.call("file_read")
		}
		synctest.Wait()
		service.mu.Lock()
		defer service.mu.Unlock()
		if last := service.renewed[len(service.renewed)-1]; last != keptFor {
			t.Errorf("renewed for %s", last)
		}
	})
}

func TestOwnRenewalsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &claiming{}
		h := claimed(t, service)
		pass(renewAfter / 2)
		if got := h.call("task.renew"); strings.Contains(got, keptNote) {
			t.Errorf("a renewal has a note: %s", got)
		}
		pass(renewAfter)
		service.expect(t, renewAfter*3/2)
	})
}

func TestLostClaimsAreNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &claiming{fails: &client.Failure{Status: 409, Code: "CLAIM_LOST"}}
		claimed(t, service)
		pass(time.Hour)
		service.expect(t, renewAfter)
	})
}

func TestRenewalsAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &claiming{fails: &client.UnreachableError{Cause: errors.New("refused")}}
		claimed(t, service)
		pass(renewAfter + nextAttempt)
		service.expect(t, renewAfter, renewAfter+nextAttempt)
		service.fail(nil)
		pass(nextAttempt + renewAfter)
		service.expect(t, renewAfter, renewAfter+nextAttempt, renewAfter+2*nextAttempt,
			2*renewAfter+2*nextAttempt)
	})
}

// TestForeignAnswersRenewNothing has a page of a proxy as the answer to renewals.
func TestForeignAnswersRenewNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &claiming{foreign: true}
		claimed(t, service)
		pass(renewAfter + nextAttempt)
		service.expect(t, renewAfter, renewAfter+nextAttempt)
	})
}

// TestRenewalsOutliveTheSession has refusals of the caller's session, which a login repairs.
func TestRenewalsOutliveTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &claiming{fails: &client.Failure{Status: 401, Code: "SESSION_INVALID"}}
		claimed(t, service)
		pass(renewAfter + nextAttempt)
		service.expect(t, renewAfter, renewAfter+nextAttempt)
		service.fail(&client.Failure{Status: 404, Code: "TASK_NOT_FOUND"})
		pass(time.Hour)
		service.expect(t, renewAfter, renewAfter+nextAttempt, renewAfter+2*nextAttempt)
	})
}

func TestNothingIsRenewedAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &claiming{}
		h := claimed(t, service)
		_ = h.in.Close()
		if err := h.wait(); err != nil {
			t.Error(err)
		}
		pass(time.Hour)
		service.expect(t)
	})
}
