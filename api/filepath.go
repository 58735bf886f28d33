package api

import (
	"strings"

	"pws/internal/fault"
	"pws/work"
)

// PathsData is a page of paths.
type PathsData struct {
	// Paths in byte order. Those of folders end with a slash.
	Paths []string `json:"paths"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

// pathsPage is the number of paths of a page.
const pathsPage = 200

var filePathOperations = []*Operation{
	withValidation(declare[None, PathsData](Operation{
		Name: "file.paths", Method: "GET", Path: "/api/v1/projects/{project}/paths",
		Tool: "file.list", Core: true, ToolPage: pathsPage,
		ToolDoc: "List the files and folders of a project by their paths; those of folders end " +
			"with a slash.",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Query: append(pageParams(pathsPage),
			Param{
				Name: "prefix",
				Doc:  "Only paths that start with this prefix. That of a folder ends with a slash.",
			},
			globParam,
			Param{
				Name: "recursive", Check: booleanCheck,
				Doc: "Whether to list the files of all folders instead of the folders. With glob it " +
					"is always so.",
			},
		),
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
		},
		Tag: "files", Summary: "List paths",
		Doc: "Lists paths alone: the files and folders directly behind the prefix, or with " +
			"recursive or glob the files of all folders. Paths of folders end with a slash.",
	}, listPaths), validateFileFilter[None]),
}

// validateFileFilter is the validation of a glob.
func validateFileFilter[Req any](_ *Req, c *Call) []error {
	_, err := c.fileFilter()
	return []error{err}
}

func listPaths(c *Call, _ *None) (Reply, error) {
	after, limit, err := c.page(pathsPage)
	if err != nil {
		return Reply{}, err
	}
	filter, err := c.fileFilter()
	if err != nil {
		return Reply{}, err
	}
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	data := PathsData{Paths: []string{}}
	if filter.glob != nil || c.Query["recursive"] == "true" {
		last, more := walkFiles(after, limit, filter, view.Files, func(info work.FileInfo) {
			data.Paths = append(data.Paths, info.Path)
		})
		if more {
			data.NextCursor = c.next([]byte(last))
		}
		return Reply{Data: data}, nil
	}
	walkLevel(view.Files, filter.prefix, string(after), func(at string, _ work.FileInfo) bool {
		if len(data.Paths) == limit {
			data.NextCursor = c.next([]byte(data.Paths[limit-1]))
			return false
		}
		data.Paths = append(data.Paths, at)
		return true
	})
	return Reply{Data: data}, nil
}

// walkLevel yields the paths of the files and folders directly behind a prefix, from behind a path
// on, which is empty at first: those of folders with a slash and the first file in them. Each takes
// one search, however many files a folder has.
func walkLevel(
	walk func(from string, yield func(work.FileInfo) bool), prefix, after string,
	yield func(path string, first work.FileInfo) bool,
) {
	from := prefix
	if after != "" {
		from = max(prefix, behindPath(after))
	}
	for more := true; more; {
		more = false
		walk(from, func(info work.FileInfo) bool {
			rest, within := strings.CutPrefix(info.Path, prefix)
			if !within {
				return false
			}
			if slash := strings.IndexByte(rest, '/'); slash >= 0 {
				rest = rest[:slash+1]
			}
			at := prefix + rest
			from, more = behindPath(at), yield(at, info)
			return false
		})
	}
}

// behindPath is behind a path, and behind all in it if it is a folder.
func behindPath(path string) string {
	if folder, ok := strings.CutSuffix(path, "/"); ok {
		return folder + string('/'+1)
	}
	return path + "\x00"
}

// walkFiles takes one page from an ordered walk over files. If there are more, the next page is
// after the last path.
func walkFiles(
	after []byte, limit int, filter *fileFilter,
	walk func(from string, yield func(work.FileInfo) bool), take func(work.FileInfo),
) (last string, more bool) {
	taken := 0
	walk(max(filter.prefix, string(after)), func(info work.FileInfo) bool {
		switch {
		case filter.ends(info.Path):
			return false
		case after != nil && info.Path == string(after) || !filter.takes(info.Path):
			last = info.Path
		case taken == limit:
			more = true
			return false
		default:
			last = info.Path
			taken++
			take(info)
		}
		more = filter.exhausted()
		return !more
	})
	return last, more
}
