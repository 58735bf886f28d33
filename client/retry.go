package client

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"time"
)

// The retries of a request at one address: the usual number of attempts that are answered, and the
// pause after the first one, which doubles up to a longest one. A random part of up to the same
// length is added. Without an answer only the time ends them.
const (
	attemptsMax  = 5
	firstPause   = 200 * time.Millisecond
	longestPause = firstPause << (attemptsMax - 1)
	RetryUsually = 30 * time.Second
)

// The rounds over several addresses: none begins later than roundsFor after the request, and the
// pause before it is at most roundPauseMax, whatever a server asks for: another may answer already.
const (
	roundsFor     = 10 * time.Second
	roundPauseMax = time.Second
)

// attempts are those of one request at the addresses of its client.
type attempts struct {
	client  *Client
	request *Request
	begun   time.Time
	// at is the index of the present address.
	at int
	// attempts were made where the server asked to come again, or there is no other; answered are
	// those of them that got an answer.
	attempts, answered int
	// tried are the addresses of this round that did not take the request, asked the longest pause
	// that one of them wants, rounds the rounds before.
	tried, rounds int
	asked         time.Duration
	// unsure is true if an attempt may have taken effect.
	unsure bool
	// early is the first address that was left early, negative for none. Unless another one has
	// answered by the end of the round, one more is patient and begins there: a service that is slow
	// answers, too.
	early   int
	patient bool
}

func (c *Client) attempts(request *Request) *attempts {
	begun := request.Begun
	if begun.IsZero() {
		begun = c.now()
	}
	return &attempts{
		client: c, request: request, begun: begun, at: int(c.addresses.current.Load()), early: -1,
	}
}

// address is the base URL to send to.
func (w *attempts) address() string { return w.client.addresses.all[w.at] }

// target is where the next attempt goes.
func (w *attempts) target() target {
	if w.prompt() {
		return target{w.address(), w.client.prompt}
	}
	return target{w.address(), w.client.http}
}

// prompt reports whether the next attempt leaves an address early that does not answer: another one
// may, with no other effect. Where no round follows, the last address gets its time.
func (w *attempts) prompt() bool {
	c := w.client
	return !w.patient && c.addresses.several() && w.request.repeatable(true) &&
		!w.request.mayBeSlow() && (c.RetryFor > 0 || w.tried < len(c.addresses.all)-1)
}

// leftEarly reports whether an attempt was one of those, and had no answer in time.
func (w *attempts) leftEarly(err error) bool {
	var unsent *unsentError
	var lost *UnreachableError
	var slow net.Error
	return w.prompt() && !errors.As(err, &unsent) && errors.As(err, &lost) && !lost.unsent &&
		errors.As(lost.Cause, &slow) && slow.Timeout()
}

// Do sends a request, repeats it where that is safe, and returns an answer of success.
//
// Errors: *Failure, *UnreachableError, and those of Credentials and the context. If the context
// ends a pause, the error is that of the context and that of the last attempt.
func (c *Client) Do(ctx context.Context, request *Request) (*Answer, error) {
	var answer *Answer
	err := c.repeated(ctx, request, func(next target) (err error) {
		answer, err = c.signed(ctx, next, request)
		return err
	})
	return answer, err
}

// repeated calls send with the next target until it succeeds, or should not be called again.
func (c *Client) repeated(
	ctx context.Context, request *Request, send func(next target) error,
) error {
	way := c.attempts(request)
	for {
		err := send(way.target())
		if ctx.Err() != nil {
			return way.ended(err)
		}
		if way.note(err); err == nil {
			return nil
		}
		wait, again := way.next(err)
		if !again {
			return way.ended(err)
		}
		if wait > 0 {
			if ended := c.wait(ctx, wait); ended != nil {
				return way.ended(fmt.Errorf("%w; before that: %w", ended, err))
			}
		}
		way.unsure = way.unsure || !Undone(err)
	}
}

// outcome is what may follow a failed attempt.
type outcome int

const (
	// final: the error is the answer.
	final outcome = iota
	// later: the same server may carry out the request after a pause.
	later
	// elsewhere: another server may carry it out now.
	elsewhere
)

// outcome says what may follow. A request that may have taken effect is not sent again unless a
// second execution has no other effect than the first.
func (w *attempts) outcome(err error) outcome {
	safe := w.request.repeatable(w.client.addresses.several())
	var failure *Failure
	var unreachable *UnreachableError
	switch {
	case errors.As(err, &unreachable):
		if safe || unreachable.unsent {
			return elsewhere
		}
	case !errors.As(err, &failure):
	case failure.nothingDone():
		return elsewhere
	case failure.outcomeUnknown():
		if safe {
			return elsewhere
		}
	// The server has not read the whole request, so it did nothing.
	case failure.Status == http.StatusRequestTimeout,
		failure.Status == http.StatusTooManyRequests,
		failure.Status == http.StatusServiceUnavailable:
		return later
	case failure.Status == http.StatusBadGateway:
		if safe {
			return later
		}
	case failure.Code == codeStillRunning:
		return later
	}
	return final
}

// note notes whether the present address has answered, for the requests that follow. An attempt
// that got no credential was not sent.
func (w *attempts) note(err error) {
	var lost *UnreachableError
	var failure *Failure
	var unsent *unsentError
	switch {
	case errors.As(err, &unsent):
	case errors.As(err, &lost), errors.As(err, &failure) && failure.ofServer():
		w.client.addresses.left(w.at)
	default:
		w.client.addresses.answered(w.at)
	}
}

// next goes to the address of the next attempt. It returns how long to wait before, and false if
// there should be none.
func (w *attempts) next(err error) (time.Duration, bool) {
	c, outcome := w.client, w.outcome(err)
	switch {
	case outcome == final:
		return 0, false
	case outcome == elsewhere && c.addresses.several():
		if w.early < 0 && w.leftEarly(err) {
			w.early = w.at
		}
		wait := w.move(err)
		if wait > 0 && w.early >= 0 && !w.patient {
			w.at, w.patient = w.early, true
			return 0, c.RetryFor > 0
		}
		return wait, wait == 0 || w.within(wait, min(c.RetryFor, roundsFor))
	}
	w.attempts++
	var lost *UnreachableError
	if !errors.As(err, &lost) {
		w.answered++
	}
	wait := longestPause
	if w.attempts < attemptsMax {
		wait = firstPause << (w.attempts - 1)
	}
	wait = max(wait+mathrand.N(wait), askedPause(err))
	return wait, w.answered < c.Attempts && w.within(wait, c.RetryFor)
}

// within reports whether a pause ends in that time of the request.
func (w *attempts) within(wait, most time.Duration) bool {
	return !w.client.now().Add(wait).After(w.begun.Add(most))
}

// move goes to the next address. It returns no pause within a round: a round that has begun is
// completed, so that one slow server does not take the time of the others. What gets no credential
// has asked all addresses for one.
func (w *attempts) move(err error) time.Duration {
	several := len(w.client.addresses.all)
	w.at = (w.at + 1) % several
	w.asked = max(w.asked, askedPause(err))
	var unsent *unsentError
	if w.tried++; w.tried < several && !errors.As(err, &unsent) {
		return 0
	}
	wait := firstPause << min(w.rounds, attemptsMax)
	wait = min(max(wait+mathrand.N(wait), w.asked), roundPauseMax)
	w.tried, w.asked = 0, 0
	w.rounds++
	return wait
}

// reconnect is next for a stream, which has no end.
func (w *attempts) reconnect(err error) time.Duration {
	if w.outcome(err) == elsewhere && w.client.addresses.several() {
		return w.move(err)
	}
	wait := max(firstPause<<min(w.attempts, attemptsMax), askedPause(err))
	w.attempts++
	return wait
}

// progressed notes that a stream has brought something: its pauses start over. The round goes on,
// so that servers that end each stream are not asked without a pause.
func (w *attempts) progressed() { w.attempts, w.rounds = 0, 0 }

// askedPause is the pause that an answer asks for.
func askedPause(err error) time.Duration {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure.RetryAfter
	}
	return 0
}
