package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
	"pws/client/checkout"
)

// FileGroup are the commands for files of a project.
type FileGroup struct {
	List    FileListCommand    `cmd:"" help:"List the files."`
	Read    FileReadCommand    `cmd:"" help:"Print a file."`
	Write   FileWriteCommand   `cmd:"" help:"Write a file from a local one or standard input."`
	Edit    FileEditCommand    `cmd:"" help:"Replace a text in a file."`
	Rm      FileRmCommand      `cmd:"" help:"Delete a file."`
	History FileHistoryCommand `cmd:"" help:"List the changesets of a file."`
}

// path is a path of this machine, from the working directory.
func (e *Env) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.Dir, name)
}

func upper(text string) string { return strings.ToUpper(text) }

// FileListCommand lists files.
type FileListCommand struct {
	InProject
	Paged
	Prefix string `arg:"" optional:"" help:"Only paths that begin with this."`
	Glob   string `help:"Only paths that match, such as '**/*.go'." placeholder:"PATTERN"`
}

// Run prints the files.
func (c *FileListCommand) Run(ctx context.Context, env *Env) error {
	query := filters("prefix", c.Prefix, "glob", c.Glob)
	return c.listIn(ctx, env, c.Paged, "files", query, "files",
		column{"PATH", "path", nil}, column{"BYTES", "size_bytes", nil},
		column{"CHANGED", "updated_at", asAgo}, column{"CHANGESET", "updated_changeset_id", nil})
}

// FileReadCommand prints a file.
type FileReadCommand struct {
	InProject
	Path      string `arg:"" help:"Path in the project."`
	Lines     string `help:"Only these lines." placeholder:"FROM-TO"`
	Changeset string `help:"As it was at this changeset." placeholder:"CHANGESET"`
	Output    string `short:"o" help:"Write the file here, byte for byte." placeholder:"FILE"`
}

// Run prints the content. At a terminal control characters are made visible; elsewhere the content
// is printed as it is.
func (c *FileReadCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		path := projectPath(project, "files", c.Path)
		if c.Changeset != "" {
			path = projectPath(project, "changesets", c.Changeset, "files", c.Path)
		}
		return get(path, filters("lines", c.Lines)), nil
	}, func(out io.Writer, v value) error {
		content := v.at("file.content").text()
		if c.Output != "" {
			return os.WriteFile(env.path(c.Output), []byte(content), 0o666)
		}
		_, err := io.WriteString(env.foreign(), content)
		return err
	})
}

// FileWriteCommand writes a file.
type FileWriteCommand struct {
	InProject
	Path    string `arg:"" help:"Path in the project."`
	From    string `arg:"" optional:"" help:"The local file; standard input by default."`
	Message string `short:"m" help:"Message of the changeset." placeholder:"TEXT"`
}

// Run writes the file as one changeset.
func (c *FileWriteCommand) Run(ctx context.Context, env *Env) error {
	content, err := env.contentOf(c.From)
	if err != nil {
		if c.From == "" {
			err = fmt.Errorf("%s: %w", c.Path, err)
		}
		return err
	}
	caller, project, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer caller.close()
	if !caller.signedIn {
		return &advisedError{errNotSignedIn, "pws login " + caller.Server}
	}
	data, err := c.write(ctx, caller, project, content)
	if err != nil {
		return err
	}
	return c.printData(ctx, env, data, func(out io.Writer, v value) error {
		if v.at("changeset.id").text() == "" {
			return say("%s has this content already.", "file.path")(out, v)
		}
		return say("Wrote %s, %s bytes, changeset %s.", "file.path", "file.size_bytes",
			"changeset.id")(out, v)
	})
}

// fileWritesMax is how often a write of a file is tried that others change at the same time.
const fileWritesMax = 10

// write writes the file with the content type that it has, which a write without one would replace
// by that of the extension. If somebody changes the file AFTER its type was read, the type is read
// again.
func (c *FileWriteCommand) write(
	ctx context.Context, caller *account, project, content string,
) (data jsontext.Value, err error) {
	for range fileWritesMax {
		found, err := caller.listedFile(ctx, projectPath(project, "files"), c.Path)
		if err != nil {
			return nil, err
		}
		body := members("message", c.Message)
		body["content"] = content
		condition, tag := "If-None-Match", "*"
		if found.Path != "" {
			body["content_type"] = found.Type
			condition, tag = "If-Match", `"`+found.Updated+`"`
		}
		request, err := write(http.MethodPut, projectPath(project, "files", c.Path), body)
		if err != nil {
			return nil, err
		}
		request.Header.Set(condition, tag)
		data, err = dataOf(caller.Do(ctx, request))
		if !client.IsCode(err, "PRECONDITION_FAILED") {
			return data, err
		}
	}
	return nil, fmt.Errorf("others have changed %s %d times in the meantime", c.Path, fileWritesMax)
}

// listedFile is a file as a list of files has it.
type listedFile struct {
	Path    string `json:"path"`
	Type    string `json:"content_type"`
	Updated string `json:"updated_changeset_id"`
}

// listedFile returns a file of a list, without a path if there is none. It is the first of those
// whose paths begin with its own.
func (a *account) listedFile(ctx context.Context, list, name string) (listedFile, error) {
	var page struct {
		Files []listedFile `json:"files"`
	}
	query := url.Values{"prefix": {name}, "limit": {"1"}}
	err := a.Call(ctx, http.MethodGet, list+"?"+query.Encode(), nil, &page)
	if err != nil || len(page.Files) == 0 || page.Files[0].Path != name {
		return listedFile{}, err
	}
	return page.Files[0], nil
}

// FileEditCommand edits a file.
type FileEditCommand struct {
	InProject
	Path    string `arg:"" help:"Path in the project."`
	Old     string `required:"" help:"The text to replace, exactly, or @FILE." placeholder:"TEXT"`
	New     string `help:"What replaces it, or @FILE." placeholder:"TEXT"`
	All     bool   `help:"Replace it wherever it occurs."`
	Message string `short:"m" help:"Message of the changeset." placeholder:"TEXT"`
}

// Run replaces the text.
func (c *FileEditCommand) Run(ctx context.Context, env *Env) error {
	old, err := env.textOf(c.Old)
	if err != nil {
		return err
	}
	replacement, err := env.textOf(c.New)
	if err != nil {
		return err
	}
	edit := members("replace_all", c.All)
	edit["old_text"], edit["new_text"] = old, replacement
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		body := members("message", c.Message)
		body["edits"] = []any{edit}
		return write(http.MethodPatch, projectPath(project, "files", c.Path), body)
	}, say("Edited %s, changeset %s.", "file.path", "changeset.id"))
}

// FileRmCommand deletes a file.
type FileRmCommand struct {
	InProject
	Path      string `arg:"" help:"Path in the project."`
	Recursive bool   `short:"r" help:"Delete a folder and all in it."`
	Message   string `short:"m" help:"Message of the changeset." placeholder:"TEXT"`
}

// Run deletes the file as one changeset.
func (c *FileRmCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		query := filters("message", c.Message)
		if c.Recursive {
			query.Set("folder", "true")
		}
		path := projectPath(project, "files", c.Path)
		if len(query) > 0 {
			path += "?" + query.Encode()
		}
		return write(http.MethodDelete, path, nil)
	}, say("Deleted, changeset %s.", "changeset.id"))
}

// FileHistoryCommand lists the changesets of a file.
type FileHistoryCommand struct {
	InProject
	Paged
	Path string `arg:"" help:"Path in the project."`
}

// Run prints the changesets, through renames.
func (c *FileHistoryCommand) Run(ctx context.Context, env *Env) error {
	return c.listIn(ctx, env, c.Paged, "changesets", filters("path", c.Path), "changesets",
		changesetColumns()...)
}

func changesetColumns() []column {
	return []column{
		{"CHANGESET", "id", nil}, {"WHEN", "created_at", asAgo}, {"AUTHOR", "author.handle", asHandle},
		{"FILES", "stats.files", nil}, {"MESSAGE", "", asMessage},
	}
}

// asMessage is the message of a changeset. The first one of a project has none unless it was given
// files.
func asMessage(env *Env, changeset value) string {
	message := asCut(env, changeset.at("message"))
	if message == "" && changeset.at("sequence").text() == "1" {
		return projectCreated
	}
	return message
}

// projectCreated stands for the message of the changeset with which a project begins.
const projectCreated = "(project created)"

// LogCommand lists the changesets of a project.
type LogCommand struct {
	InProject
	Paged
	Path string `arg:"" optional:"" help:"Only changesets of this file."`
}

// Run prints the changesets, newest first.
func (c *LogCommand) Run(ctx context.Context, env *Env) error {
	return c.listIn(ctx, env, c.Paged, "changesets", filters("path", c.Path), "changesets",
		changesetColumns()...)
}

// DiffCommand prints a difference.
type DiffCommand struct {
	InProject
	Changeset string `arg:"" optional:"" help:"The changeset; the newest by default."`
	Base      string `help:"Everything since this changeset." placeholder:"CHANGESET"`
}

// Run prints a diff that git apply takes.
func (c *DiffCommand) Run(ctx context.Context, env *Env) error {
	caller, project, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer caller.close()
	if c.Changeset == "" {
		if c.Changeset, err = caller.head(ctx, project); err != nil {
			return err
		}
	}
	path := projectPath(project, "changesets", c.Changeset, "diff")
	return c.showAs(ctx, env, caller, get(path, filters("base", c.Base)), printDiff(env))
}

func printDiff(env *Env) func(io.Writer, value) error {
	return func(out io.Writer, v value) error {
		_, err := io.WriteString(env.foreign(), v.at("diff.text").text())
		if v.at("diff.truncated").text() == "true" {
			fmt.Fprintln(env.Err, "The difference was cut.")
		}
		return err
	}
}

// head is the newest changeset of a project.
func (a *account) head(ctx context.Context, project string) (string, error) {
	var data struct {
		Project struct {
			Head string `json:"head_changeset_id"`
		} `json:"project"`
	}
	err := a.Call(ctx, http.MethodGet, projectPath(project), nil, &data)
	if err == nil && data.Project.Head == "" {
		err = checkout.ErrNoHead
	}
	return data.Project.Head, err
}

// GrepCommand searches the files of a project.
type GrepCommand struct {
	InProject
	Pattern    string `arg:"" help:"The text to find."`
	Glob       string `arg:"" optional:"" help:"Only in paths that match, such as '**/*.go'."`
	Regex      bool   `short:"e" help:"The pattern is a regular expression (RE2)."`
	IgnoreCase bool   `short:"i" help:"Ignore case."`
	Context    int    `short:"C" help:"Lines around each match, at most 5."`
	Changeset  string `help:"As the files were at this changeset." placeholder:"CHANGESET"`
	Paged
}

// Run prints the matches as grep does.
func (c *GrepCommand) Run(ctx context.Context, env *Env) error {
	query := filters("pattern", c.Pattern, "glob", c.Glob, "changeset", c.Changeset)
	set := func(name string, on bool) {
		if on {
			query.Set(name, "true")
		}
	}
	set("regex", c.Regex)
	set("ignore_case", c.IgnoreCase)
	if c.Context > 0 {
		query.Set("context", fmt.Sprint(c.Context))
	}
	caller, project, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer caller.close()
	return c.grep(ctx, env, caller, projectPath(project, "grep"), query)
}

func (c *GrepCommand) grep(
	ctx context.Context, env *Env, caller *account, path string, query url.Values,
) error {
	all, cursor, err := collect(ctx, caller, c.Limit, path, query, "matches")
	if err != nil {
		return err
	}
	return c.printAll(ctx, env, all, cursor, "matches", func(out io.Writer, match value) error {
		where := line(match.at("path").text())
		at := match.at("line").int()
		before := match.at("before").list()
		for back, text := range before {
			fmt.Fprintf(out, "%s-%d-%s\n", where, at-len(before)+back, line(text.text()))
		}
		_, err := fmt.Fprintf(out, "%s:%d:%s\n", where, at, line(match.at("text").text()))
		for on, text := range match.at("after").list() {
			fmt.Fprintf(out, "%s-%d-%s\n", where, at+1+on, line(text.text()))
		}
		return err
	})
}
