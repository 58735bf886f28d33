package checkout

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"

	"pws/client"
)

// Contribute submits what was changed in the directory as a contribution, for agents that may
// not publish. The base stays: once the contribution is accepted, a pull finds both sides equal.
// It is called inside of Locked.
//
// Errors: as those of Push; PROJECT_MOVED if the server has more than the base.
func (t *Tree) Contribute(ctx context.Context, o PushOptions) (done Pushed, err error) {
	changes, leftOut, err := t.pushable(o)
	done = Pushed{Changesets: []string{}, Changes: []Change{}, LeftOut: leftOut}
	if err != nil || len(changes) == 0 {
		return done, err
	}
	var opened struct {
		Workspace struct {
			ID   string `json:"id"`
			Base string `json:"base_changeset_id"`
		} `json:"workspace"`
	}
	call := t.remote.Client.Call
	if err := call(ctx, http.MethodPost, t.remote.path("/workspaces"), nil, &opened); err != nil {
		return done, err
	}
	at := "/api/v1/workspaces/" + opened.Workspace.ID
	if opened.Workspace.Base != t.base.Changeset {
		err = &client.Failure{
			Status: http.StatusConflict, Code: "PROJECT_MOVED",
			Message: "The project has changed since the last pull.",
		}
	}
	for nth, change := range changes {
		if err != nil {
			break
		}
		t.progress(int64(nth), int64(len(changes)))
		err = t.contributeOne(ctx, at+"/files/", change)
	}
	var submitted struct {
		Contribution struct {
			ID string `json:"id"`
		} `json:"contribution"`
	}
	if err == nil {
		body := struct {
			Summary string `json:"summary"`
		}{o.Message}
		err = call(ctx, http.MethodPost, at+"/submit", body, &submitted)
	}
	if err != nil {
		return done, errors.Join(err, call(ctx, http.MethodDelete, at, nil, nil))
	}
	t.progress(int64(len(changes)), int64(len(changes)))
	done.Contribution, done.Changes = submitted.Contribution.ID, changes
	return done, nil
}

func (t *Tree) contributeOne(ctx context.Context, files string, change Change) error {
	call := t.remote.Client.Call
	switch change.Action {
	case actionDelete:
		return call(ctx, http.MethodDelete, files+encoded(change.Path), nil, nil)
	case actionRename:
		body := struct {
			NewPath string `json:"new_path"`
		}{change.Path}
		return call(ctx, http.MethodPost, files+encoded(change.Previous)+"/rename", body, nil)
	}
	content, found, err := t.read(change.Path)
	if err != nil {
		return err
	}
	if found.hash == "" {
		return errors.New(change.Path + " was changed while it was pushed: push again")
	}
	body, err := json.Marshal(struct {
		Content string `json:"content"`
	}{string(content)})
	if err != nil {
		return err
	}
	_, err = t.remote.Client.Do(ctx, &client.Request{
		Method: http.MethodPut, Path: files + encoded(change.Path), Body: body,
		Header: http.Header{"Content-Type": {"application/json"}}, Key: client.NewIdempotencyKey(),
	})
	return err
}
