package checkout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// gitLimit bounds the time of one git command.
const gitLimit = time.Minute

// ignoreName is the name of files with rules. Without git, one may have FileBytesMax.
const ignoreName = ".gitignore"

// find lists the files of the directory that are not ignored. In a git repository git says which
// those are, so that also the rules outside of the repository count. Elsewhere the files
// .gitignore do, and folders whose names begin with a dot are left out unless the project has
// files in them.
func (t *Tree) find() ([]string, []LeftOut, error) {
	if inRepository(t.dir) {
		if program, err := exec.LookPath("git"); err == nil {
			names, asked, err := t.askGit(program)
			if asked || err != nil {
				return names, nil, err
			}
		}
	}
	w := walker{tree: t, folders: map[string]bool{}}
	for name := range t.base.Files {
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			w.folders[folder] = true
		}
	}
	err := w.walk(".", nil)
	return w.found, w.leftOut, err
}

// inRepository reports whether a directory is in a git repository.
func inRepository(dir string) bool {
	for {
		if _, err := filepath.EvalSymlinks(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		above := filepath.Dir(dir)
		if above == dir {
			return false
		}
		dir = above
	}
}

// askGit returns what git neither ignores nor has as another repository. It returns false if the
// directory itself is ignored by a repository around it.
func (t *Tree) askGit(program string) (names []string, asked bool, err error) {
	_, err = t.git(program, "check-ignore", "--quiet", ".")
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil, false, nil
	case !errors.As(err, &exit) || exit.ExitCode() != 1:
		return nil, false, err
	}
	out, err := t.git(program, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, false, err
	}
	for name := range strings.SplitSeq(string(out), "\x00") {
		// A name with a slash at its end is another repository.
		if name == "" || strings.HasSuffix(name, "/") || !t.keeps(name) {
			continue
		}
		names = append(names, name)
	}
	return names, true, nil
}

func (t *Tree) git(program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), gitLimit)
	defer cancel()
	command := GitCommand(ctx, program, t.dir, args...)
	var problem bytes.Buffer
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil && problem.Len() > 0 {
		err = fmt.Errorf("git: %s: %w", bytes.TrimSpace(problem.Bytes()), err)
	}
	return out, err
}

// keeps reports whether a path is one of the folder that the directory keeps.
func (t *Tree) keeps(name string) bool {
	return strings.HasPrefix(name, t.prefix) && reserved(name) == ""
}

// walker lists files without git.
type walker struct {
	tree    *Tree
	found   []string
	leftOut []LeftOut
	// folders are those in which the base has files.
	folders map[string]bool
}

func (w *walker) walk(folder string, above []*ignoreFile) error {
	entries, err := fs.ReadDir(w.tree.root.FS(), folder)
	if err != nil {
		return err
	}
	rules := above
	if own, err := w.tree.readRules(folder); err != nil {
		return err
	} else if own != nil {
		rules = append(rules[:len(rules):len(rules)], own)
	}
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		within := strings.HasPrefix(w.tree.prefix, name+"/")
		if reserved(name) != "" || !within && !strings.HasPrefix(name, w.tree.prefix) {
			continue
		}
		switch {
		case !entry.IsDir():
			if !ignored(rules, name, false) {
				w.found = append(w.found, name)
			}
			continue
		case within:
		case ignored(rules, name, true):
			continue
		case strings.HasPrefix(entry.Name(), ".") && !w.folders[name]:
			w.leftOut = append(w.leftOut, LeftOut{name + "/", "is a folder with a dot before its name"})
			continue
		case w.another(name):
			w.leftOut = append(w.leftOut, LeftOut{name + "/", "is another repository"})
			continue
		}
		if err := w.walk(name, rules); err != nil {
			return err
		}
	}
	return nil
}

// another reports whether a folder is a repository or a working copy of its own.
func (w *walker) another(folder string) bool {
	for _, own := range []string{".git", ".pws"} {
		if _, err := w.tree.root.Lstat(path.Join(folder, own)); err == nil {
			return true
		}
	}
	return false
}

// readRules reads the file .gitignore of a folder. It returns nil if there is none. Errors: one for
// a file that cannot be used, with its name. All that it excludes would be published without it.
func (t *Tree) readRules(folder string) (*ignoreFile, error) {
	name := path.Join(folder, ignoreName)
	info, err := t.root.Lstat(name)
	switch {
	case notThere(err), err == nil && info.IsDir():
		return nil, nil
	case err != nil:
		return nil, unusable(name, "cannot be read: "+err.Error())
	}
	if problem := modeProblem(info); problem != "" {
		return nil, unusable(name, problem)
	}
	text, err := t.readBytes(name)
	switch {
	case notThere(err):
		return nil, nil
	case err != nil:
		return nil, unusable(name, "cannot be read: "+err.Error())
	case len(text) > FileBytesMax:
		return nil, unusable(name, tooLarge(int64(len(text))))
	case bytes.IndexByte(text, 0) >= 0:
		return nil, unusable(name, "has a NUL byte, as UTF-16 has")
	}
	rules, err := readIgnore(folder, text)
	if err != nil {
		return nil, unusable(name, err.Error())
	}
	return rules, nil
}

func unusable(name, problem string) error {
	return fmt.Errorf("%s %s: it is unknown what it excludes", name, problem)
}
