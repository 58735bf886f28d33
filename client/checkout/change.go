package checkout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pws/client"
)

// The actions of a Change, as in operations of a changeset.
const (
	actionCreate = "CREATE"
	actionModify = "MODIFY"
	actionDelete = "DELETE"
	actionRename = "RENAME"
)

// Change is a difference of the directory from its base.
type Change struct {
	// Action is CREATE, MODIFY, DELETE or RENAME.
	Action string `json:"action"`
	Path   string `json:"path"`
	// Previous is the path before a RENAME.
	Previous string `json:"previous_path,omitzero"`

	hash string
}

// emptyHash is the hash of no content. Empty files are not taken for renamed ones.
var emptyHash = hashOf(nil)

// changes compares the directory with the base. Files of the base that cannot be kept as they
// are now are returned apart. The order is that of the actions, so that deletions make room:
// DELETE, RENAME, MODIFY, CREATE, each by path.
func (t *Tree) changes(local map[string]file) (all []Change, unfit []LeftOut) {
	created := map[string][]string{}
	for name, here := range local {
		before, known := t.base.Files[name]
		switch {
		case here.problem != "":
			unfit = append(unfit, LeftOut{name, here.problem})
		case !known:
			created[here.hash] = append(created[here.hash], name)
		case here.hash != before.Hash:
			all = append(all, Change{Action: actionModify, Path: name, hash: here.hash})
		}
	}
	for _, names := range created {
		slices.Sort(names)
	}
	deleted := keysOf(t.base.Files)
	slices.Sort(deleted)
	for _, name := range deleted {
		entry := t.base.Files[name]
		if local[name].exists() || entry.Absent != "" {
			continue
		}
		change := Change{Action: actionDelete, Path: name}
		if same := created[entry.Hash]; len(same) > 0 && entry.Hash != emptyHash {
			change = Change{Action: actionRename, Path: same[0], Previous: name, hash: entry.Hash}
			created[entry.Hash] = same[1:]
		}
		all = append(all, change)
	}
	for hash, names := range created {
		for _, name := range names {
			all = append(all, Change{Action: actionCreate, Path: name, hash: hash})
		}
	}
	order := []string{actionDelete, actionRename, actionModify, actionCreate}
	slices.SortFunc(all, func(a, b Change) int {
		if by := slices.Index(order, a.Action) - slices.Index(order, b.Action); by != 0 {
			return by
		}
		return strings.Compare(a.Path, b.Path)
	})
	slices.SortFunc(unfit, func(a, b LeftOut) int { return strings.Compare(a.Path, b.Path) })
	return all, unfit
}

// apply makes the change in the files of a base.
func (c Change) apply(files map[string]Entry) {
	switch c.Action {
	case actionRename:
		delete(files, c.Previous)
		files[c.Path] = Entry{Hash: c.hash}
	case actionDelete:
		delete(files, c.Path)
	default:
		files[c.Path] = Entry{Hash: c.hash}
	}
}

// Status is what differs between the directory, its base and the server.
type Status struct {
	Server  string `json:"server"`
	Project string `json:"project_id"`
	// Base is the changeset of the last pull or push, empty before the first.
	Base string `json:"base_changeset_id"`
	// Head is the newest changeset of the server, empty if the server did not answer.
	Head string `json:"head_changeset_id"`
	// BaseUnknown is true if the server does not have the base, as after a restore from a backup.
	BaseUnknown bool     `json:"base_unknown,omitzero"`
	Changes     []Change `json:"changes"`
	// LeftOut are the files that are not pushed, and those of the project that are not here.
	LeftOut []LeftOut `json:"left_out"`
	// Unfit are files of the project that cannot be pushed as they are now.
	Unfit []LeftOut `json:"unfit"`
	// Conflicts are files that still have conflict markers.
	Conflicts []LeftOut `json:"conflicts"`
	// Interrupted is true after a pull or push that was killed; the next one completes it.
	Interrupted bool `json:"interrupted"`
}

// statusPatience is how long Status waits for the server, beside which it knows its answer.
const statusPatience = 5 * time.Second

// Status compares without changing anything. An error of the server is returned together with the
// rest. One that does not answer within 5 seconds is a *client.UnreachableError; one that asks to
// come again later is its *client.Failure.
func (t *Tree) Status(ctx context.Context) (Status, error) {
	s, err := t.LocalStatus()
	if err != nil {
		return s, err
	}
	asking, end := context.WithTimeout(ctx, t.patience)
	defer end()
	s.Head, _, err = t.remote.head(asking)
	if err == nil && s.Base != "" && s.Head != s.Base {
		var known bool
		known, err = t.remote.knows(asking, s.Base)
		s.BaseUnknown = err == nil && !known
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		// A pause of the client has ended, and what it has seen before says more.
		var lost *client.UnreachableError
		var failure *client.Failure
		switch {
		case errors.As(err, &failure):
			return s, failure
		case errors.As(err, &lost):
			return s, lost
		}
		err = &client.UnreachableError{
			Server: t.remote.Client.Server, Cause: fmt.Errorf("no answer within %s", t.patience),
		}
	}
	return s, err
}

// LocalStatus is Status without asking the server.
func (t *Tree) LocalStatus() (Status, error) {
	local, leftOut, err := t.scan(nil)
	if err != nil {
		return Status{}, err
	}
	s := Status{
		Server: t.base.Server, Project: t.base.Project, Base: t.base.Changeset, Changes: []Change{},
		LeftOut: []LeftOut{}, Unfit: []LeftOut{}, Conflicts: []LeftOut{},
	}
	all, unfit := t.changes(local)
	s.Changes, s.Unfit = append(s.Changes, all...), append(s.Unfit, unfit...)
	for name, entry := range t.base.Files {
		if entry.Absent != "" {
			leftOut = append(leftOut, LeftOut{name, entry.Absent})
		}
	}
	slices.SortFunc(leftOut, func(a, b LeftOut) int { return strings.Compare(a.Path, b.Path) })
	s.LeftOut = append(s.LeftOut, leftOut...)
	if blocked, ok := t.resolved("", "").(*BlockedError); ok {
		s.Conflicts = blocked.Files
	}
	for _, name := range []string{journalFile, pushFile} {
		if _, err := t.root.Lstat(name); err == nil {
			s.Interrupted = true
		}
	}
	return s, nil
}
