package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// HookGroup are what hosts of agents run at their events. A hook never fails a session: it returns
// no error, prints nothing outside of a bound directory, and ends within its time.
type HookGroup struct {
	SessionStart HookSessionStart `cmd:"" help:"Give a session what pws prime prints."`
	Beat         HookBeat         `cmd:"" help:"Renew the claims of the directory, every ten minutes."`
	SessionEnd   HookSessionEnd   `cmd:"" help:"Leave a handoff if something has changed."`
	PreCompact   HookPreCompact   `cmd:"" help:"Leave a handoff before a host shortens a session."`
}

// Hook are the flags of all hooks.
type Hook struct {
	Host string `default:"claude" help:"The host, whose form of JSON is printed." placeholder:"HOST"`
	// Within is shorter than the two seconds that a hook may take: a process starts and ends, too.
	Within time.Duration `default:"1800ms" help:"Give up after this time."`
	Common
}

// IsHook reports whether arguments are those of a hook. Its exit code is zero whatever happens: to
// some hosts another one means that the session must not go on.
func IsHook(args []string) bool { return len(args) > 0 && args[0] == "hook" }

// hookInput is what hosts say of their session, each with some of these.
type hookInput struct {
	session, event, dir, reason string
}

// run calls do in the directory of the session, if that is bound to a project. What goes wrong is
// for the log of the host alone.
func (h *Hook) run(
	ctx context.Context, env *Env,
	do func(context.Context, *Env, Binding, hookInput) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, h.Within)
	defer cancel()
	defer func() {
		if fault := recover(); fault != nil {
			fmt.Fprintf(env.Err, "pws: %v\n", fault)
		}
	}()
	input := h.hookInput(ctx, env)
	here := *env
	if filepath.IsAbs(input.dir) {
		here.Dir = input.dir
	}
	bound, err := here.binding()
	if err == nil && bound.root != "" {
		err = do(ctx, &here, bound, input)
	}
	if err != nil {
		fmt.Fprintf(env.Err, "pws: %s\n", Clean(err.Error()))
	}
	return nil
}

// inputShare is the part of a hook's time that the host has for its input, as a divisor.
const inputShare = 3

// hookInput reads what the host says: one object, whatever comes after it. A host that says nothing
// in its part of the time, or no JSON, is one that says nothing.
func (h *Hook) hookInput(ctx context.Context, env *Env) hookInput {
	if env.TerminalIn || env.In == nil {
		return hookInput{}
	}
	ctx, cancel := context.WithTimeout(ctx, h.Within/inputShare)
	defer cancel()
	read := make(chan hookInput, 1)
	go func() {
		input, whole := parseHookInput(env.In)
		if whole {
			read <- input
		}
		// The host may still be writing: an end without reading would be an error to it.
		_, _ = io.Copy(io.Discard, env.In)
		if !whole {
			read <- input
		}
	}()
	select {
	case input := <-read:
		return input
	case <-ctx.Done():
		return hookInput{}
	}
}

// parseHookInput reads the members of an object that count, and reports whether it got to its end.
// Outputs of tools, which may be large, are skipped.
func parseHookInput(from io.Reader) (found hookInput, whole bool) {
	input := jsontext.NewDecoder(from, jsontext.AllowDuplicateNames(true))
	if token, err := input.ReadToken(); err != nil || token.Kind() != '{' {
		return found, false
	}
	for {
		name, err := input.ReadToken()
		if err != nil || name.Kind() != '"' {
			return found, err == nil
		}
		member := name.String()
		if found.place(member) == nil && member != "workspace_roots" {
			if input.SkipValue() != nil {
				return found, false
			}
			continue
		}
		text, err := input.ReadValue()
		if err != nil {
			return found, false
		}
		found.set(member, text)
	}
}

// place is where a member is kept, nil for one that does not count.
func (i *hookInput) place(member string) *string {
	switch member {
	case "session_id", "conversation_id":
		return &i.session
	case "hook_event_name":
		return &i.event
	case "cwd":
		return &i.dir
	case "reason", "trigger":
		return &i.reason
	}
	return nil
}

func (i *hookInput) set(member string, text jsontext.Value) {
	if member == "workspace_roots" {
		var roots []string
		if json.Unmarshal(text, &roots) == nil && len(roots) > 0 && i.dir == "" {
			i.dir = roots[0]
		}
		return
	}
	var said string
	if json.Unmarshal(text, &said) == nil && said != "" {
		*i.place(member) = said
	}
}

// say prints a text for the agent in the form of the host.
func (h *Hook) say(env *Env, input hookInput, event, text string) error {
	if input.event != "" {
		event = input.event
	}
	type specific struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	var answer any = struct {
		Specific specific `json:"hookSpecificOutput"`
	}{specific{event, text}}
	if h.Host == "cursor" {
		answer = struct {
			Context string `json:"additional_context"`
		}{text}
	}
	line, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "%s\n", line)
	return err
}

// HookSessionStart gives a session the state of the project.
type HookSessionStart struct{ Hook }

// Run prints the prime, and notes what the directory is like.
func (h *HookSessionStart) Run(ctx context.Context, env *Env) error {
	return h.run(ctx, env,
		func(ctx context.Context, env *Env, bound Binding, input hookInput) error {
			var noted error
			var noting sync.WaitGroup
			noting.Go(func() { noted = env.noteStart(ctx, bound, input.session) })
			// What is noted is whole also where the rest ends in a fault.
			defer noting.Wait()
			text, err := h.prime(ctx, env, bound)
			if err != nil {
				text = unread(bound, err, env)
			}
			err = h.say(env, input, "SessionStart", text)
			noting.Wait()
			return errors.Join(err, noted)
		})
}

// prime asks for the resume once: a session that begins does not wait for repetitions.
func (h *HookSessionStart) prime(ctx context.Context, env *Env, bound Binding) (string, error) {
	caller, err := h.account(env)
	if err != nil {
		return "", err
	}
	defer caller.close()
	if !caller.signedIn {
		return stranger(bound), nil
	}
	caller.RetryFor = hookRetry
	project, err := caller.resolveProject(ctx, bound.Project)
	if err != nil {
		return "", err
	}
	data, err := dataOf(caller.Do(ctx, primeRequest(project)))
	if err != nil {
		return "", err
	}
	v, err := parseValue(data)
	resume := v.at("resume")
	return prime(resume, caller, caller.guestHandoff(ctx, resume)), err
}

// stranger is what a session is given where nobody has signed in to the server. It is asked for
// nothing: the file that names it may have come with someone else's repository.
func stranger(bound Binding) string {
	server := quoted(bound.Server)
	return fmt.Sprintf("# Project of this directory (kept by pws)\n\n"+
		"This directory names project %s at %s, and nobody has signed in to it here. "+
		"`pws login %s` does.\n", quoted(bound.Project), server, server)
}

// hookRetry is how long requests of hooks are repeated.
const hookRetry = time.Second

// unread is what a session is given when the project cannot be read.
func unread(bound Binding, err error, env *Env) string {
	const most = 300
	text := fmt.Sprintf("# Project of this directory (kept by pws)\n\n"+
		"This directory belongs to project %s at %s. Its state could not be read now: %s.\n",
		quoted(bound.Project), quoted(bound.Server),
		strings.TrimSuffix(cutText(quoted(err.Error()), most), "."))
	if step := nextStep(err, env); step != "" {
		text += "Try: " + cutText(quoted(step), most) + ".\n"
	}
	return text + "`pws doctor` shows what is wrong, `pws prime` prints the state.\n"
}
