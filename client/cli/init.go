package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"

	"pws/client"
	"pws/client/checkout"
)

// InitCommand binds the directory to a project.
type InitCommand struct {
	Common
	Project    string `short:"p" help:"ID or name of an existing project; a new one by default." placeholder:"PROJECT"`
	Name       string `help:"Name of the new project; that of the directory by default." placeholder:"NAME"`
	Visibility string `default:"PRIVATE" help:"PRIVATE, UNLISTED or PUBLIC."`
	Reuse      string `help:"ALLOW_REUSE or REFERENCE_ONLY; needed unless it is PRIVATE." placeholder:"POLICY"`
	Files      string `help:"Folder whose files the project keeps, or none, the default." placeholder:"FOLDER"`
}

const (
	localFolder = "local"
	ignoreFile  = ".gitignore"
	initKeyFile = "init-key"
	// baseFile is what a working copy has after its first pull.
	baseFile = "base.json"
	// filesNone is the member files of a binding whose directory keeps no files of the project.
	filesNone = "none"
)

// Run creates the project, unless it is named, and writes the binding. A run that was interrupted
// creates no second project when it is repeated.
func (c *InitCommand) Run(ctx context.Context, env *Env) error {
	if c.Files != "" && c.Files != filesNone {
		if err := checkout.CheckFolder(c.Files); err != nil {
			return usagef("--files: %w", err)
		}
	}
	bound, err := readBinding(env.Dir)
	if err == nil {
		return c.again(ctx, env, bound)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	if !caller.signedIn {
		return &advisedError{errNotSignedIn, "pws login " + caller.Server}
	}
	id := ""
	if c.Project != "" {
		id, err = caller.resolveProject(ctx, c.Project)
	} else {
		id, err = c.create(ctx, env, caller)
	}
	if err != nil {
		return err
	}
	bound = Binding{Server: caller.Server, Project: id, Files: cmp.Or(c.Files, filesNone)}
	if err := writeBinding(env.Dir, bound); err != nil {
		return err
	}
	env.trustHere()
	return c.showAs(ctx, env, caller, get(projectPath(id), nil), func(out io.Writer, v value) error {
		_, err := fmt.Fprintf(out, "Bound this directory to %s  %s at %s.\n", id,
			line(v.at("project.name").text()), caller.Server)
		return err
	})
}

// again is Run in a directory that is bound: it may get another folder of files before it is a
// working copy.
func (c *InitCommand) again(ctx context.Context, env *Env, bound Binding) error {
	if c.Project != "" && c.Project != bound.Project {
		return usagef("this directory is bound to %s: remove %s first", bound.Project,
			filepath.Join(env.Dir, bindingFolder, bindingFile))
	}
	files := cmp.Or(bound.Files, filesNone)
	if c.Files != "" && c.Files != files {
		if err := mayKeepOther(env.Dir, files); err != nil {
			return err
		}
		files, bound.Files = c.Files, c.Files
		if err := writeBinding(env.Dir, bound); err != nil {
			return err
		}
	}
	env.trust(bound)
	if !c.WantsJSON() {
		_, err := fmt.Fprintf(env.Out, "This directory is bound to %s at %s, files: %s.\n",
			bound.Project, line(bound.Server), line(files))
		return err
	}
	return c.show(ctx, env, get(projectPath(bound.Project), nil), nil)
}

// mayKeepOther returns an error if a directory is a working copy with a folder of files. A first
// pull that was interrupted has begun one: with another folder its completion would take the files
// outside of that for the copy's, and the next pull delete them.
func mayKeepOther(dir, files string) error {
	for _, one := range []struct{ file, problem string }{
		{baseFile, "is a working copy with files = %q: pws checkout makes another"},
		{"journal.json", unfinishedCopy}, {"push.json", unfinishedCopy},
	} {
		path, err := pwsPath(dir, localFolder, one.file)
		if err == nil {
			_, err = os.Lstat(path)
		}
		switch {
		case err == nil:
			return usagef("this directory "+one.problem, files)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return nil
}

const unfinishedCopy = "has a pull or push with files = %q that was interrupted: " +
	"pws pull completes it"

// create creates the project under a key that is saved BEFORE the request.
func (c *InitCommand) create(
	ctx context.Context, env *Env, caller *account,
) (string, error) {
	name := c.Name
	if name == "" {
		name = filepath.Base(env.Dir)
	}
	request, err := write(http.MethodPost, apiPath("projects"), members("name", name,
		"visibility", upper(c.Visibility), "reuse_policy", upper(c.Reuse)))
	if err != nil {
		return "", err
	}
	if request.Key, err = initKey(env.Dir); err != nil {
		return "", err
	}
	answer, err := caller.Do(ctx, request)
	if err != nil {
		return "", err
	}
	data, err := answer.Data()
	if err != nil {
		return "", err
	}
	v, err := parseValue(data)
	return v.at("project.id").text(), err
}

// initKey is the key of the creation: that of an interrupted run, or a new one.
func initKey(root string) (string, error) {
	if key, err := readPws(root, localFolder, initKeyFile); err == nil && len(key) > 0 {
		return strings.TrimSpace(string(key)), nil
	}
	key := client.NewIdempotencyKey()
	return key, writePws(root, []byte(key+"\n"), localFolder, initKeyFile)
}

func writeBinding(root string, bound Binding) error {
	var text bytes.Buffer
	text.WriteString("# Which project the work in this directory belongs to. Commit this file.\n")
	if err := toml.NewEncoder(&text).Encode(bound); err != nil {
		return err
	}
	err := writePws(root, []byte(localFolder+"/\n"), ignoreFile)
	if err == nil {
		err = writePws(root, text.Bytes(), bindingFile)
	}
	if err != nil {
		return err
	}
	err = os.Remove(filepath.Join(root, bindingFolder, localFolder, initKeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
