package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pws/client"
)

const (
	// repeatedFor is how long a request is repeated AFTER its message came.
	repeatedFor = 20 * time.Second
	// answeredFor is when the bridge answers at the latest, AFTER the message came. Many hosts give
	// up 60 seconds AFTER they have sent it.
	answeredFor = 50 * time.Second
	// movingFor is how long a request may go on beyond that AFTER bytes of the message, or of its
	// answer, went on.
	movingFor = 10 * time.Second
)

// errLate ends a request that the server has not answered in time.
var errLate = fmt.Errorf("no answer within %.0f seconds", answeredFor.Seconds())

// limited returns the context of a request, which ends when it must be answered. The server may
// take its time for those that ask it to wait.
func (m *message) limited(ctx context.Context) (limited context.Context, end func()) {
	limited, cancel := context.WithCancelCause(ctx)
	if m.waits {
		return limited, func() { cancel(nil) }
	}
	last := m.came.Add(answeredFor)
	timer := time.AfterFunc(time.Until(last), func() { cancel(errLate) })
	m.moved = func() { timer.Reset(max(time.Until(last), movingFor)) }
	return limited, func() {
		timer.Stop()
		cancel(nil)
	}
}

// late is the error of a request that ended in its context. Errors: *client.UnreachableError with
// errLate, the given one.
func (b *Bridge) late(limited context.Context, err error) error {
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(limited), errLate) {
		return &client.UnreachableError{Server: b.cfg.Service.Caller().Server, Cause: errLate}
	}
	return err
}

// unsent is the answer to a request that was not sent in time, because of those before it.
func (b *Bridge) unsent(m *message) []byte {
	return b.failed(m, unreachable(b.cfg.Service.Caller().Server, fmt.Sprintf(
		"%d calls before this one have no answer, so it was not sent", requestsMax)))
}
