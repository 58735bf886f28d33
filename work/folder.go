package work

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pws/internal/fault"
	"pws/work/path"
)

// addSteps appends the steps of an operation: the operation itself, one for each file of its
// folder, or none if it is to write what is there. A file that is written without a content type
// keeps its own, and a new one gets that of its path. Errors: those of folderOperations.
func (o *overlay) addSteps(steps []step, wish *Operation, nth int) ([]step, error) {
	if wish.Write {
		next := *wish
		next.Action = Modify
		current := o.get(wish.Path)
		if current == nil {
			next.Action = Create
			next.ContentType = cmp.Or(wish.ContentType, path.TypeOf(wish.Path))
		} else if current.blob == wish.Content.Hash &&
			(wish.ContentType == "" || wish.ContentType == current.contentType) {
			return steps, nil
		}
		wish = &next
	}
	if !wish.Folder {
		return append(steps, step{Operation: wish, nth: nth}), nil
	}
	operations, err := o.folderOperations(wish, nth)
	for i := range operations {
		steps = append(steps, step{Operation: &operations[i], nth: nth, ofFolder: true})
	}
	return steps, err
}

// folderOperations returns an operation for each file below a folder: FILE_NOT_FOUND if there is
// none, VALIDATION_FAILED if there are too many, and for a RENAME INVALID_PATH and FILE_EXISTS.
func (o *overlay) folderOperations(wish *Operation, nth int) ([]Operation, error) {
	files := o.filesBelow(wish.Path)
	switch {
	case len(files) == 0:
		return nil, atOperation(errFolderNotFound(wish.Path), nth)
	case len(files) > OperationsMax:
		return nil, errFolderTooLarge(o.field(nth))
	}
	if wish.Action == Rename {
		if err := requireMoves(files, wish.Path, wish.NewPath, o.exists); err != nil {
			return nil, atOperation(err, nth)
		}
	}
	operations := make([]Operation, len(files))
	for i, file := range files {
		operations[i] = Operation{Action: wish.Action, Path: file}
		if wish.Action == Rename {
			operations[i].NewPath = pathIn(file, wish.Path, wish.NewPath)
		}
	}
	return operations, nil
}

func (o *overlay) exists(path string) bool { return o.get(path) != nil }

// filesBelow returns the paths below a folder in the order of their bytes, at most one more than
// OperationsMax.
func (o *overlay) filesBelow(folder string) []string {
	prefix := folder + "/"
	var files []string
	for path, left := range o.changed {
		if left != nil && strings.HasPrefix(path, prefix) {
			files = append(files, path)
		}
	}
	o.project.live.Ascend(prefix, func(path string, _ *File) bool {
		if _, changed := o.changed[path]; !changed && strings.HasPrefix(path, prefix) {
			files = append(files, path)
		}
		return strings.HasPrefix(path, prefix) && len(files) <= OperationsMax
	})
	slices.Sort(files)
	return files
}

// pathIn returns the path of a file after its folder is renamed.
func pathIn(file, folder, newFolder string) string { return newFolder + file[len(folder):] }

// requireMoves checks that the files of a folder can be renamed, and puts them into an order in
// which they can: INVALID_PATH, FILE_EXISTS with all files in the way.
func requireMoves(
	files []string, folder, newFolder string, exists func(path string) bool,
) error {
	var taken []string
	for _, file := range files {
		target := pathIn(file, folder, newFolder)
		if problem := path.Problem(target); problem != "" {
			return fault.New(fault.InvalidPath, "A path would not be canonical.").
				With("path", target).With("problem", problem)
		}
		if _, leaves := slices.BinarySearch(files, target); !leaves && exists(target) {
			taken = append(taken, target)
		}
	}
	if len(taken) > 0 {
		return fault.New(fault.FileExists, "There are already files at these paths.").
			With("path", taken[0]).With("paths", taken)
	}
	// A target can be the path of another file of the folder only if the folder is renamed to one
	// that contains it. The path of that file is shorter, and it moves first.
	slices.SortStableFunc(files, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return nil
}

func errFolderNotFound(folder string) error {
	return fault.New(fault.FileNotFound, "There is no file below this path.").With("path", folder)
}

// errFolderTooLarge is the error for the operation that a field names; it is empty if the request
// is the operation.
func errFolderTooLarge(operation string) error {
	return errPathOf(operation, fmt.Sprintf(
		"has files that need more than the %d operations of a changeset", OperationsMax))
}

func errEditedAgain(operation string) error {
	return errPathOf(operation, "is already the target of another operation")
}

func errPathOf(operation, problem string) error {
	field := "path"
	if operation != "" {
		field = operation + ".path"
	}
	return fault.Invalid(fault.Field{Field: field, Problem: problem})
}

// requireFolders checks the steps of folders together with all others: they must not be more than
// OperationsMax, and no two may have the same target. Without folders, both are checked with the
// format of the request.
func requireFolders(steps []step, field func(nth int) string) (faults []error) {
	folder := slices.IndexFunc(steps, func(one step) bool { return one.ofFolder })
	if folder < 0 {
		return nil
	}
	targets := make(map[string]step, len(steps))
	for _, one := range steps {
		first, twice := targets[one.target()]
		if twice && (first.ofFolder || one.ofFolder) && len(one.Edits) == 0 {
			faults = append(faults, errPathOf(field(one.nth),
				fmt.Sprintf("changes %s, as %s does", one.target(), field(first.nth))))
		}
		targets[one.target()] = one
	}
	if len(steps) > OperationsMax {
		faults = append(faults, errFolderTooLarge(field(steps[folder].nth)))
	}
	return faults
}
