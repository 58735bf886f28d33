package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pws/client"
)

// ProjectExportCommand writes a bundle.
type ProjectExportCommand struct {
	InProject
	Output string `short:"o" help:"The file to write; standard output by default." placeholder:"FILE"`
	Full   bool   `help:"With the contents of all earlier versions."`
}

// Run writes the answer of the server, which has the bundle, as it arrives.
func (c *ProjectExportCommand) Run(ctx context.Context, env *Env) error {
	history := ""
	if c.Full {
		history = "full"
	}
	caller, project, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer caller.close()
	request := get(projectPath(project, "export"), filters("history", history))
	if c.Output == "" && c.WantsJSON() {
		return c.showAs(ctx, env, caller, request, nil)
	}
	return caller.download(ctx, env, request, c.Output, wholeJSON)
}

// ProjectDownloadCommand writes an archive.
type ProjectDownloadCommand struct {
	InProject
	Output    string `short:"o" required:"" help:"The file to write, - for standard output." placeholder:"FILE"`
	Format    string `default:"tar.gz" enum:"tar.gz,zip" help:"tar.gz or zip."`
	Changeset string `help:"As the files were at this changeset." placeholder:"CHANGESET"`
	Prefix    string `help:"Only paths that begin with this." placeholder:"PREFIX"`
}

// Run writes the archive as it arrives.
func (c *ProjectDownloadCommand) Run(ctx context.Context, env *Env) error {
	caller, project, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer caller.close()
	query := filters("format", c.Format, "changeset", c.Changeset, "prefix", c.Prefix)
	whole := wholeGzip
	if c.Format == "zip" {
		whole = wholeZip
	}
	return caller.download(ctx, env, get(projectPath(project, "archive"), query), c.Output, whole)
}

// download writes the body of an answer to a file, which exists only if it is complete, or to
// standard output if the file is empty or -.
func (a *account) download(
	ctx context.Context, env *Env, request *client.Request, name string, whole wholeBody,
) (err error) {
	answer, err := a.Download(ctx, request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	body := env.shown(answer.Body, answer.Size)
	// A length shows nothing either: a proxy that keeps whole answers gives that of what it has got.
	fetch := func(to io.Writer) (int64, error) { return copyWhole(to, body, whole, a.Server) }
	if name == "" || name == "-" {
		_, err := fetch(env.Out)
		return err
	}
	name = env.path(name)
	file, err := os.CreateTemp(filepath.Dir(name), ".pws-*")
	if err != nil {
		return err
	}
	size, err := fetch(file)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	_, err = fmt.Fprintf(env.Out, "Wrote %s, %d bytes.\n", name, size)
	return err
}
