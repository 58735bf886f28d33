package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// refusedFor refuses with a reason in the details.
func refusedFor(status int, code, reason string) http.HandlerFunc {
	body := strings.Replace(refusal, "%CODE", code, 1)
	return answer(status, strings.Replace(body, `"agent_id":"agt_1"`, `"reason":"`+reason+`"`, 1))
}

// TestUndoneRequestsAreKnown tells the ends of a request that had no effect from those that may
// have had one.
func TestUndoneRequestsAreKnown(t *testing.T) {
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		undone  bool
	}{
		"a lost answer":         {[]http.HandlerFunc{cut}, false},
		"a final refusal":       {[]http.HandlerFunc{refused(409, "PROJECT_MOVED")}, true},
		"a limit":               {[]http.HandlerFunc{refused(429, "RATE_LIMITED")}, true},
		"a stop":                {[]http.HandlerFunc{refused(503, "SHUTTING_DOWN")}, true},
		"an error of a server":  {[]http.HandlerFunc{refused(500, "INTERNAL")}, false},
		"a proxy":               {[]http.HandlerFunc{answer(502, "<html>")}, false},
		"a proxy that is busy":  {[]http.HandlerFunc{answer(503, "<html>")}, false},
		"a proxy that refuses":  {[]http.HandlerFunc{answer(403, "<html>")}, true},
		"it runs":               {[]http.HandlerFunc{refused(409, "IDEMPOTENCY_IN_PROGRESS")}, false},
		"storage without words": {[]http.HandlerFunc{refused(503, "STORAGE_UNAVAILABLE")}, true},
		"a full disk": {
			[]http.HandlerFunc{refusedFor(503, "STORAGE_UNAVAILABLE", "DISK_RESERVE")}, true,
		},
		"an unknown outcome": {
			[]http.HandlerFunc{refusedFor(503, "STORAGE_UNAVAILABLE", "OUTCOME_UNKNOWN")}, false,
		},
		"a log that failed": {
			[]http.HandlerFunc{refusedFor(503, "STORAGE_UNAVAILABLE", "LOG_FAILED")}, false,
		},
		"a limit after a lost answer": {[]http.HandlerFunc{cut, refused(429, "RATE_LIMITED")}, false},
		"a final refusal after a lost answer": {
			[]http.HandlerFunc{cut, refused(409, "PROJECT_MOVED")}, true,
		},
		// Whose session it is, and what may be seen, is checked before the key is looked for.
		"an ended session after a lost answer": {
			[]http.HandlerFunc{cut, refused(401, "SESSION_REVOKED")}, false,
		},
		"a project that is not seen after a lost answer": {
			[]http.HandlerFunc{cut, refused(404, "PROJECT_NOT_FOUND")}, false,
		},
		"a lost answer after a limit": {[]http.HandlerFunc{refused(429, "RATE_LIMITED"), cut}, false},
	} {
		t.Run(name, func(t *testing.T) {
			server, _ := script(t, c.answers...)
			client, _ := unwaiting(t, server.URL, nil)
			begun := time.Unix(0, 0)
			client.now = func() time.Time {
				begun = begun.Add(time.Second)
				return begun
			}
			_, err := client.Do(t.Context(), &Request{Method: "POST", Path: "/", Key: "k"})
			if err == nil || Undone(err) != c.undone {
				t.Errorf("undone %v after %v", !c.undone, err)
			}
			if Refused(err) != IsCode(err, "PROJECT_MOVED") {
				t.Errorf("refused %v after %v", Refused(err), err)
			}
		})
	}
	if Undone(nil) || Refused(nil) || Undone(errors.New("something else")) {
		t.Error("undone without a request")
	}
}

// TestUndoneUnsent has requests that never leave the machine.
func TestUndoneUnsent(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	post := func(ctx context.Context, client *Client) error {
		client.RetryFor = 0
		_, err := client.Do(ctx, &Request{Method: "POST", Path: "/", Key: "k"})
		return err
	}
	client, _ := unwaiting(t, server.URL, nil)
	if err := post(t.Context(), client); !Undone(err) {
		t.Errorf("a refused connection: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := post(ended, client); !Undone(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
	client, _ = unwaiting(t, server.URL, failing{})
	if err := post(t.Context(), client); !Undone(err) || !errors.Is(err, errLostSignIn) ||
		Refused(err) {
		t.Errorf("no credential: %v", err)
	}
}

var errLostSignIn error = &UnreachableError{Cause: errors.New("the answer of a sign-in is lost")}

// failing has no credential.
type failing struct{}

func (failing) Credential(context.Context) (string, error)    { return "", errLostSignIn }
func (failing) Renew(context.Context, string) (string, error) { return "", errLostSignIn }

// TestNoHiddenRepeats has a connection that was used before end without an answer: the request goes
// out once, as Undone takes for granted.
func TestNoHiddenRepeats(t *testing.T) {
	server, asked := script(t, answer(200, fine), cut, answer(200, fine))
	client, _ := unwaiting(t, server.URL, nil)
	client.RetryFor = 0
	for nth, failed := range []bool{false, true} {
		request := &Request{Method: "POST", Path: "/", Key: "k", Body: []byte("{}")}
		_, err := client.Do(t.Context(), request)
		if (err != nil) != failed || int(asked.Load()) != nth+1 {
			t.Errorf("%v after %d requests", err, asked.Load())
		}
	}
}

// TestInterruptedPause has the context end while a request waits for its repetition.
func TestInterruptedPause(t *testing.T) {
	server, _ := script(t, answer(http.StatusOK, ""))
	server.Close()
	c, _ := unwaiting(t, server.URL, nil)
	ctx, cancel := context.WithCancel(t.Context())
	c.wait = func(ctx context.Context, _ time.Duration) error {
		cancel()
		return ctx.Err()
	}
	err := c.Call(ctx, http.MethodPost, "/", nil, nil)
	var lost *UnreachableError
	if !errors.Is(err, context.Canceled) || !errors.As(err, &lost) || !Undone(err) {
		t.Errorf("the request ended with %v", err)
	}
}
