package api

import (
	"fmt"
	"slices"

	"pws/internal/fault"
	"pws/work"
	"pws/work/path"
)

// fileFaults collects the errors of all files of a request, so that one answer lists all of
// them.
type fileFaults struct {
	invalid, paths, sizes, types []fault.Field
}

func (f *fileFaults) path(field, given string) {
	if problem := path.Problem(given); problem != "" {
		f.paths = append(f.paths, fault.Field{Field: field, Problem: problem})
	}
}

func (f *fileFaults) content(field string, content *string) {
	if content != nil && len(*content) > work.FileBytesMax {
		f.sizes = append(f.sizes, fault.Field{
			Field: field, Problem: fmt.Sprintf("is longer than %d bytes", work.FileBytesMax),
		})
	}
}

func (f *fileFaults) contentType(field, given string) {
	if given != "" && !path.SupportedType(given) {
		f.types = append(f.types, fault.Field{Field: field, Problem: "is not a supported media type"})
	}
}

func (f *fileFaults) add(field, problem string) {
	f.invalid = append(f.invalid, fault.Field{Field: field, Problem: problem})
}

// validatedMax is the number of elements that are still validated if a list is too long.
const validatedMax = 200

// firstValidated returns the first elements of a list.
func firstValidated[T any](list []T) []T { return list[:min(len(list), validatedMax)] }

// addKnown adds earlier errors in front, and drops later errors for the same fields.
func (f *fileFaults) addKnown(known []fault.Field) {
	for _, list := range []*[]fault.Field{&f.invalid, &f.paths, &f.sizes, &f.types} {
		*list = slices.DeleteFunc(*list, func(one fault.Field) bool {
			return slices.ContainsFunc(known, func(earlier fault.Field) bool {
				return earlier.Field == one.Field
			})
		})
	}
	f.invalid = append(known, f.invalid...)
}

// err returns the most severe kind of error, with the fields of all kinds: VALIDATION_FAILED,
// INVALID_PATH, FILE_TOO_LARGE, UNSUPPORTED_CONTENT_TYPE.
func (f *fileFaults) err() error {
	fields := append(append(append(f.invalid, f.paths...), f.sizes...), f.types...)
	switch {
	case len(f.invalid) > 0:
		return fault.Invalid(fields...)
	case len(f.paths) > 0:
		return fault.New(fault.InvalidPath, "A path is not canonical.").With("fields", fields)
	case len(f.sizes) > 0:
		return fault.New(fault.FileTooLarge, "A file is too large.").
			With("limit_bytes", work.FileBytesMax).With("fields", fields)
	case len(f.types) > 0:
		return fault.New(fault.UnsupportedContentType, "A media type is not supported.").
			With("fields", fields)
	}
	return nil
}
