package bridge

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"pws/client"
)

const (
	// activeFor is how long claims are renewed AFTER the last call of a tool, and keptFor how long
	// one is at most.
	activeFor = 30 * time.Minute
	keptFor   = 8 * time.Hour
	// nextAttempt is the pause after a renewal that the server did not answer.
	nextAttempt = time.Minute
	// heldMax bounds the claims that are renewed.
	heldMax = 100
)

// keptNote tells an agent what becomes of its claim.
const keptNote = "pws mcp renews this claim for you as long as you call a tool every 30 minutes, " +
	"for 8 hours at most. It does not release it: finish or release the task when you stop."

// keeper renews the claims that were taken through the bridge.
type keeper struct {
	service Service
	log     *slog.Logger
	// wake has a signal when there is another claim or call.
	wake chan struct{}

	mu struct {
		sync.Mutex
		held map[string]*held
		// last is when a tool was called last.
		last time.Time
	}
}

// held is a claim.
type held struct {
	task, claim string
	token       uint64
	every       time.Duration
	// taken and due are when it was claimed, and when it is to be renewed.
	taken, due time.Time
}

func newKeeper(service Service, log *slog.Logger) *keeper {
	k := &keeper{service: service, log: log, wake: make(chan struct{}, 1)}
	k.mu.held = map[string]*held{}
	return k
}

// called notes that a tool is called.
func (k *keeper) called() {
	k.mu.Lock()
	k.mu.last = time.Now()
	waiting := len(k.mu.held) > 0
	k.mu.Unlock()
	if waiting {
		k.signal()
	}
}

func (k *keeper) signal() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// taken notes the claim in the answer of a tool that claims or renews. It returns the answer, that
// of a new claim with a note for the agent.
func (k *keeper) taken(m *message, body []byte) []byte {
	claims := false
	switch strings.ReplaceAll(m.tool, "_", ".") {
	case "task.claim", "task.next":
		claims = true
	case "task.renew":
	default:
		return body
	}
	var answer struct {
		Result struct {
			IsError bool `json:"isError"`
			Data    struct {
				Task struct {
					ID string `json:"id"`
				} `json:"task"`
				Claim struct {
					ID         string `json:"id"`
					Token      uint64 `json:"fencing_token"`
					RenewAfter int64  `json:"renew_after_seconds"`
				} `json:"claim"`
			} `json:"structuredContent"`
		} `json:"result"`
	}
	if json.Unmarshal(body, &answer, lenient) != nil || answer.Result.IsError {
		return body
	}
	task, claim := answer.Result.Data.Task.ID, answer.Result.Data.Claim
	if task == "" || claim.ID == "" || claim.RenewAfter <= 0 {
		return body
	}
	k.mu.Lock()
	now, every := time.Now(), time.Duration(claim.RenewAfter)*time.Second
	known := k.mu.held[claim.ID]
	switch {
	case known != nil:
		known.due = now.Add(every)
	case claims && len(k.mu.held) < heldMax:
		known = &held{
			task: task, claim: claim.ID, token: claim.Token, every: every,
			taken: now, due: now.Add(every),
		}
		k.mu.held[claim.ID] = known
	}
	k.mu.Unlock()
	k.signal()
	if !claims || known == nil {
		return body
	}
	return withText(body, keptNote)
}

// run renews claims until the context ends. It does not release them.
func (k *keeper) run(ctx context.Context) {
	for ctx.Err() == nil {
		one, wait := k.next()
		if one != nil && wait <= 0 {
			k.renew(ctx, one)
			continue
		}
		if !k.pause(ctx, one != nil, wait) {
			return
		}
	}
}

// pause waits for a signal and, if a claim is timed, until it is due. It returns false at the end
// of the context.
func (k *keeper) pause(ctx context.Context, timed bool, wait time.Duration) bool {
	var due <-chan time.Time
	if timed {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-k.wake:
	case <-due:
	}
	return true
}

// next returns the claim that is due first and how long that takes, nil if there is none or no tool
// was called for long. It forgets claims that were kept long enough.
func (k *keeper) next() (first *held, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	for id, one := range k.mu.held {
		if one.due.Sub(one.taken) > keptFor {
			delete(k.mu.held, id)
			continue
		}
		if first == nil || one.due.Before(first.due) {
			first = one
		}
	}
	if first == nil || max(now.Sub(k.mu.last), first.due.Sub(k.mu.last)) > activeFor {
		return nil, 0
	}
	return first, first.due.Sub(now)
}

// renew renews a claim and notes when to do so again. A claim that is lost is forgotten.
func (k *keeper) renew(ctx context.Context, one *held) {
	body := marshal(struct {
		Claim string `json:"claim_id"`
		Token uint64 `json:"fencing_token"`
	}{one.claim, one.token})
	answer, err := k.service.Do(ctx, &client.Request{
		Method: http.MethodPost, Path: "/api/v1/tasks/" + one.task + "/claim/renew", Body: body,
		Header: http.Header{"Content-Type": {"application/json"}}, Key: client.NewIdempotencyKey(),
	})
	if err == nil {
		// Something else on the way may have answered.
		_, err = answer.Data()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil:
		one.due = now.Add(one.every)
		k.log.Debug("renewed a claim", slog.String("task", one.task))
	case client.IsRefusal(err):
		delete(k.mu.held, one.claim)
		k.log.Info("a claim is no longer renewed", slog.String("task", one.task),
			slog.String("error", err.Error()))
	default:
		one.due = now.Add(nextAttempt)
		k.log.Warn("a claim was not renewed", slog.String("task", one.task),
			slog.String("error", err.Error()))
	}
}
