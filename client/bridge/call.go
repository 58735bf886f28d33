package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"pws/client"
)

// runningPause is the pause AFTER an answer that says that the first attempt still runs at the
// server, and AFTER one without its end.
const runningPause = 500 * time.Millisecond

// forward sends a request to the server and answers it, unless it was canceled.
func (b *Bridge) forward(ctx context.Context, m *message) {
	// No note follows the answer.
	stop := b.noteProgress(ctx, m)
	defer stop()
	slots := b.slots
	if m.waits {
		// A request that is answered at once does not wait for these.
		slots = b.waiting
	}
	limited, end := m.limited(ctx)
	defer end()
	begun := time.Now()
	var answer []byte
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
		begun = time.Now()
		if m.method == methodCall {
			b.claims.called()
		}
		answer = b.ask(ctx, limited, m)
	case <-limited.Done():
		answer = b.unsent(m)
	}
	b.cfg.Log.Debug("request", slog.String("method", short(m.method)),
		slog.String("tool", short(m.tool)), slog.Duration("elapsed", time.Since(begun)),
		slog.Bool("canceled", ctx.Err() != nil))
	stop()
	if ctx.Err() == nil {
		b.write(answer)
	}
}

// ask returns the answer to a request, whose part at the server is limited.
func (b *Bridge) ask(ctx, limited context.Context, m *message) []byte {
	if b.cfg.ReadOnly && m.method == methodCall && m.named && !b.hintsOf(m.tool).ReadOnly {
		return b.failed(m, &problem{
			Code:     codeReadOnly,
			Message:  "This server was started with --read-only, and this tool changes data.",
			NextStep: "Do not call it, or ask for `pws mcp` to be started without --read-only.",
		})
	}
	if m.headersBytes() > headersMax {
		return b.askOffline(m)
	}
	sent := b.requestOf(m)
	sent.Begun, sent.Moved = m.came, m.moved
	repeats := true
	if m.method == methodCall {
		sent.Key, repeats = b.keyOf(m)
		sent.Refusal, sent.Slow = refusalIn, m.waits
	}
	said, err := b.send(limited, m, sent)
	if err != nil {
		return b.failureAnswer(ctx, m, sent.Key, b.late(limited, err))
	}
	if m.method != methodCall {
		return said
	}
	refused := refusalIn(said)
	done := m.resultOf(said) != nil && refused == nil
	if done && ctx.Err() != nil || refused != nil && slices.Contains(unsureCodes, refused.Code) {
		b.remember(m, sent.Key)
	}
	if ctx.Err() != nil {
		return nil
	}
	if !repeats {
		said = withoutReplay(said)
	}
	caller := b.cfg.Service.Caller()
	if !caller.SignedIn && refused != nil && refused.Code == codeSignIn {
		return b.failed(m, signIn(caller))
	}
	if done {
		b.forget(m)
	}
	return b.claims.taken(m, said)
}

// askOffline answers a request that no server can take. It is refused for what is that long: there
// is no such tool, method or version.
func (b *Bridge) askOffline(m *message) []byte {
	offline, err := b.offline(b.cfg.Service.Caller().Server)
	if err != nil {
		return errorAnswer(m.id, codeInternal, err.Error())
	}
	return m.response(offline.Answer(b.cfg.Query, m.headers(), m.line))
}

var (
	// errForeign reports an answer that is none of the endpoint, errCut one without its end.
	errForeign = errors.New("the answer is not one of a pws server")
	errCut     = errors.New("the answer ends in the middle")
)

// send sends a request again while an attempt before it still runs at the server, and AFTER an
// answer without its end. Errors: those of once.
func (b *Bridge) send(ctx context.Context, m *message, sent *client.Request) ([]byte, error) {
	ends := m.came.Add(repeatedFor)
	for {
		said, err := b.once(ctx, m, sent)
		again := err == nil && refusalCode(said) == codeRunning ||
			errors.Is(err, errCut) && (m.method != methodCall || sent.Key != "")
		if !again || time.Now().After(ends) {
			return said, err
		}
		timer := time.NewTimer(runningPause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

// once returns the answer to a message that is sent as this request. Errors: those of the service,
// errForeign, and *client.UnreachableError with errCut.
func (b *Bridge) once(ctx context.Context, m *message, sent *client.Request) ([]byte, error) {
	answer, err := b.cfg.Service.Do(ctx, sent)
	if err != nil {
		return nil, err
	}
	said, server := m.response(answer.Body), b.cfg.Service.Caller().Server
	switch {
	case said != nil:
		b.mu.Lock()
		b.mu.answered = server
		b.mu.Unlock()
		return said, nil
	case isCut(answer.Body):
		return nil, &client.UnreachableError{Server: server, Cause: errCut}
	}
	return nil, errForeign
}

// foreign is the answer to a request that something else than the server has answered. The server
// may have received it.
func (b *Bridge) foreign(m *message, server string) *problem {
	b.mu.Lock()
	known := b.mu.answered == server
	b.mu.Unlock()
	p := &problem{
		Code:     client.CodeNoAnswer,
		Message:  "The address " + server + " did not answer like a pws server.",
		NextStep: "Check the address of the server: pws whoami.",
	}
	if m.method == methodCall {
		p.Message += " The call may have been carried out."
	}
	if known {
		p.Details = map[string]any{"server": server, "retryable": true}
		p.NextStep = callAgain
	}
	return p
}

// signIn is the answer to a write without a session.
func signIn(caller Caller) *problem {
	return &problem{
		Code:     codeSignIn,
		Message:  "This needs an agent that is signed in at " + caller.Server + ".",
		NextStep: askFor + signInCommand(caller.Server),
	}
}

// askFor begins a next step that only a shell has.
const askFor = "Ask for this command to be run in a shell on this machine, then call again: "

// nextStep is what to do after an error. It is never empty.
func (b *Bridge) nextStep(err error) string {
	var failure *client.Failure
	if step := b.cfg.NextStep(err); step != "" {
		return step
	}
	if !errors.As(err, &failure) {
		return askFor + "pws doctor"
	}
	var limit int64
	switch {
	case failure.Code == "BODY_TOO_LARGE" && failure.Detail("limit_bytes", &limit):
		return fmt.Sprintf("Send less: at most %d bytes in one call.", limit)
	case failure.Code == "BODY_TOO_LARGE":
		return "Send less in one call."
	case failure.RetryAfter > 0:
		return fmt.Sprintf("Wait %d seconds, and call again with the same arguments.",
			secondsOf(failure.RetryAfter))
	case failure.Retryable, failure.Status == http.StatusTooManyRequests:
		return "Wait, and call again with the same arguments."
	}
	return askFor + "pws doctor"
}

// messageOf is the text of an error without the code of its failure, which has a member of its own.
func messageOf(err error, failure *client.Failure) string {
	return strings.Replace(err.Error(), failure.Error(), failure.Message, 1)
}

// failureAnswer is the answer to a request that ended with an error.
func (b *Bridge) failureAnswer(ctx context.Context, m *message, key string, err error) []byte {
	var failure *client.Failure
	var lost *client.UnreachableError
	var unsigned *client.SignInError
	if !client.Refused(err) {
		b.remember(m, key)
	}
	refused := errors.As(err, &failure)
	if ctx.Err() != nil {
		return nil
	}
	expired := refused &&
		(failure.Code == "SESSION_INVALID" || failure.Code == "SESSION_EXPIRED")
	if refused && failure.Answer != nil && !expired {
		if said := m.response(failure.Answer.Body); said != nil {
			return said
		}
	}
	b.cfg.Log.Warn("a request failed", slog.String("method", short(m.method)),
		slog.String("tool", short(m.tool)), slog.String("error", err.Error()))
	caller := b.cfg.Service.Caller()
	switch {
	case errors.As(err, &lost):
		return b.failed(m, unreachable(lost.Server, lost.Cause.Error()))
	case errors.Is(err, errForeign):
		return b.failed(m, b.foreign(m, caller.Server))
	case !refused:
		return b.failed(m, &problem{
			Code: codeFailed, Message: err.Error(), NextStep: b.nextStep(err),
		})
	case expired && caller.Given:
		// The details are advice for those who can sign in.
		return b.failed(m, &problem{
			Code: failure.Code, Message: messageOf(err, failure), NextStep: b.nextStep(err),
		})
	case expired:
		return b.failed(m, &problem{
			Code: failure.Code, Message: messageOf(err, failure),
			NextStep: askFor + signInCommand(caller.Server),
		})
	case errors.As(err, &unsigned) && unsigned.IsUnknown():
		// The details are advice for those who search for an agent.
		return b.failed(m, &problem{
			Code: failure.Code, Message: messageOf(err, failure), NextStep: askFor + b.nextStep(err),
		})
	case failure.Status == http.StatusBadGateway, failure.Status == http.StatusServiceUnavailable,
		failure.Status == http.StatusGatewayTimeout:
		p := unreachable(caller.Server, err.Error())
		maps.Copy(p.Details, pauseOf(failure))
		return b.failed(m, p)
	default:
		return b.failed(m, &problem{
			Code: failure.Code, Message: messageOf(err, failure), Details: detailsOf(failure),
			NextStep: b.nextStep(err),
		})
	}
}

// detailsOf are the details of a failure without its next step, which has a member of its own, and
// with the pause that its answer asks for.
func detailsOf(failure *client.Failure) map[string]any {
	all := pauseOf(failure)
	if json.Unmarshal(failure.Details, &all, lenient) != nil || all == nil {
		return pauseOf(failure)
	}
	delete(all, "next_step")
	return all
}

// pauseOf is the pause that an answer asks for, as details have it.
func pauseOf(failure *client.Failure) map[string]any {
	if failure.RetryAfter <= 0 {
		return map[string]any{}
	}
	return map[string]any{
		"retryable": true, "retry_after_seconds": secondsOf(failure.RetryAfter),
	}
}

// secondsOf is a time in whole seconds, rounded up.
func secondsOf(wait time.Duration) int64 { return int64((wait + time.Second - 1) / time.Second) }

// callAgain is what to do AFTER a call without an answer.
const callAgain = "Call again, with the same arguments: even if the server has received this " +
	"call, both have one effect."

// unreachable is the answer of a server that does not answer.
func unreachable(server, cause string) *problem {
	return &problem{
		Code:     codeUnreachable,
		Message:  server + " does not answer: " + strings.TrimSuffix(cause, ".") + ".",
		Details:  map[string]any{"server": server, "cause": cause, "retryable": true},
		NextStep: callAgain,
	}
}
