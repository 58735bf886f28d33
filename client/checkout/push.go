package checkout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// PushOptions are the choices of a push.
type PushOptions struct {
	Message string
	// Split permits several changesets where one is not enough.
	Split bool
	// AllowMarkers pushes files that have conflict markers.
	AllowMarkers bool
}

// Pushed is what a push has published.
type Pushed struct {
	// Changesets are the published ones, oldest first, with one that a killed push had sent.
	Changesets []string `json:"changeset_ids"`
	Changes    []Change `json:"changes"`
	// LeftOut are files of the directory that cannot be kept.
	LeftOut []LeftOut `json:"left_out"`
	// Contribution is the one that was submitted instead of changesets, or is Pending: it is not
	// decided, and nothing was changed since.
	Contribution string `json:"contribution_id,omitzero"`
	Pending      bool   `json:"pending,omitzero"`
	// ChangesRequested is true for one that is Pending if a review asks for changes.
	ChangesRequested bool `json:"changes_requested,omitzero"`
}

// TooManyError reports changes that one changeset cannot hold.
type TooManyError struct {
	Operations, Changesets int
}

func (e *TooManyError) Error() string {
	return fmt.Sprintf("%d changes need %d changesets: a changeset holds %d changes and 16 MiB",
		e.Operations, e.Changesets, operationsMax)
}

// operation is one of a changeset.
type operation struct {
	Action  string  `json:"action"`
	Path    string  `json:"path"`
	NewPath string  `json:"new_path,omitzero"`
	Content *string `json:"content,omitzero"`
}

// part is the changes of one changeset.
type part struct {
	changes    []Change
	operations []jsontext.Value
	bytes      int
}

// Push publishes what was changed in the directory, as one changeset on its base. It is called
// inside of Locked.
//
// Errors: *BlockedError before anything is sent, for files that cannot be kept or have conflict
// markers; *TooManyError; PROJECT_MOVED if the server has more than the base; *KeptError if it is
// unknown what became of this push or of one before it; those of the client.
func (t *Tree) Push(ctx context.Context, o PushOptions) (done Pushed, err error) {
	changes, leftOut, err := t.pushable(o)
	done = Pushed{
		Changesets: append([]string{}, t.completed...), Changes: []Change{}, LeftOut: leftOut,
	}
	if err != nil || len(changes) == 0 {
		return done, err
	}
	parts, err := t.parts(changes)
	if err != nil {
		return done, err
	}
	if len(parts) > 1 && !o.Split {
		return done, &TooManyError{Operations: len(changes), Changesets: len(parts)}
	}
	var total, sent int64
	for _, one := range parts {
		total += int64(one.bytes)
	}
	for _, one := range parts {
		t.progress(sent, total)
		changeset, err := t.pushPart(ctx, one, o.Message)
		if err != nil {
			return done, err
		}
		sent += int64(one.bytes)
		done.Changesets = append(done.Changesets, changeset)
		done.Changes = append(done.Changes, one.changes...)
	}
	t.progress(sent, total)
	return done, nil
}

// pushable returns the changes, after all checks that need no server.
func (t *Tree) pushable(o PushOptions) (changes []Change, leftOut []LeftOut, err error) {
	leftOut = []LeftOut{}
	if t.unfinished != nil {
		return nil, leftOut, t.unfinished
	}
	if t.base.Changeset == "" {
		return nil, leftOut, errors.New("the directory has no base yet: pull first")
	}
	const nothing = "Nothing was pushed"
	if err := t.seen(nothing, "push", "push"); err != nil {
		return nil, leftOut, err
	}
	if !o.AllowMarkers {
		if err := t.resolved(nothing, "them, then push; --allow-markers pushes them"); err != nil {
			return nil, leftOut, err
		}
	}
	local, found, err := t.scan(nil)
	if err != nil {
		return nil, leftOut, err
	}
	leftOut = append(leftOut, found...)
	changes, unfit := t.changes(local)
	if len(unfit) > 0 {
		return nil, leftOut, &BlockedError{
			What:  nothing + ", because files of the project cannot be kept as they are now",
			Files: unfit, Try: "restore or delete them, then push",
		}
	}
	return changes, leftOut, nil
}

// seen returns a *BlockedError if an interrupted pull that is now complete has conflicts, because
// nobody has seen those. Its other changes are noticed.
func (t *Tree) seen(what, command, next string) error {
	if t.earlier == nil {
		return nil
	}
	const complete = "a pull that was interrupted is now complete"
	if len(t.earlier.Conflicts) == 0 {
		t.notice(fmt.Sprintf("Before the %s, %s: %d files written, %d deleted, %d merged.", command,
			complete, len(t.earlier.Written), len(t.earlier.Deleted), len(t.earlier.Merged)))
		return nil
	}
	blocked := &BlockedError{
		What: what + ", because " + complete + " and has conflicts", Try: "edit them, then " + next,
	}
	for _, one := range t.earlier.Conflicts {
		blocked.Files = append(blocked.Files, LeftOut{one.Path, one.Reason()})
	}
	return blocked
}

// parts reads the contents and divides the changes into changesets.
func (t *Tree) parts(changes []Change) (parts []part, err error) {
	// The rest of a body: the message, the base, the names of its members.
	const rest = 64 << 10
	for _, change := range changes {
		one := operation{Action: change.Action, Path: change.Path}
		switch change.Action {
		case actionRename:
			one.Path, one.NewPath = change.Previous, change.Path
		case actionCreate, actionModify:
			content, found, err := t.read(change.Path)
			if err != nil {
				return nil, err
			}
			if found.hash == "" {
				return nil, fmt.Errorf("%s was changed while it was pushed: push again", change.Path)
			}
			text := string(content)
			one.Content, change.hash = &text, found.hash
		}
		encoded, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		last := len(parts) - 1
		if last < 0 || len(parts[last].changes) == operationsMax ||
			parts[last].bytes+len(encoded) > requestMax-rest {
			parts, last = append(parts, part{}), last+1
		}
		parts[last].changes = append(parts[last].changes, change)
		parts[last].operations = append(parts[last].operations, encoded)
		parts[last].bytes += len(encoded) + 1
	}
	return parts, nil
}

// pushPart publishes one changeset, and makes it the base.
func (t *Tree) pushPart(ctx context.Context, one part, message string) (string, error) {
	body, err := json.Marshal(struct {
		Base       string           `json:"base_changeset_id"`
		Message    string           `json:"message,omitzero"`
		Operations []jsontext.Value `json:"operations"`
	}{t.base.Changeset, message, one.operations})
	if err != nil {
		return "", err
	}
	next := t.base
	next.Files = maps.Clone(t.base.Files)
	for _, change := range one.changes {
		change.apply(next.Files)
	}
	next.Conflicts = slices.Clone(t.base.Conflicts)
	for _, change := range one.changes {
		next.Conflicts = without(next.Conflicts, change.Path)
	}
	agent, err := t.agent(ctx)
	if err != nil {
		return "", err
	}
	sent := sentPush{Key: client.NewIdempotencyKey(), Agent: agent, Body: body, Next: next}
	if err := t.writeOrder(pushFile, sent); err != nil {
		return "", err
	}
	changeset, err := t.send(ctx, sent, client.Undone)
	if client.Undone(err) {
		err = errors.Join(err, t.remove(pushFile))
	}
	return changeset, err
}
