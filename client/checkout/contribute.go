package checkout

import (
	"context"
	"errors"
	"net/http"
	"time"

	"pws/client"
)

// contributions are what the directory contributes, by the ID of the agent: nobody may write into
// the workspace of another.
type contributions struct {
	Agents map[string]contributing `json:"agents"`
	// The members of one without an agent are those of programs that did not note it. The server
	// knows whose it is.
	contributing
}

// contributing is the workspace from which an agent contributes: a later contribution is another
// revision of the same one, until it is decided.
type contributing struct {
	// Key is the Idempotency-Key with which the workspace was opened.
	Key       string `json:"key,omitzero"`
	Workspace string `json:"workspace_id,omitzero"`
}

// workspace is what the server says of one.
type workspace struct {
	ID           string            `json:"id"`
	Agent        string            `json:"agent_id"`
	Status       string            `json:"status"`
	Base         string            `json:"base_changeset_id"`
	Contribution string            `json:"contribution_id"`
	Changes      []workspaceChange `json:"changes"`
	Conflicts    []struct {
		Path string `json:"path"`
	} `json:"conflicts"`
}

// workspaceData is the data of answers about one.
type workspaceData struct {
	Workspace workspace `json:"workspace"`
}

func (w *workspace) ended() bool { return w.Status == "PUBLISHED" || w.Status == "CLOSED" }

// workspaceChange is a difference of a workspace from its base.
type workspaceChange struct {
	Action   string `json:"action"`
	Path     string `json:"path"`
	Previous string `json:"previous_path"`
	Hash     string `json:"blob_hash"`
	Type     string `json:"content_type"`
}

// Contribute submits what was changed in the directory as a contribution, for agents that may not
// publish, or as another revision of the one that was not decided yet. The base stays: once the
// contribution is accepted, a pull takes it for the base of its files. It is called inside of
// Locked.
//
// Errors: as those of Push; PROJECT_MOVED if the server has more than the base. A contribution that
// was interrupted is continued by the next one.
func (t *Tree) Contribute(ctx context.Context, o PushOptions) (done Pushed, err error) {
	changes, leftOut, err := t.pushable(o)
	done = Pushed{Changesets: []string{}, Changes: []Change{}, LeftOut: leftOut}
	if err != nil || len(changes) == 0 {
		return done, err
	}
	w, err := t.openWorkspace(ctx)
	if err != nil {
		return done, err
	}
	fill, err := t.newFilling(ctx, w, changes)
	if err == nil {
		err = fill.run(ctx)
	}
	if err != nil {
		return done, errors.Join(err, t.abandon(ctx, w))
	}
	if err := t.noteSubmission(w, changes); err != nil {
		return done, err
	}
	var submitted struct {
		Contribution struct {
			ID string `json:"id"`
		} `json:"contribution"`
	}
	body := struct {
		Summary string `json:"summary"`
	}{o.Message}
	at := workspacePath(w.ID) + "/submit"
	err = t.remote.Client.Call(ctx, http.MethodPost, at, body, &submitted)
	switch {
	case client.IsCode(err, "APPROVAL_PENDING"):
		if w.Contribution == "" {
			// It was submitted AFTER the workspace was read.
			if w, err = t.readWorkspace(ctx, w.ID); err != nil {
				return done, err
			}
		}
		done.Contribution, done.Pending = w.Contribution, true
		done.ChangesRequested, err = t.changesRequested(ctx, w.Contribution)
		return done, err
	case err != nil && !client.Undone(err):
		// It may have been submitted: the next one is another revision of it, or finds it pending.
		return done, err
	case err != nil:
		return done, errors.Join(err, t.abandon(ctx, w))
	}
	t.progress(int64(len(changes)), int64(len(changes)))
	done.Contribution, done.Changes = submitted.Contribution.ID, changes
	w.Contribution = submitted.Contribution.ID
	return done, t.noteSubmission(w, nil)
}

// changesRequested reports whether a review of a contribution asks for changes.
func (t *Tree) changesRequested(ctx context.Context, contribution string) (bool, error) {
	var read struct {
		Contribution struct {
			Status string `json:"status"`
		} `json:"contribution"`
	}
	at := "/api/v1/contributions/" + contribution
	err := t.remote.Client.Call(ctx, http.MethodGet, at, nil, &read)
	return read.Contribution.Status == "CHANGES_REQUESTED", err
}

func workspacePath(id string) string { return "/api/v1/workspaces/" + id }

// readWorkspace returns a workspace as it is now.
func (t *Tree) readWorkspace(ctx context.Context, id string) (*workspace, error) {
	var read workspaceData
	err := t.remote.Client.Call(ctx, http.MethodGet, workspacePath(id), nil, &read)
	return &read.Workspace, err
}

// noteWorkspace notes the workspace of an agent, or that it has none.
func (t *Tree) noteWorkspace(agent string, own *contributing) error {
	var all contributions
	if _, err := t.readOrder(contributeFile, &all); err != nil {
		return err
	}
	if all.Agents == nil {
		all.Agents = map[string]contributing{}
	}
	delete(all.Agents, agent)
	if own != nil {
		all.Agents[agent] = *own
	}
	return t.writeOrder(contributeFile, all)
}

// openWorkspace returns the workspace of the agent on the base of the directory, or opens one.
func (t *Tree) openWorkspace(ctx context.Context) (*workspace, error) {
	agent, err := t.agent(ctx)
	if err != nil {
		return nil, err
	}
	var all contributions
	if _, err := t.readOrder(contributeFile, &all); err != nil {
		return nil, err
	}
	own, exists := all.Agents[agent]
	if !exists {
		own = all.contributing
	}
	if own.Workspace != "" {
		w, err := t.readWorkspace(ctx, own.Workspace)
		switch {
		case client.IsCode(err, "WORKSPACE_NOT_FOUND"),
			err == nil && (w.ended() || w.Agent != agent):
			exists = false
		case err != nil:
			return nil, err
		default:
			return t.onBase(ctx, w)
		}
	}
	if !exists {
		own = contributing{Key: client.NewIdempotencyKey()}
		if err := t.noteWorkspace(agent, &own); err != nil {
			return nil, err
		}
	}
	return t.newWorkspace(ctx, agent, own)
}

// newWorkspace opens a workspace on the base of the directory.
func (t *Tree) newWorkspace(
	ctx context.Context, agent string, own contributing,
) (*workspace, error) {
	var opened workspaceData
	err := t.remote.Client.DoInto(ctx, &client.Request{
		Method: http.MethodPost, Path: t.remote.path("/workspaces"), Key: own.Key,
	}, &opened)
	if err != nil {
		return nil, err
	}
	own.Workspace = opened.Workspace.ID
	if err := t.noteWorkspace(agent, &own); err != nil {
		return nil, err
	}
	// The answer may be that of an earlier request.
	w, err := t.readWorkspace(ctx, own.Workspace)
	if err != nil {
		return nil, err
	}
	if w, err = t.onBase(ctx, w); err != nil {
		return nil, errors.Join(err, t.abandon(ctx, w))
	}
	return w, nil
}

// onBase moves a workspace onto the base of the directory. Errors: PROJECT_MOVED.
func (t *Tree) onBase(ctx context.Context, w *workspace) (*workspace, error) {
	if w.Base == t.base.Changeset {
		return w, nil
	}
	var moved workspaceData
	at := workspacePath(w.ID) + "/refresh"
	if err := t.remote.Client.Call(ctx, http.MethodPost, at, nil, &moved); err != nil {
		return w, err
	}
	if moved.Workspace.Base != t.base.Changeset {
		return w, &client.Failure{
			Status: http.StatusConflict, Code: "PROJECT_MOVED",
			Message: "The project has changed since the last pull.",
		}
	}
	return &moved.Workspace, nil
}

// abandonTime bounds the end of a workspace that is of no use.
const abandonTime = 5 * time.Second

// abandon closes a workspace that was never submitted, unless the contribution was interrupted.
func (t *Tree) abandon(ctx context.Context, w *workspace) error {
	if ctx.Err() != nil || w.Contribution != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, abandonTime)
	defer cancel()
	err := t.remote.Client.Call(ctx, http.MethodDelete, workspacePath(w.ID), nil, nil)
	return errors.Join(err, t.noteWorkspace(w.Agent, nil))
}
