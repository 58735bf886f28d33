package api

import (
	"fmt"
	"slices"
	"strings"

	"pws/internal/fault"
	"pws/work"
)

// editAction is the action of an operation that replaces texts; in the history it is a MODIFY.
const editAction = "EDIT"

// operationsOf validates and converts all operations. It returns EMPTY_CHANGESET and the errors
// of fileFaults.
func operationsOf(given []OperationInput) ([]work.Operation, error) {
	if len(given) == 0 {
		return nil, fault.New(fault.EmptyChangeset, "A changeset needs at least one operation.")
	}
	var faults fileFaults
	operations := parseOperations(given, &faults)
	return operations, faults.err()
}

// parseOperations converts the operations for the rules, and adds their errors to faults.
func parseOperations(given []OperationInput, faults *fileFaults) []work.Operation {
	operations := make([]work.Operation, len(given))
	targets := make(map[string]int, len(given))
	for i := range given {
		in := &given[i]
		where := fmt.Sprintf("operations[%d]", i)
		in.validate(where, faults)
		operations[i] = in.operation()
		if in.Folder {
			// The targets are those of its files, which the rules check.
			continue
		}
		target, field := in.target()
		if first, twice := targets[target]; twice {
			faults.add(where+field, fmt.Sprintf("is already the target of operations[%d]", first))
		} else {
			targets[target] = i
		}
	}
	return operations
}

// target returns the path that an operation writes or deletes, and its member.
func (in *OperationInput) target() (path, field string) {
	if in.Action == work.Rename.String() {
		return in.NewPath, ".new_path"
	}
	return in.Path, ".path"
}

// validate adds the errors of an operation.
func (in *OperationInput) validate(where string, faults *fileFaults) {
	faults.path(where+".path", in.Path)
	faults.content(where+".content", in.Content)
	faults.contentType(where+".content_type", in.ContentType)
	switch in.Action {
	case work.Rename.String():
		in.validateRename(where, faults)
	case work.Create.String(), work.Modify.String():
		if in.Content == nil {
			faults.add(where+".content", "is required for "+in.Action)
		}
	case work.Delete.String(), editAction:
		if in.Content != nil || in.ContentType != "" {
			faults.add(where+".content", "is not allowed with "+in.Action)
		}
	}
	if in.NewPath != "" && in.Action != work.Rename.String() {
		faults.add(where+".new_path", "is only allowed with RENAME")
	}
	if len(in.Edits) == 0 && in.Action == editAction {
		faults.add(where+".edits", "is required for EDIT")
	}
	if len(in.Edits) > 0 && in.Action != editAction {
		faults.add(where+".edits", "is only allowed with EDIT")
	}
	in.validateExpected(where, faults)
	in.validateFolder(where, faults)
}

func (in *OperationInput) validateRename(where string, faults *fileFaults) {
	if in.NewPath == "" {
		faults.add(where+".new_path", "is required for RENAME")
	} else {
		faults.path(where+".new_path", in.NewPath)
	}
	if in.NewPath == in.Path {
		faults.add(where+".new_path", "must differ from path")
	}
}

func (in *OperationInput) validateExpected(where string, faults *fileFaults) {
	if in.ExpectedBlob == nil {
		return
	}
	if _, ok := parseHash(*in.ExpectedBlob); !ok {
		faults.add(where+".expected_blob_hash", "must be 64 lower-case hexadecimal digits")
	}
	if in.Action == work.Create.String() {
		faults.add(where+".expected_blob_hash", "is not allowed with CREATE")
	}
}

func (in *OperationInput) validateFolder(where string, faults *fileFaults) {
	if !in.Folder {
		return
	}
	switch in.Action {
	case work.Rename.String():
		if in.Content != nil || in.ContentType != "" {
			faults.add(where+".content", "is not allowed with folder")
		}
		if problem := folderMoveProblem(in.Path, in.NewPath); problem != "" {
			faults.add(where+".new_path", problem)
		}
	case work.Delete.String():
	default:
		faults.add(where+".folder", "is only allowed with DELETE and RENAME")
	}
	if in.ExpectedBlob != nil {
		faults.add(where+".expected_blob_hash", "is not allowed with folder")
	}
}

// folderMoveProblem says why a folder cannot get a path, empty if it can.
func folderMoveProblem(folder, newFolder string) string {
	if strings.HasPrefix(newFolder, folder+"/") {
		return "must not be below path"
	}
	return ""
}

// operation converts a valid operation.
func (in *OperationInput) operation() work.Operation {
	out := work.Operation{
		Action: work.ParseAction(in.Action), Path: in.Path, NewPath: in.NewPath,
		ContentType: in.ContentType, Folder: in.Folder, Edits: textEdits(in.Edits),
	}
	switch in.Action {
	case editAction:
		out.Action = work.Modify
	case work.Create.String():
		out.ContentType = typeOf(in.ContentType, in.Path)
	}
	if in.Content != nil {
		blob := blobOf(*in.Content)
		out.Content = &blob
	}
	out.Expected = expectedBlob(in.ExpectedBlob)
	return out
}

// expectedBlob converts a valid hash, nil if there is none.
func expectedBlob(text *string) *work.Hash {
	if text == nil {
		return nil
	}
	hash, _ := parseHash(*text)
	return &hash
}

// editsAny reports whether an operation is an EDIT.
func editsAny(operations []work.Operation) bool {
	return slices.ContainsFunc(operations, func(one work.Operation) bool { return len(one.Edits) > 0 })
}
