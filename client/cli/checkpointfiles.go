package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
	"pws/client/checkout"
)

// namedFile is a file that a flag names.
type namedFile struct {
	// path is its path in the project.
	path string
	// from is the local file, - for standard input. It is not at the path if renamed is true.
	from    string
	renamed bool
	// deleted is true for a file to delete, which has no content.
	deleted bool
	// content is what was read of the local file, nil BEFORE.
	content *string
}

// files are the files that the flags name. A local file has the path in the project that it has
// below the root of the binding, unless the flag gives another one.
func (c *CheckpointCommand) files(
	env *Env, caller *account, project string,
) (files []namedFile, err error) {
	if len(c.File)+len(c.Delete) == 0 {
		return nil, nil
	}
	bound, err := env.boundTo(caller, project)
	if err != nil {
		return nil, err
	}
	for _, flag := range c.File {
		path, from, renamed := strings.Cut(flag, "=")
		switch {
		case renamed:
		case path == "-":
			return nil, usagef("standard input needs a path in the project: -f PATH=-")
		default:
			from = path
			if path, err = env.projectFile(bound.root, from); err != nil {
				return nil, &advisedError{err, "-f PATH=" + from}
			}
		}
		files = append(files, namedFile{path: path, from: from, renamed: renamed})
	}
	for _, name := range c.Delete {
		path, err := env.projectFile(bound.root, name)
		if err != nil {
			return nil, err
		}
		files = append(files, namedFile{path: path, deleted: true})
	}
	for _, one := range files {
		if problem := checkout.PathProblem(one.path); problem != "" {
			return nil, usagef("%q is not a path in the project: %s", one.path, problem)
		}
	}
	return files, nil
}

// readStreams reads those of the files that are none on a disk, such as standard input. That may
// take long, and nobody waits for a working copy until then.
func (e *Env) readStreams(files []namedFile) error {
	for i, one := range files {
		if one.deleted {
			continue
		}
		info, err := os.Stat(e.path(one.from))
		if one.from != "-" && (err != nil || info.Mode().IsRegular() || info.IsDir()) {
			continue
		}
		content, err := e.textOf("@" + one.from)
		if err != nil {
			return err
		}
		files[i].content = &content
	}
	return nil
}

// contents reads the files. Those that a working copy keeps are read of it; it may be nil.
func (e *Env) contents(tree *checkout.Tree, files []namedFile) (all []checkout.Beside, err error) {
	for _, one := range files {
		made, is := checkout.Beside{Path: one.path, Content: one.content}, false
		if tree != nil && !one.deleted && !one.renamed && one.content == nil {
			if made, is, err = tree.FileHere(one.path); err != nil {
				return nil, err
			}
		}
		if !is && !one.deleted && one.content == nil {
			content, err := e.textOf("@" + one.from)
			if err != nil {
				return nil, err
			}
			made = checkout.Beside{Path: one.path, Content: &content}
		}
		all = append(all, made)
	}
	return all, nil
}

// withFiles adds files and their base to a body.
func withFiles(body any, base string, files []checkout.Beside) any {
	members, ok := body.(map[string]any)
	if !ok {
		return body
	}
	var all []any
	for _, one := range files {
		if one.Content == nil {
			all = append(all, map[string]any{"path": one.Path, "delete": true})
			continue
		}
		all = append(all, map[string]any{"path": one.Path, "content": *one.Content})
	}
	members["files"], members["base_changeset_id"] = all, base
	return members
}

// store sends the checkpoint and returns the data of the answer. Files that a working copy keeps
// are based on what it was last made equal to, so that what others have published since is no loss
// but PROJECT_MOVED. Its base is known BEFORE anything is read.
func (c *CheckpointCommand) store(
	ctx context.Context, env *Env, caller *account, project string, body any, files []namedFile,
) (data jsontext.Value, err error) {
	path := projectPath(project, "checkpoint")
	if len(files) == 0 {
		return c.post(ctx, caller, path, body)
	}
	tree, err := c.treeWith(env, caller, project, files)
	if err != nil {
		return nil, err
	}
	if tree == nil {
		all, err := env.contents(nil, files)
		base := c.Base
		if err == nil && base == "" {
			base, err = caller.head(ctx, project)
		}
		if err != nil {
			return nil, err
		}
		return c.post(ctx, caller, path, withFiles(body, base, all))
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	if err := env.readStreams(files); err != nil {
		return nil, err
	}
	behind := false
	err = tree.LockedBeside(ctx, func() (err error) {
		behind, err = tree.PublishBeside(
			checkout.BesideOptions{Base: c.Base, AllowMarkers: c.AllowMarkers},
			func() ([]checkout.Beside, error) { return env.contents(tree, files) },
			func(base string, all []checkout.Beside) (string, error) {
				if data, err = c.post(ctx, caller, path, withFiles(body, base, all)); err != nil {
					return "", err
				}
				v, err := parseValue(data)
				return v.at("checkpoint.changeset_id").text(), err
			})
		return err
	})
	if behind {
		fmt.Fprintln(env.Err, "pws: the working copy does not have what was stored: pws pull brings it")
	}
	return data, storeError(err)
}

// storeError adds the next step to an error of a checkpoint in a working copy.
func storeError(err error) error {
	var blocked *checkout.BlockedError
	switch {
	case errors.As(err, &blocked):
		return &advisedError{conflictError{err}, blocked.Try}
	case errors.Is(err, checkout.ErrBusy):
		return busyError(err)
	case client.IsCode(err, "PROJECT_MOVED", "CHANGESET_NOT_FOUND"):
		return &advisedError{err, "pws pull, then repeat"}
	}
	return err
}

func (*CheckpointCommand) post(
	ctx context.Context, caller *account, path string, body any,
) (jsontext.Value, error) {
	request, err := write(http.MethodPost, path, body)
	if err != nil {
		return nil, err
	}
	return dataOf(caller.Do(ctx, request))
}

// treeWith opens the working copy of the project that keeps one of the files at least, nil if the
// working directory is in none or nothing was pulled into it yet.
func (c *CheckpointCommand) treeWith(
	env *Env, caller *account, project string, files []namedFile,
) (*checkout.Tree, error) {
	bound, err := env.boundTo(caller, project)
	if err != nil || bound.root == "" || bound.Files == "" || bound.Files == filesNone {
		return nil, err
	}
	tree, err := c.treeOf(env, caller, bound)
	if err != nil {
		return nil, err
	}
	kept := func(one namedFile) bool { return tree.Keeps(one.path) }
	if tree.Base() != "" && slices.ContainsFunc(files, kept) {
		return tree, nil
	}
	return nil, tree.Close()
}
