package web

import (
	"html"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"pws/api"
	"pws/internal/fault"
	"pws/web/render"
)

const (
	// linesShown is the most lines of a file that a page has, linesRoom the most bytes of their
	// HTML; other lines are on the pages behind and before.
	linesShown, linesRoom = 1000, 46 << 10
	// lineRoom is the most bytes of one line with its marks; a larger one has none.
	lineRoom = 8 << 10
	// lineBytesShown is where a line of a file is cut.
	lineBytesShown = 2000
)

// atParam asks for the files as they were.
var atParam = api.Param{
	Name: "at", Check: "id=chg_", Doc: "The changeset; the newest if absent.",
}

func (w *Web) filePages() []*api.Operation {
	of := at("p") + "/{project}"
	return []*api.Operation{
		w.page("files", of+"/files", []api.Param{
			atParam,
			{Name: "folder", Check: "bytes=0..512", Doc: "The folder; that of all if absent."},
			{Name: "after", Check: "bytes=0..512", Doc: "Only what is behind this path."},
		}, (*visit).files),
		w.pageOrElsewhere("file", of+"/file/{path*}", []api.Param{
			atParam,
			{Name: "view", Check: "enum=rendered|source", Doc: "How to show Markdown."},
			{Name: "from", Integer: true, Check: "min=1", Default: 1, Doc: "The first line."},
		}, (*visit).fileOrFolder),
		w.rawPage(of + "/raw/{path*}"),
	}
}

// rawPage gives a browser the bytes of a file, which it keeps and does not show. It is here because
// the interface takes no cookie.
func (w *Web) rawPage(path string) *api.Operation {
	return api.Declare[api.None, api.WebPage](api.Operation{
		Name: "page.raw", Method: "GET", Path: path, Auth: api.Optional,
		Category: api.CategoryPage, Statuses: []int{200}, Page: true, Params: params(path),
		Query: []api.Param{atParam},
	}, func(c *api.Call, _ *api.None) (api.Reply, error) {
		v := &visit{Call: c, web: w}
		found, err := read[api.Document](v, "file.raw",
			[]string{v.Param("project"), v.Param("path")}, "changeset", v.Query["at"])
		if err != nil {
			return api.Reply{}, err
		}
		return api.Reply{Data: api.WebPage{Body: found.Body, Attachment: true}}, nil
	})
}

// entriesShown is the most files and folders of a page.
const entriesShown = 100

// tree is the files of a project after a changeset, or those of a folder.
type tree struct {
	Head         api.Project
	At           string
	Folder       string
	IsNewestHead bool
}

// level is a page of what is directly in a folder.
type level struct {
	tree
	api.FolderPage
	Next string
}

// treeOf is the files of a project at the changeset that the page asks for.
func (v *visit) treeOf(head api.Project) tree {
	all := tree{Head: head, At: v.Query["at"]}
	all.IsNewestHead = all.At == "" || all.At == head.HeadChangesetID
	if all.At == "" {
		all.At = head.HeadChangesetID
	}
	return all
}

func (v *visit) files() (view, error) {
	made := view{Template: "files", Tab: "files"}
	head, err := v.head()
	if err != nil {
		return made, err
	}
	all := level{tree: v.treeOf(head)}
	if all.Folder = v.Query["folder"]; all.Folder != "" && !strings.HasSuffix(all.Folder, "/") {
		all.Folder += "/"
	}
	all.FolderPage, err = v.FolderAt(head.ID, all.At, all.Folder, v.Query["after"], entriesShown)
	if err != nil {
		return made, err
	}
	if all.Last != "" {
		all.Next = asked("folder", all.Folder, "at", v.Query["at"], "after", all.Last)
	}
	made.Title, made.Data = "Files of "+head.Name, all
	made.inInterface(head, "projects/"+head.ID+"/changesets/"+all.At+"/tree")
	return made, nil
}

// content is a file as it was after a changeset.
type content struct {
	tree
	File api.File
	// Rendered is the file as HTML, if it is shown so. Markdown means that it can be.
	Rendered template.HTML
	Markdown bool
	// Lines are the rows of the table of the source. They are from line First to Last of Count.
	Lines              template.HTML
	First, Last, Count int
	// Before is the first line of the page before this one.
	Before int
	// Stands says that there is a file at the path now.
	Stands bool
}

// fileOrFolder is the page of a file. A text can lead to a folder, whose files have a page of their
// own.
func (v *visit) fileOrFolder() (made view, elsewhere string, err error) {
	made, err = v.file()
	escaped, slash := strings.CutSuffix(v.Param("path"), "/")
	if code := fault.CodeOf(err); code != fault.FileNotFound && !(slash && code == fault.InvalidPath) {
		return made, "", err
	}
	folder, problem := url.PathUnescape(escaped)
	head, missing := v.head()
	if problem != nil || missing != nil {
		return made, "", err
	}
	all := v.treeOf(head)
	found, failure := read[api.FilesData](v, "changeset.tree", []string{head.ID, all.At},
		"prefix", folder+"/", "limit", "1")
	if failure != nil || len(found.Files) == 0 {
		return made, "", err
	}
	return made, all.FolderLink(folder), nil
}

func (v *visit) file() (view, error) {
	made := view{Template: "file", Tab: "files"}
	head, err := v.head()
	if err != nil {
		return made, err
	}
	all := content{tree: v.treeOf(head)}
	escaped := v.Param("path")
	found, err := read[api.FileData](v, "changeset.file", []string{head.ID, all.At, escaped})
	if err != nil {
		return made, err
	}
	all.File, all.Stands = found.File, true
	if !all.IsNewestHead {
		all.Stands, err = v.stands(head.ID, head.HeadChangesetID, found.File.Path)
		if err != nil {
			return made, err
		}
	}
	text := plain(deref(found.File.Content))
	all.File.Content = nil
	if all.Markdown = isMarkdown(all.File.Path); all.Markdown && v.Query["view"] != "source" {
		if done := v.rendered(head.ID, all.File.Path, text, all.query(), 3); done.OK {
			all.Rendered = done.HTML
		}
	}
	if all.Rendered == "" {
		all.First = 1
		if from, err := strconv.Atoi(v.Query["from"]); err == nil {
			all.First = from
		}
		all.cut(v.web.texts.Code(all.File.Path, text, placeOf(v.Call)), text)
	}
	made.Title, made.Data = all.File.Path, all
	made.inInterface(head, "projects/"+head.ID+"/changesets/"+all.At+"/files/"+escaped)
	return made, nil
}

// cut keeps the lines of a page: highlighted ones if there are any.
func (c *content) cut(code render.Result, text string) {
	plain := slices.Collect(strings.Lines(text))
	marked := plain
	if code.OK {
		marked = slices.Collect(strings.Lines(string(code.HTML)))
	}
	row := func(at int) string {
		number := strconv.Itoa(at + 1)
		begin := `<tr id=L` + number + `><td>` + number + `<td>`
		if code.OK && len(marked) == len(plain) && len(marked[at]) < lineRoom {
			return begin + strings.TrimSuffix(marked[at], "\n")
		}
		return begin + html.EscapeString(cutLine(lineBytesShown, strings.TrimSuffix(plain[at], "\n")))
	}
	c.Count = len(plain)
	var rows strings.Builder
	for c.Last = c.First - 1; c.Last < min(c.Count, c.First-1+linesShown); c.Last++ {
		one := row(c.Last)
		if rows.Len() > 0 && rows.Len()+len(one) > linesRoom {
			break
		}
		rows.WriteString(one)
	}
	c.Lines = template.HTML(rows.String())
	room := linesRoom
	for c.Before = min(c.First, c.Count+1); c.Before > 1 && c.First-c.Before < linesShown; c.Before-- {
		if room -= len(row(c.Before - 2)); room < 0 {
			break
		}
	}
}

// query is the query of links to files of the same changeset, with further parameters. It is empty
// for the newest one without any.
func (t tree) query(pairs ...string) string {
	query := url.Values{}
	if !t.IsNewestHead {
		query.Set("at", t.At)
	}
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

// ViewLink is the address of the file in another form.
func (c content) ViewLink(view string) string { return c.query("view", view) }

// NextLink is the address of the lines behind those of the page, empty if there are none.
func (c content) NextLink() string {
	if c.Rendered != "" || c.Last >= c.Count {
		return ""
	}
	return c.query("view", "source", "from", strconv.Itoa(c.Last+1))
}

// BeforeLink is the address of the lines before those of the page, empty if there are none.
func (c content) BeforeLink() string {
	if c.Rendered != "" || c.First <= 1 {
		return ""
	}
	return c.query("view", "source", "from", strconv.Itoa(c.Before))
}

// RawLink is the address of the bytes of the file.
func (c content) RawLink() string {
	return at("p", c.Head.ID, "raw", c.File.Path) + c.query()
}

// FolderLink is the address of a folder.
func (t tree) FolderLink(folder string) string {
	return at("p", t.Head.ID, "files") + t.query("folder", strings.TrimSuffix(folder, "/"))
}

// FileLink is the address of a file.
func (t tree) FileLink(file api.File) string {
	return at("p", t.Head.ID, "file", file.Path) + t.query()
}

// Within is a path as seen from the folder.
func (t tree) Within(path string) string { return strings.TrimPrefix(path, t.Folder) }

// Above is the folder that a folder is in.
func (t tree) Above() string {
	folder := strings.TrimSuffix(t.Folder, "/")
	return folder[:max(0, strings.LastIndexByte(folder, '/'))]
}

// step is a folder on the way to a file.
type step struct{ Name, Path string }

// Steps are the folders above a path, the outermost first.
func (t tree) Steps(path string) (steps []step) {
	for i, c := range path {
		if c == '/' {
			name := path[strings.LastIndexByte(path[:i], '/')+1 : i]
			steps = append(steps, step{name, path[:i]})
		}
	}
	return steps
}
