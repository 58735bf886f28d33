package checkout

import (
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// sentPush is a push of one changeset whose answer was not handled yet.
type sentPush struct {
	Key string `json:"key"`
	// Agent is the ID of the agent that began it, empty for none.
	Agent string         `json:"agent_id"`
	Body  jsontext.Value `json:"body"`
	// Next is the base after it; the answer gives its changeset. Until then it has that of the base.
	Next base `json:"next"`
}

// KeptError is the error of a push that may have been published. It is sent again by the next pull
// or push.
type KeptError struct{ error }

func (e *KeptError) Error() string {
	return e.error.Error() + "; it is unknown whether the push was published: the next pull or push " +
		"of this agent repeats it, unless its files change"
}

// Unwrap returns the error itself.
func (e *KeptError) Unwrap() error { return e.error }

// send sends a push, and makes it the base. Errors: *KeptError unless undone says that the push had
// no effect; those of the client.
func (t *Tree) send(
	ctx context.Context, sent sentPush, undone func(error) bool,
) (string, error) {
	if err := t.before("send"); err != nil {
		return "", err
	}
	changeset, err := t.remote.publish(ctx, sent.Key, sent.Body)
	if err != nil && !undone(err) {
		err = &KeptError{err}
	}
	if err != nil {
		return "", err
	}
	sent.Next.Changeset = changeset
	if err := t.saveBase(sent.Next); err != nil {
		return "", err
	}
	return changeset, t.remove(pushFile)
}

// completePush ends the push whose outcome is unknown, if there is one: it is sent again, or
// forgotten if the directory is not what it would publish, or is another agent's now. One that the
// server refuses is pushed again. An error of the server stays in t.unfinished: only a push needs
// the outcome.
func (t *Tree) completePush(ctx context.Context) error {
	t.unfinished = nil
	var sent sentPush
	exists, err := t.readOrder(pushFile, &sent)
	if err != nil || !exists {
		return err
	}
	if sent.Next.Changeset != t.base.Changeset {
		// It was answered, and only this file is left.
		t.completed = append(t.completed, t.base.Changeset)
		return t.remove(pushFile)
	}
	changed, err := t.changedSince(sent.Next)
	if err != nil {
		return err
	}
	if changed != "" {
		t.notice("A push that was interrupted is not repeated, because " + changed +
			" was changed since. pws push publishes the files as they are now.")
		return t.forget(sent)
	}
	agent, err := t.agent(ctx)
	if err != nil {
		t.unfinished = &KeptError{err}
		return nil
	}
	if agent != sent.Agent {
		t.notice("A push that was interrupted is not repeated, because another agent has begun it. " +
			"pws push publishes the files as this one.")
		return t.forget(sent)
	}
	var kept *KeptError
	changeset, err := t.send(ctx, sent, client.Refused)
	switch {
	case err == nil:
		t.completed = append(t.completed, changeset)
	case errors.As(err, &kept):
		t.unfinished = kept
	case client.Refused(err):
		// Its key may have been too old for the server to know it.
		return t.forget(sent)
	default:
		return err
	}
	return nil
}

// differs are the paths at which a base differs from the present one, sorted.
func (t *Tree) differs(next base) (all []string) {
	for name, entry := range next.Files {
		if t.base.Files[name].Hash != entry.Hash {
			all = append(all, name)
		}
	}
	for name := range t.base.Files {
		if _, stays := next.Files[name]; !stays {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// changedSince returns a path of a push at which the directory is not what it would publish, empty
// if there is none.
func (t *Tree) changedSince(next base) (string, error) {
	t.names = map[string][]string{}
	for _, name := range t.differs(next) {
		here, err := t.look(name)
		if err != nil {
			return "", err
		}
		if here != (file{hash: next.Files[name].Hash}) {
			return name, nil
		}
	}
	return "", nil
}

// lost is what a push would have published that is not repeated. It may be on the server. What the
// directory has is later than that, so it is not someone else's change for the next pull.
type lost struct {
	// Base is the changeset on which it was. On another one it has no meaning.
	Base string `json:"base_changeset_id"`
	// Files are the hashes of the contents, empty for a deletion. There may have been several pushes.
	Files map[string][]string `json:"files"`
}

// forget keeps a push from being sent again.
func (t *Tree) forget(sent sentPush) error {
	if err := t.remember(sent); err != nil {
		return err
	}
	return t.remove(pushFile)
}

// remember notes what a push would have published.
func (t *Tree) remember(sent sentPush) error {
	all, err := t.lostFiles()
	if err != nil {
		return err
	}
	for _, name := range t.differs(sent.Next) {
		if hash := sent.Next.Files[name].Hash; !slices.Contains(all[name], hash) {
			all[name] = append(all[name], hash)
		}
	}
	return t.writeJSON(lostFile, lost{Base: t.base.Changeset, Files: all})
}

// lostFiles returns what remember has noted since the directory has its base.
func (t *Tree) lostFiles() (map[string][]string, error) {
	var what lost
	_, err := t.readJSON(lostFile, &what)
	if what.Files == nil || what.Base != t.base.Changeset {
		what.Files = map[string][]string{}
	}
	return what.Files, err
}
