package api

import (
	"fmt"

	"pws/internal/fault"
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

func readRawFile(c *Call, _ *None) (Reply, error) {
	decoded, err := c.pathOf()
	if err != nil {
		return Reply{}, err
	}
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	info, found := view.File(decoded)
	if wanted := c.Query[changesetQuery.Name]; wanted != "" {
		changeset, err := findChangeset(view, wanted)
		if err != nil {
			return Reply{}, err
		}
		info, found = view.FileAt(decoded, changeset)
	}
	if !found {
		return Reply{}, errFileNotFound(decoded)
	}
	if err := c.hold(info.Size); err != nil {
		return Reply{}, err
	}
	content, err := c.Service.Engine.Blob(info.Blob)
	if err != nil {
		return Reply{}, err
	}
	tag := fmt.Sprintf(`"%x"`, info.Blob[:16])
	return Reply{
		Data: Document{ContentType: plainMedia, Body: content, Foreign: true}, ETag: tag,
	}, nil
}
