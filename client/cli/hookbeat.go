package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"pws/client"
)

// The times of renewals by hooks: how far apart they are, and how long after the last command about
// a claim they go on. A claim that nobody asks about for so long belongs to no living session.
const (
	beatEvery = 10 * time.Minute
	beatFor   = 8 * time.Hour
)

// HookBeat renews the claims that were made in the directory, while tools are used.
type HookBeat struct{ Hook }

// Run renews what is due of the caller's claims, in one round of requests every ten minutes at
// most. The host's agent learns of claims that are lost.
func (h *HookBeat) Run(ctx context.Context, env *Env) error {
	return h.run(ctx, env, func(ctx context.Context, env *Env, _ Binding, input hookInput) error {
		path, err := env.claimsPath()
		if err != nil {
			return err
		}
		all, err := readClaims(path)
		if err != nil || !all.anyDue(env.Now()) {
			return err
		}
		caller, err := h.account(env)
		if err != nil {
			return err
		}
		defer caller.close()
		caller.RetryFor = hookRetry
		// A session or a key that was given from outside does not say whose it is.
		if caller.profile.AgentID, err = caller.agentID(ctx); err != nil {
			return err
		}
		due, err := h.takeRound(ctx, env, caller, &all)
		if err != nil || len(due) == 0 {
			return err
		}
		lost, err := h.renew(ctx, env, caller, due)
		if len(lost) > 0 {
			text := fmt.Sprintf("The claim of %s has ended: others may hold it now. "+
				"`pws task view ID` shows who does.", strings.Join(lost, ", "))
			_ = h.say(env, input, "PostToolUse", text)
		}
		return err
	})
}

// takeRound returns the claims that are due by what was read, none if another process took the
// round: one of all that see this does.
func (h *HookBeat) takeRound(
	ctx context.Context, env *Env, caller *account, read *claims,
) (due map[string]heldClaim, err error) {
	if len(read.due(caller, env.Now())) == 0 {
		return nil, nil
	}
	err = env.changeClaims(ctx, func(all *claims) {
		if due = all.due(caller, env.Now()); len(due) > 0 {
			if all.Beats == nil {
				all.Beats = map[string]time.Time{}
			}
			all.Beats[caller.profile.AgentID] = env.Now()
		}
	})
	return due, err
}

// isDue reports whether the claim is to be renewed.
func (h heldClaim) isDue(now time.Time) bool {
	return !h.Lost && !now.Before(h.RenewAt) && now.Before(h.ExpiresAt) &&
		now.Sub(h.KeptAt) < beatFor
}

// anyDue reports whether a claim of any agent is to be renewed. Most hooks end here.
func (c *claims) anyDue(now time.Time) bool {
	for _, claim := range c.Tasks {
		if claim.isDue(now) {
			return true
		}
	}
	return false
}

// due are the caller's claims to renew now; none while its last round is recent. Those of other
// agents, which have rounds of their own, do not count.
func (c *claims) due(caller *account, now time.Time) map[string]heldClaim {
	due := map[string]heldClaim{}
	since := now.Sub(c.Beats[caller.profile.AgentID])
	if !caller.signedIn || since >= 0 && since < beatEvery {
		return due
	}
	for task, claim := range c.Tasks {
		if claim.isDue(now) && claim.of(caller) {
			due[task] = claim
		}
	}
	return due
}

// renew renews claims and returns the tasks whose claims are lost. One that is not renewed does not
// keep the others from it.
func (h *HookBeat) renew(
	ctx context.Context, env *Env, caller *account, due map[string]heldClaim,
) (lost []string, err error) {
	var failed []error
	for _, task := range slices.Sorted(maps.Keys(due)) {
		err := env.renewClaim(ctx, caller, task, due[task])
		switch {
		case err == nil:
		case client.IsRefusal(err):
			env.lost(ctx, task, due[task].ClaimID)
			lost = append(lost, task)
		default:
			failed = append(failed, fmt.Errorf("renewing the claim of %s: %w", task, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return lost, errors.Join(failed...)
}

// renewClaim renews a claim and notes its new end. The time of the last command about it stays.
func (e *Env) renewClaim(
	ctx context.Context, caller *account, task string, claim heldClaim,
) error {
	request, err := write(http.MethodPost, apiPath("tasks", task, "claim", "renew"),
		members("claim_id", claim.ClaimID, "fencing_token", claim.FencingToken))
	if err != nil {
		return err
	}
	sent := e.Now()
	data, err := dataOf(caller.Do(ctx, request))
	if err != nil {
		return err
	}
	var answer claimAnswer
	if err := json.Unmarshal(data, &answer); err != nil {
		return err
	}
	return e.changeClaims(ctx, func(all *claims) {
		if now, known := all.Tasks[task]; known && now.ClaimID == claim.ClaimID {
			renewed := answer.held(caller.Server, sent)
			renewed.KeptAt = now.KeptAt
			all.Tasks[task] = renewed
		}
	})
}
