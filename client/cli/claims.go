package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// claimsFile is the file of the directory that remembers the claims of its agents.
const claimsFile = "claims.json"

// claims is the content of claimsFile. Times are those of this machine's clock.
type claims struct {
	// Tasks are the claims by the ID of their task.
	Tasks map[string]heldClaim `json:"tasks"`
	// Beats are when a hook last renewed the claims of each agent, or tried to, by the agent's ID.
	// Files of earlier programs have one time for all agents instead, which is not read.
	Beats map[string]time.Time `json:"beats,omitzero"`
}

// heldClaim is a claim that a command has made: what proves it, and when it is to be renewed.
type heldClaim struct {
	Server       string `json:"server"`
	ProjectID    string `json:"project_id"`
	AgentID      string `json:"agent_id"`
	ClaimID      string `json:"claim_id"`
	FencingToken uint64 `json:"fencing_token"`
	// Title is that of the task.
	Title string `json:"title"`
	// KeptAt is when a command last claimed or renewed it. Hooks renew it for a limited time.
	KeptAt    time.Time `json:"kept_at"`
	RenewAt   time.Time `json:"renew_at"`
	ExpiresAt time.Time `json:"expires_at"`
	// Lost is set AFTER the server has refused a renewal, as with CLAIM_LOST. The proof stays:
	// without it, a command could act on a later claim of the same agent elsewhere.
	Lost bool `json:"lost,omitzero"`
}

// forgetAfter is how long a claim that has expired is remembered.
const forgetAfter = 30 * 24 * time.Hour

// codeClaimLost is the refusal of a claim that has expired, or was released or replaced.
const codeClaimLost = "CLAIM_LOST"

// claimAnswer is the part of an answer about a task that the file keeps.
type claimAnswer struct {
	Task struct {
		ID        string         `json:"id"`
		ProjectID string         `json:"project_id"`
		Title     string         `json:"title"`
		Claim     jsontext.Value `json:"claim"`
	} `json:"task"`
	Claim struct {
		ID           string `json:"id"`
		AgentID      string `json:"agent_id"`
		FencingToken uint64 `json:"fencing_token"`
		LeaseSeconds int64  `json:"lease_seconds"`
		RenewSeconds int64  `json:"renew_after_seconds"`
	} `json:"claim"`
}

// held is the claim of an answer to a request that was sent at a time.
func (a *claimAnswer) held(server string, sent time.Time) heldClaim {
	return heldClaim{
		Server: server, ProjectID: a.Task.ProjectID, AgentID: a.Claim.AgentID,
		ClaimID: a.Claim.ID, FencingToken: a.Claim.FencingToken, Title: a.Task.Title, KeptAt: sent,
		RenewAt:   sent.Add(time.Duration(a.Claim.RenewSeconds) * time.Second),
		ExpiresAt: sent.Add(time.Duration(a.Claim.LeaseSeconds) * time.Second),
	}
}

// claimsPath is where the directory keeps its claims, empty for one that is bound to no project.
func (e *Env) claimsPath() (string, error) {
	bound, err := e.binding()
	if err != nil || bound.root == "" {
		return "", err
	}
	return bound.local(claimsFile)
}

// readClaims reads the claims. What is no JSON counts as none: the next claim replaces it.
func readClaims(path string) (claims, error) {
	all := claims{Tasks: map[string]heldClaim{}}
	if path == "" {
		return all, nil
	}
	text, err := readBounded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, err
	}
	if json.Unmarshal(text, &all) != nil || all.Tasks == nil {
		return claims{Tasks: map[string]heldClaim{}}, nil
	}
	return all, nil
}

// changeClaims reads the claims, lets change edit them, and writes them, while no other process
// does the same.
func (e *Env) changeClaims(ctx context.Context, change func(*claims)) error {
	path, err := e.claimsPath()
	if err != nil || path == "" {
		return err
	}
	return client.WithLock(ctx, path+lockSuffix, func() error {
		all, err := readClaims(path)
		if err != nil {
			return err
		}
		change(&all)
		return writeClaims(path, &all, e.Now())
	})
}

// writeClaims writes the claims, without what ended long ago.
func writeClaims(path string, all *claims, now time.Time) error {
	for task, claim := range all.Tasks {
		if now.Sub(claim.ExpiresAt) > forgetAfter {
			delete(all.Tasks, task)
		}
	}
	for agent, at := range all.Beats {
		if now.Sub(at) > forgetAfter {
			delete(all.Beats, agent)
		}
	}
	text, err := json.Marshal(all, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return client.ReplaceFile(path, append(text, '\n'), 0o600)
}

// proof is the claim of a task that the caller made in this directory, as members of a body. It is
// empty where none is known: then the server takes the caller's own claim.
func (e *Env) proof(
	ctx context.Context, caller *account, task string,
) (map[string]any, error) {
	path, err := e.claimsPath()
	if err != nil {
		return nil, err
	}
	all, err := readClaims(path)
	if err != nil {
		return nil, err
	}
	claim, known := all.Tasks[task]
	if !known || !claim.of(caller) {
		return map[string]any{}, nil
	}
	me, err := caller.agentID(ctx)
	if err != nil || me != claim.AgentID {
		return map[string]any{}, err
	}
	return members("claim_id", claim.ClaimID, "fencing_token", claim.FencingToken), nil
}

// of reports whether the claim is one of the caller. A session that was given from outside does not
// say whose it is.
func (h heldClaim) of(caller *account) bool {
	return client.SameService(h.Server, caller.Server) &&
		(caller.profile.AgentID == "" || h.AgentID == caller.profile.AgentID)
}

// remember notes the claim that an answer grants, or forgets that of a task without one. The answer
// is true already: what goes wrong here is only reported.
func (e *Env) remember(ctx context.Context, caller *account, data jsontext.Value, sent time.Time) {
	var answer claimAnswer
	err := json.Unmarshal(data, &answer)
	e.trustHere()
	if err == nil {
		err = e.changeClaims(ctx, func(all *claims) { all.note(caller, &answer, sent) })
	}
	if err != nil {
		fmt.Fprintf(e.Err, "pws: the claim is not remembered: %s\n", Clean(err.Error()))
	}
}

func (c *claims) note(caller *account, answer *claimAnswer, sent time.Time) {
	switch held := string(answer.Task.Claim); {
	case answer.Claim.ID != "":
		c.Tasks[answer.Task.ID] = answer.held(caller.Server, sent)
	case held == "" || held == "null":
		delete(c.Tasks, answer.Task.ID)
	}
}

// lost notes that the server knows of no such claim. One that was made since stays.
func (e *Env) lost(ctx context.Context, task, claimID string) {
	err := e.changeClaims(ctx, func(all *claims) {
		if claim, known := all.Tasks[task]; known && claim.ClaimID == claimID {
			claim.Lost = true
			all.Tasks[task] = claim
		}
	})
	if err != nil {
		fmt.Fprintf(e.Err, "pws: %s\n", Clean(err.Error()))
	}
}

// forgetEnded removes the claims of those tasks of a checkpoint that nobody holds AFTER it, as of
// those that are done.
func (e *Env) forgetEnded(ctx context.Context, data jsontext.Value) {
	var answer struct {
		Tasks []struct {
			ID    string         `json:"id"`
			Claim jsontext.Value `json:"claim"`
		} `json:"tasks"`
	}
	err := json.Unmarshal(data, &answer)
	var ended []string
	for _, task := range answer.Tasks {
		if string(task.Claim) == "null" {
			ended = append(ended, task.ID)
		}
	}
	if err == nil && len(ended) > 0 {
		err = e.changeClaims(ctx, func(all *claims) {
			for _, task := range ended {
				delete(all.Tasks, task)
			}
		})
	}
	if err != nil {
		fmt.Fprintf(e.Err, "pws: %s\n", Clean(err.Error()))
	}
}
