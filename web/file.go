package web

import (
	"net/url"
	"strings"

	"pws/api"
)

// linesShown is the most lines of a file that a page has.
const linesShown = 5000

func (w *Web) filePages() []*api.Operation {
	inTree := []api.Param{
		{Name: "folder", Check: "bytes=0..512", Doc: "Only files below it."},
		{Name: "at", Check: "id=chg_", Doc: "The changeset; the newest if absent."},
	}
	return []*api.Operation{
		w.page("files", at("p")+"/{project}/files", append(inTree,
			query("changeset.tree", "cursor")...), (*visit).files),
		w.page("file", at("p")+"/{project}/file/{path*}", inTree[1:], (*visit).file),
	}
}

// tree is a folder of a project.
type tree struct {
	Head         api.Project
	At           string
	Folder       string
	Folders      []string
	Files        []api.File
	Next         string
	IsNewestHead bool
}

func (v *visit) files() (view, error) {
	made := view{Template: "files", Tab: "files"}
	head, err := v.head()
	if err != nil {
		return made, err
	}
	all := tree{Head: head, At: v.Query["at"], Folder: v.Query["folder"]}
	all.IsNewestHead = all.At == "" || all.At == head.HeadChangesetID
	if all.At == "" {
		all.At = head.HeadChangesetID
	}
	if all.Folder != "" && !strings.HasSuffix(all.Folder, "/") {
		all.Folder += "/"
	}
	found, err := read[api.FilesData](v, "changeset.tree", []string{head.ID, all.At},
		"prefix", all.Folder, "limit", "200", "cursor", v.Query["cursor"])
	if err != nil {
		return made, err
	}
	for _, file := range found.Files {
		rest := strings.TrimPrefix(file.Path, all.Folder)
		folder, _, deeper := strings.Cut(rest, "/")
		if !deeper {
			all.Files = append(all.Files, file)
			continue
		}
		folder = all.Folder + folder
		if last := len(all.Folders) - 1; last < 0 || all.Folders[last] != folder {
			all.Folders = append(all.Folders, folder)
		}
	}
	all.Next = next(found.NextCursor, "folder", all.Folder, "at", v.Query["at"])
	made.Title, made.Data = "Files of "+head.Name, all
	made.Source = "/api/v1/projects/" + head.ID + "/changesets/" + all.At + "/tree"
	return made, nil
}

// content is a file as it was after a changeset.
type content struct {
	Head  api.Project
	File  api.File
	At    string
	Lines []string
	Cut   bool
}

func (v *visit) file() (view, error) {
	made := view{Template: "file", Tab: "files"}
	head, err := v.head()
	if err != nil {
		return made, err
	}
	changeset := v.Query["at"]
	if changeset == "" {
		changeset = head.HeadChangesetID
	}
	escaped := v.Param("path")
	found, err := read[api.FileData](v, "changeset.file", []string{head.ID, changeset, escaped})
	if err != nil {
		return made, err
	}
	all := content{Head: head, File: found.File, At: changeset}
	all.Lines = strings.SplitAfter(strings.TrimSuffix(deref(found.File.Content), "\n"), "\n")
	if all.Cut = len(all.Lines) > linesShown; all.Cut {
		all.Lines = all.Lines[:linesShown]
	}
	made.Title, made.Data = found.File.Path, all
	made.Source = "/api/v1/projects/" + head.ID + "/changesets/" + changeset + "/files/" + escaped
	return made, nil
}

// FolderLink is the address of a folder.
func (t tree) FolderLink(folder string) string {
	query := url.Values{"folder": {folder}}
	if !t.IsNewestHead {
		query.Set("at", t.At)
	}
	return at("p", t.Head.ID, "files") + "?" + query.Encode()
}

// FileLink is the address of a file.
func (t tree) FileLink(file api.File) string {
	link := at("p", t.Head.ID, "file", file.Path)
	if !t.IsNewestHead {
		link += "?at=" + t.At
	}
	return link
}

// Above is the folder that a folder is in.
func (t tree) Above() string {
	folder := strings.TrimSuffix(t.Folder, "/")
	return folder[:max(0, strings.LastIndexByte(folder, '/'))]
}
