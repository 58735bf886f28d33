package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"pws/client"
)

// Binding says which project the work in a directory belongs to. It stands in a file that can be
// committed: it has no secrets.
type Binding struct {
	Server  string `toml:"server"`
	Project string `toml:"project"`
	// Files says which files of the directory the project keeps: none, or a folder.
	Files string `toml:"files"`
	// root is the directory that has the folder .pws.
	root string
}

const (
	bindingFolder = ".pws"
	bindingFile   = "config.toml"
)

// binding finds the binding of the working directory: in it or above it, up to the root of its git
// repository. It is empty if there is none.
func (e *Env) binding() (Binding, error) {
	for dir := e.Dir; ; {
		bound, err := readBinding(dir)
		if !errors.Is(err, fs.ErrNotExist) {
			return bound, err
		}
		above := filepath.Dir(dir)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || above == dir {
			return Binding{}, nil
		}
		dir = above
	}
}

// boundTo is the binding of the working directory if that is of a project, else an empty one.
func (e *Env) boundTo(caller *account, project string) (Binding, error) {
	bound, err := e.binding()
	if err != nil || bound.Project != project ||
		!client.SameService(orDefault(bound.Server), caller.Server) {
		return Binding{}, err
	}
	return bound, nil
}

func readBinding(dir string) (bound Binding, err error) {
	path := filepath.Join(dir, bindingFolder, bindingFile)
	text, err := readPws(dir, bindingFile)
	if err != nil {
		return bound, err
	}
	known, err := toml.NewDecoder(bytes.NewReader(text)).Decode(&bound)
	if err == nil && len(known.Undecoded()) > 0 {
		err = fmt.Errorf("unknown setting %s", known.Undecoded()[0])
	}
	// The project is a part of addresses, and of what is printed.
	if err == nil && bound.Project != "" && !projectID.MatchString(bound.Project) {
		err = errors.New("project is no ID of a project")
	}
	if err != nil {
		return bound, fmt.Errorf("%s: %w", path, err)
	}
	bound.root = dir
	return bound, nil
}
