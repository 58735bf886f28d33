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
	_, _, err = t.git(program, "check-ignore", "--quiet", ".")
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil, nil, false, nil
	case !errors.As(err, &exit) || exit.ExitCode() != 1:
		return nil, nil, false, err
	}
	out, said, err := t.git(program, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, nil, false, err
	}
	if said != "" {
		// It passes over folders that it cannot list.
		t.notice("git: " + strings.ReplaceAll(said, "\n", "; "))
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
		if name == "" || reserved(name) != "" {
			continue
		}
		if folder, another := strings.CutSuffix(name, "/"); another {
			leftOut = append(leftOut, anotherAt(folder))
			continue
		}
		if path.Base(name) == ignoreName {
			// git passes over one that it cannot read, too.
			if _, err := t.look(name); err != nil {
				return nil, nil, false, unusable(name, unreadable(err))
			}
		}
		names = append(names, name)
	}
	return names, leftOut, true, nil
}

// copyAround returns the topmost folder of a path that is a working copy of its own, empty if there
// is none. It notes in known which folders are.
func (t *Tree) copyAround(name string, known map[string]bool) string {
	for i := range len(name) {
		if name[i] != '/' || strings.HasPrefix(t.prefix, name[:i+1]) {
			continue
		}
		folder := name[:i]
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

// git runs a command, and returns what it has written and what it said beside that.
func (t *Tree) git(program string, args ...string) (out []byte, said string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), gitLimit)
	defer cancel()
	command := GitCommand(ctx, program, t.dir, args...)
	var problem bytes.Buffer
	command.Stderr = &problem
	out, err = command.Output()
	said = strings.TrimSpace(problem.String())
	if err != nil && said != "" {
		err = fmt.Errorf("git: %s: %w", said, err)
	}
	return out, said, err
}

// walker lists files without git.
type walker struct {
	tree    *Tree
	found   []string
	leftOut []LeftOut
	// folders are those in which the base has files.
	folders map[string]bool
}

// walk finds the files below a folder. One that cannot be listed is left out.
func (w *walker) walk(folder string, above []*ignoreFile) error {
	entries, err := w.tree.list(folder)
	switch {
	case err == nil:
	case folder == ".":
		return err
	case notThere(err):
		// It was removed in the meantime.
		return nil
	default:
		w.leftOut = append(w.leftOut, LeftOut{folder + "/", unreadable(err)})
		return nil
	}
	rules, err := w.rules(folder, entries, above)
	if err != nil {
		return err
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

// rules are those for the entries of a folder.
func (w *walker) rules(
	folder string, entries []fs.DirEntry, above []*ignoreFile,
) ([]*ignoreFile, error) {
	isRules := func(entry fs.DirEntry) bool { return folded(entry.Name()) == ignoreName }
	if !slices.ContainsFunc(entries, isRules) {
		return above, nil
	}
	own, err := w.tree.readRules(folder)
	if err != nil || own == nil {
		return above, err
	}
	return append(above[:len(above):len(above)], own), nil
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
		return nil, unusable(name, unreadable(err))
	}
	if problem := modeProblem(info); problem != "" {
		return nil, unusable(name, problem)
	}
	text, err := t.readBytes(name)
	switch {
	case notThere(err):
		return nil, nil
	case err != nil:
		return nil, unusable(name, unreadable(err))
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
