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
	"slices"
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
			names, leftOut, asked, err := t.askGit(program)
			if asked || err != nil {
				return names, leftOut, err
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

// askGit returns what git neither ignores nor has as another repository, without the files of other
// working copies. It returns false if the directory itself is ignored by a repository around it.
func (t *Tree) askGit(program string) (names []string, leftOut []LeftOut, asked bool, err error) {
	_, err = t.git(program, "check-ignore", "--quiet", ".")
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil, nil, false, nil
	case !errors.As(err, &exit) || exit.ExitCode() != 1:
		return nil, nil, false, err
	}
	out, err := t.git(program, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, nil, false, err
	}
	copies := map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if !strings.HasPrefix(name, t.prefix) {
			continue
		}
		if folder := t.copyAround(name, copies); folder != "" {
			if !slices.Contains(leftOut, anotherAt(folder)) {
				leftOut = append(leftOut, anotherAt(folder))
			}
			continue
		}
		// A name with a slash at its end is another repository.
		if name != "" && !strings.HasSuffix(name, "/") && reserved(name) == "" {
			names = append(names, name)
		}
	}
	return names, leftOut, true, nil
}

// copyAround returns the topmost folder of a path that is a working copy of its own, empty if there
// is none. It notes in known which folders are.
func (t *Tree) copyAround(name string, known map[string]bool) string {
	for at := range len(name) {
		if name[at] != '/' || strings.HasPrefix(t.prefix, name[:at+1]) {
			continue
		}
		folder := name[:at]
		is, seen := known[folder]
		if !seen {
			is = t.has(folder, ".pws")
			known[folder] = is
		}
		if is {
			return folder
		}
	}
	return ""
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
		case w.tree.has(name, ".git"), w.tree.has(name, ".pws"):
			w.leftOut = append(w.leftOut, anotherAt(name))
			continue
		}
		if err := w.walk(name, rules); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether a folder has an entry of a name.
func (t *Tree) has(folder, name string) bool {
	_, err := t.root.Lstat(path.Join(folder, name))
	return err == nil
}

// anotherAt is a folder that is a repository or a working copy of its own.
func anotherAt(folder string) LeftOut { return LeftOut{folder + "/", "is another repository"} }

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
