package checkout

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	rules "pws/work/path"
)

// FileBytesMax is the largest file that a project keeps.
const FileBytesMax = 1 << 20

// file is what is at a path of the directory.
type file struct {
	// hash is that of the content, empty if there is no file or one that cannot be kept.
	hash string
	// problem says why a file that is there cannot be kept.
	problem string
}

func (f file) exists() bool { return f.hash != "" || f.problem != "" }

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// look reads what is at a path. A folder there counts as no file.
func (t *Tree) look(name string) (file, error) {
	_, found, err := t.read(name)
	return found, err
}

// read returns the content at a path, if it can be kept.
func (t *Tree) read(name string) (content []byte, found file, err error) {
	if reserved(name) != "" {
		return nil, file{}, nil
	}
	for i := range len(name) {
		if name[i] != '/' {
			continue
		}
		info, err := t.root.Lstat(name[:i])
		switch {
		case notThere(err):
			return nil, file{}, nil
		case err != nil:
			return nil, file{}, err
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, file{problem: "is behind the symbolic link " + name[:i]}, nil
		case !info.IsDir():
			return nil, file{}, nil
		}
	}
	info, err := t.root.Lstat(name)
	switch {
	case notThere(err):
		return nil, file{}, nil
	case err != nil:
		return nil, file{}, err
	case info.IsDir():
		return nil, file{}, nil
	case t.folding && !t.named(name):
		return nil, file{}, nil
	}
	if problem := modeProblem(info); problem != "" {
		return nil, file{problem: problem}, nil
	}
	content, err = t.readBytes(name)
	if notThere(err) {
		return nil, file{}, nil
	}
	if err != nil {
		return nil, file{}, err
	}
	if problem := contentProblem(content); problem != "" {
		return nil, file{problem: problem}, nil
	}
	return content, file{hash: hashOf(content)}, nil
}

// modeProblem says why what is at a path, and no folder, is not read; empty if it is.
func modeProblem(info fs.FileInfo) string {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return "is a symbolic link"
	case !info.Mode().IsRegular():
		return "is not an ordinary file"
	case info.Size() > FileBytesMax:
		return tooLarge(info.Size())
	}
	return ""
}

// readBytes returns an ordinary file, up to one byte more than a project keeps.
func (t *Tree) readBytes(name string) ([]byte, error) {
	opened, err := t.root.Open(name)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(opened, FileBytesMax+1))
	return content, errors.Join(err, opened.Close())
}

// list returns the entries of a folder by name. Names are any bytes, which package fs refuses.
func (t *Tree) list(folder string) ([]fs.DirEntry, error) {
	opened, err := t.root.Open(folder)
	if err != nil {
		return nil, err
	}
	entries, err := opened.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, errors.Join(err, opened.Close())
}

// unreadable says what is wrong with a path that the file system refuses to read.
func unreadable(err error) string {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return "cannot be read: " + err.Error()
}

// notThere reports that a path does not exist, also because a file stands where a folder would.
func notThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func tooLarge(size int64) string {
	return fmt.Sprintf("is larger than 1 MiB (%d bytes)", size)
}

// contentProblem says why a project cannot keep a content, empty if it can.
func contentProblem(content []byte) string {
	switch {
	case len(content) > FileBytesMax:
		return tooLarge(int64(len(content)))
	case bytes.IndexByte(content, 0) >= 0:
		return "is binary: it has a NUL byte"
	case !utf8.Valid(content):
		return "is not UTF-8"
	}
	return ""
}

// named reports whether a folder has an entry of exactly this name, where other names open it
// too.
func (t *Tree) named(name string) bool {
	folder := path.Dir(name)
	if _, known := t.names[folder]; !known {
		entries, err := t.list(folder)
		if err != nil {
			return false
		}
		names := make([]string, len(entries))
		for i, entry := range entries {
			names[i] = entry.Name()
		}
		t.names[folder] = names
	}
	return slices.Contains(t.names[folder], path.Base(name))
}

// scan reads the directory: all files that are not ignored, those of the base, and those of
// more. Files that are new and cannot be kept are returned apart. What cannot be read is there, and
// cannot be kept.
func (t *Tree) scan(
	more map[string]remoteFile,
) (all map[string]file, leftOut []LeftOut, err error) {
	t.names = map[string][]string{}
	found, leftOut, err := t.find()
	if err != nil {
		return nil, nil, err
	}
	all = make(map[string]file, len(found))
	add := func(name string) {
		if _, known := all[name]; known {
			return
		}
		one, err := t.look(name)
		if err != nil {
			one = file{problem: unreadable(err)}
		}
		if one.exists() {
			all[name] = one
		}
	}
	for name := range t.base.Files {
		add(name)
	}
	for name := range more {
		add(name)
	}
	for _, name := range found {
		if _, known := all[name]; known {
			continue
		}
		if problem := pathProblem(name); problem != "" {
			leftOut = append(leftOut, LeftOut{name, problem})
			continue
		}
		add(name)
		if problem := all[name].problem; problem != "" {
			leftOut = append(leftOut, LeftOut{name, problem})
			delete(all, name)
		}
	}
	slices.SortFunc(leftOut, func(a, b LeftOut) int { return strings.Compare(a.Path, b.Path) })
	return all, leftOut, nil
}

// PathProblem says in a sentence why a project cannot have a path, empty if it can.
func PathProblem(name string) string { return rules.Problem(name) }

// pathProblem says why a project cannot have a path, empty if it can.
func pathProblem(name string) string {
	problem := PathProblem(name)
	if problem == "" {
		return ""
	}
	const begin = "The path "
	return strings.TrimSuffix(strings.Replace(problem, begin, "has a path that ", 1), ".")
}
