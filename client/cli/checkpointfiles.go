package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
	"pws/client/checkout"
)

// files are the files that the flags name. A local file has the path in the project that it has
// below the root of the binding, unless the flag gives another one.
func (c *CheckpointCommand) files(
	env *Env, caller *account, project string,
) (files []checkout.Beside, err error) {
	if c.Input != "" || len(c.File)+len(c.Delete) == 0 {
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
		content, err := env.textOf("@" + from)
		if err != nil {
			return nil, err
		}
		files = append(files, checkout.Beside{Path: path, Content: &content})
	}
	for _, name := range c.Delete {
		path, err := env.projectFile(bound.root, name)
		if err != nil {
			return nil, err
		}
		files = append(files, checkout.Beside{Path: path})
	}
	return files, nil
}

// bodyFiles are files as the operation takes them.
func bodyFiles(files []checkout.Beside) (all []any) {
	for _, one := range files {
		if one.Content == nil {
			all = append(all, map[string]any{"path": one.Path, "delete": true})
			continue
		}
		all = append(all, map[string]any{"path": one.Path, "content": *one.Content})
	}
	return all
}

// store sends the checkpoint and returns the data of the answer. Files that a working copy keeps
// are based on what it was last made equal to, so that what others have published since is no loss
// but PROJECT_MOVED.
func (c *CheckpointCommand) store(
	ctx context.Context, env *Env, caller *account, project string, body any,
	files []checkout.Beside,
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
		base := c.Base
		if base == "" {
			if base, err = caller.head(ctx, project); err != nil {
				return nil, err
			}
		}
		return c.post(ctx, caller, path, withBase(body, base))
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	behind := false
	err = tree.Locked(ctx, func() (err error) {
		base := c.Base
		if base == "" {
			base = tree.Base()
		}
		behind, err = tree.PublishBeside(base, files, func() (string, error) {
			if data, err = c.post(ctx, caller, path, withBase(body, base)); err != nil {
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
	if client.IsCode(err, "PROJECT_MOVED", "CHANGESET_NOT_FOUND") {
		err = &advisedError{err, "pws pull, then repeat"}
	}
	return data, err
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

// withBase adds the base of the files to a body that has files.
func withBase(body any, base string) any {
	if members, is := body.(map[string]any); is {
		members["base_changeset_id"] = base
	}
	return body
}

// treeWith opens the working copy of the project that keeps one of the files at least, nil if the
// working directory is in none or nothing was pulled into it yet.
func (c *CheckpointCommand) treeWith(
	env *Env, caller *account, project string, files []checkout.Beside,
) (*checkout.Tree, error) {
	bound, err := env.boundTo(caller, project)
	if err != nil || bound.root == "" || bound.Files == "" || bound.Files == filesNone {
		return nil, err
	}
	tree, err := c.treeOf(env, caller, bound)
	if err != nil {
		return nil, err
	}
	kept := func(one checkout.Beside) bool { return tree.Keeps(one.Path) }
	if tree.Base() != "" && slices.ContainsFunc(files, kept) {
		return tree, nil
	}
	return nil, tree.Close()
}
