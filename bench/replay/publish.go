package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"pws/bench/client"
)

// attemptsMax bounds how often one request is sent.
const attemptsMax = 20

// retryPause is the pause BEFORE a retryable request is repeated.
const retryPause = 100 * time.Millisecond

// killDelays are the times between sending a request and the kill, used in turn: the kill hits one
// request BEFORE it is handled, one while it is made durable, and one AFTER its response.
var killDelays = [...]time.Duration{300 * time.Microsecond, 0, 3 * time.Millisecond}

// publish sends one part until it is answered, always with the same Idempotency-Key.
func (s *session) publish(ctx context.Context, one part) error {
	body, err := changesetBody(s.head, one)
	if err != nil {
		return err
	}
	request := client.Request{
		Method: "POST", Path: "/api/v1/projects/" + s.project.ID + "/changesets",
		IdempotencyKey: one.commit + "-" + strconv.Itoa(one.number), Body: body,
	}
	var data changesetData
	kill := s.killHere(one.index)
	if kill {
		delay := killDelays[len(s.result.Kills)%len(killDelays)]
		request.Sent = func() {
			time.Sleep(delay)
			s.host.kill()
		}
	}
	reply, err := s.api.Call(request, &data)
	request.Sent = nil
	if kill {
		// A response received BEFORE the kill is final; otherwise the repeat shows the outcome.
		if reviveErr := s.revive(ctx, one.index, err != nil); reviveErr != nil {
			return reviveErr
		}
	}
	for attempt := 1; err != nil; attempt++ {
		if !kill || attempt > 1 {
			if err := s.recover(ctx, attempt, err); err != nil {
				return err
			}
		}
		reply, err = s.api.Call(request, &data)
		if err == nil && kill {
			s.result.Kills[len(s.result.Kills)-1].Applied = reply.Replayed
		}
	}
	if data.Changeset.ID == "" {
		return errors.New("the service returned no changeset id")
	}
	s.head = data.Changeset.ID
	s.result.Changesets++
	s.result.Operations += len(one.operations)
	s.result.RequestBytes += int64(len(body))
	if s.sampled[one.index] && one.last {
		return s.repeat(request)
	}
	return nil
}

// repeat sends an answered request again, which must return the original response and have no
// effect.
func (s *session) repeat(request client.Request) error {
	var data changesetData
	reply, err := s.api.Call(request, &data)
	if err != nil {
		return fmt.Errorf("repeat of an answered request: %w", err)
	}
	if !reply.Replayed || data.Changeset.ID != s.head {
		return fmt.Errorf("repeat of the request for %s: answered with %s, replayed %t",
			s.head, data.Changeset.ID, reply.Replayed)
	}
	s.result.Repeats++
	return nil
}

// changesetData is the part that is read of a response with a changeset.
type changesetData struct {
	Changeset struct {
		ID string `json:"id"`
	} `json:"changeset"`
}

// changesetBody is the request of one part.
func changesetBody(base string, one part) ([]byte, error) {
	operations := make([]json.RawMessage, len(one.operations))
	for i, text := range one.operations {
		operations[i] = text
	}
	return client.EncodeJSON(struct {
		Base       string            `json:"base_changeset_id"`
		Message    string            `json:"message,omitempty"`
		Operations []json.RawMessage `json:"operations"`
	}{base, one.message, operations})
}

// killHere reports whether the server is to be killed during the next request of this commit.
func (s *session) killHere(index int) bool {
	if len(s.killAt) == 0 || index < s.killAt[0] {
		return false
	}
	s.killAt = s.killAt[1:]
	return true
}

// revive restarts the killed server and connects the client to its new address.
func (s *session) revive(ctx context.Context, index int, unanswered bool) error {
	took, err := s.host.restart(ctx)
	if err != nil {
		return fmt.Errorf("after kill -9: %w", err)
	}
	s.api.Close()
	if s.api.Host, err = client.HostOf(s.host.url); err != nil {
		return err
	}
	s.result.Kills = append(s.result.Kills, Kill{
		Commit: index, Unanswered: unanswered, Restart: took,
	})
	return nil
}

// recover prepares the repeat of a failed request, or returns an error if there is none.
func (s *session) recover(ctx context.Context, attempt int, err error) error {
	if attempt >= attemptsMax {
		return fmt.Errorf("given up after %d attempts: %w", attempt, err)
	}
	var failure *client.Failure
	switch {
	case !errors.As(err, &failure):
		if s.host.owned() && !s.host.running() {
			return fmt.Errorf("the server ended by itself: %w", err)
		}
	case failure.Code == "SESSION_EXPIRED" || failure.Code == "SESSION_INVALID":
		return s.api.Renew()
	case !failure.Retryable:
		return fmt.Errorf("attempt %d: %w", attempt, err)
	}
	timer := time.NewTimer(retryPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
