package checkout

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	"pws/client"
)

// contributed is what the directory has submitted, by the ID of the workspace, until a pull has
// brought what became of it.
type contributed struct {
	Workspaces map[string]submission `json:"workspaces"`
}

// submission is what was submitted from a workspace.
type submission struct {
	// Contribution is its ID, empty while no answer has named it.
	Contribution string `json:"contribution_id,omitzero"`
	// Files are the hashes of the contents by path, empty for a deletion. There may be several
	// revisions.
	Files map[string][]string `json:"files"`
}

// noteSubmission notes what is submitted from a workspace.
func (t *Tree) noteSubmission(w *workspace, changes []Change) error {
	all, err := t.submissions()
	if err != nil {
		return err
	}
	one := submission{Contribution: w.Contribution, Files: all[w.ID].Files}
	if one.Files == nil {
		one.Files = map[string][]string{}
	}
	note := func(name, hash string) {
		if !slices.Contains(one.Files[name], hash) {
			one.Files[name] = append(one.Files[name], hash)
		}
	}
	for _, change := range changes {
		if change.Previous != "" {
			note(change.Previous, "")
		}
		note(change.Path, change.hash)
	}
	all[w.ID] = one
	return t.writeJSON(contributedFile, contributed{all})
}

func (t *Tree) submissions() (map[string]submission, error) {
	var all contributed
	_, err := t.readJSON(contributedFile, &all)
	if all.Workspaces == nil {
		all.Workspaces = map[string]submission{}
	}
	return all.Workspaces, err
}

// forgetSubmissions forgets what was submitted from workspaces.
func (t *Tree) forgetSubmissions(workspaces []string) error {
	if len(workspaces) == 0 {
		return nil
	}
	all, err := t.submissions()
	if err != nil {
		return err
	}
	maps.DeleteFunc(all, func(id string, _ submission) bool { return slices.Contains(workspaces, id) })
	if len(all) == 0 {
		return t.remove(contributedFile)
	}
	return t.writeJSON(contributedFile, contributed{all})
}

// decision is what became of a submission.
type decision struct {
	submission
	// final is false while it may still be accepted. changeset is the accepted one, empty for none.
	final     bool
	changeset string
}

// decisions asks what became of all submissions, by the workspace. It is called BEFORE the head is
// read, so that the head has what was accepted.
func (t *Tree) decisions(ctx context.Context) (map[string]decision, error) {
	all, err := t.submissions()
	if err != nil {
		return nil, err
	}
	made := make(map[string]decision, len(all))
	for id, one := range all {
		if made[id], err = t.decisionOf(ctx, id, one); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (t *Tree) decisionOf(
	ctx context.Context, workspace string, of submission,
) (made decision, err error) {
	made.submission = of
	// What this agent may not see is another's, who may have it decided.
	hidden := func(err error) bool {
		var failure *client.Failure
		return errors.As(err, &failure) && failure.Status == http.StatusForbidden
	}
	if made.Contribution == "" {
		w, err := t.readWorkspace(ctx, workspace)
		switch {
		case client.IsCode(err, "WORKSPACE_NOT_FOUND"), err == nil && w.ended() && w.Contribution == "":
			made.final = true
			return made, nil
		case err == nil:
			made.Contribution = w.Contribution
		case !hidden(err):
			return made, err
		}
		if made.Contribution == "" {
			return made, nil
		}
	}
	var read struct {
		Contribution struct {
			Status   string `json:"status"`
			Accepted string `json:"accepted_changeset_id"`
		} `json:"contribution"`
	}
	at := "/api/v1/contributions/" + made.Contribution
	err = t.remote.Client.Call(ctx, http.MethodGet, at, nil, &read)
	switch status := read.Contribution.Status; {
	case client.IsCode(err, "CONTRIBUTION_NOT_FOUND"):
		made.final = true
	case hidden(err):
	case err != nil:
		return made, err
	default:
		made.final = slices.Contains([]string{"ACCEPTED", "REJECTED", "WITHDRAWN"}, status)
		made.changeset = read.Contribution.Accepted
	}
	return made, nil
}

// source is where a content of the base is read.
type source struct{ changeset, hash string }

// takeAccepted makes what was contributed from here and accepted the base of its files: both sides
// were made of it. What was accepted in another version, merged with changes of others, keeps the
// base of before.
func (p *plan) takeAccepted(ctx context.Context, all map[string]decision) error {
	for workspace, one := range all {
		if !one.final {
			continue
		}
		p.decided = append(p.decided, workspace)
		if one.changeset == "" {
			continue
		}
		accepted, err := p.tree.remote.tree(ctx, one.changeset, p.tree.prefix)
		if client.IsCode(err, changesetUnknown) {
			continue
		}
		if err != nil {
			return err
		}
		p.base = maps.Clone(p.base)
		for name, hashes := range one.Files {
			hash := accepted[name].Hash
			switch {
			case !slices.Contains(hashes, hash):
			case hash == "":
				delete(p.base, name)
			default:
				p.base[name] = Entry{Hash: hash}
				p.sources[name] = source{one.changeset, hash}
			}
		}
	}
	slices.Sort(p.decided)
	return nil
}
