package api

import (
	"fmt"

	"pws/internal/fault"
	"pws/work"
)

var changesetQuery = Param{
	Name: "changeset", Doc: "Read the project after this changeset; the head if absent.",
}

var rawFileOperations = []*Operation{
	declare[None, Document](Operation{
		Name: "file.raw", Method: "GET", Path: "/api/v1/projects/{project}/raw/{path*}",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200, 206}, Params: fileParams,
		Query: []Param{changesetQuery},
		Errors: []fault.Code{
			fault.InvalidPath, fault.ProjectNotFound, fault.ChangesetNotFound, fault.FileNotFound,
			fault.RangeNotSatisfiable, fault.BlobCorrupt, fault.ContentRemoved,
		},
		Conditional: true, Ranges: true, Media: []string{plainMedia},
		Tag: "files", Summary: "Download a file",
		Doc: "Returns the bytes of a file as plain text, whatever its media type is, or one range " +
			"of them.",
	}, readRawFile),
}

// contentOf returns the bytes of the file that was found at a path, and holds memory for them.
func (c *Call) contentOf(decoded string, info work.FileInfo, found bool) ([]byte, error) {
	if !found {
		return nil, errFileNotFound(decoded)
	}
	if err := c.hold(info.Size); err != nil {
		return nil, err
	}
	return c.Service.Engine.Blob(info.Blob)
}

func readRawFile(c *Call, _ *None) (Reply, error) {
	decoded, err := c.pathOf()
	if err != nil {
		return Reply{}, err
	}
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	changeset, err := c.changesetWanted(view)
	if err != nil {
		return Reply{}, err
	}
	info, found := view.FileAt(decoded, changeset)
	content, err := c.contentOf(decoded, info, found)
	if err != nil {
		return Reply{}, err
	}
	tag := fmt.Sprintf(`"%x"`, info.Blob[:16])
	return Reply{
		Data: Document{ContentType: plainMedia, Body: content, Foreign: true}, ETag: tag,
	}, nil
}
