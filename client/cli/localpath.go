package cli

import (
	"path/filepath"
)

// projectFile is the path in a project of a local file: from the root of a directory that is bound
// to the project, or from the working directory where the root is empty. The file need not exist.
// Errors: usage, for what is outside.
func (e *Env) projectFile(root, name string) (string, error) {
	if root == "" {
		root = e.Dir
	}
	file := e.path(name)
	path, inside := below(root, file)
	if !inside {
		// One of them may be named through a symbolic link.
		realRoot, err := filepath.EvalSymlinks(root)
		folder, failed := filepath.EvalSymlinks(filepath.Dir(file))
		if err == nil && failed == nil {
			path, inside = below(realRoot, filepath.Join(folder, filepath.Base(file)))
		}
	}
	if !inside {
		return "", usagef("%s is not a file below %s: it has no path in the project", name, root)
	}
	return path, nil
}

// below is the path of a file from a root, with slashes; false if the file is not below it.
func below(root, file string) (path string, inside bool) {
	path, err := filepath.Rel(root, file)
	inside = err == nil && path != "." && filepath.IsLocal(path)
	return filepath.ToSlash(path), inside
}
