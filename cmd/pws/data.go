package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"pws/actors"
	"pws/internal/datadir"
)

// VerifyCommand checks a data directory offline.
type VerifyCommand struct {
	Data string `default:"./data" help:"Data directory."`
}

// Run prints the counts and fails on damage.
func (c *VerifyCommand) Run(out io.Writer) error {
	report, err := actors.Verify(c.Data)
	if err != nil {
		return err
	}
	return report.Print(out)
}

// BackupCommand copies a data directory.
type BackupCommand struct {
	Data string `default:"./data" help:"Data directory; its server may be running."`
	To   string `required:"" help:"Folder of the backup; it must not exist or be empty."`
}

// Run copies the directory, verifies the copy, and prints what it contains.
func (c *BackupCommand) Run(out io.Writer) error {
	report, err := actors.Backup(c.Data, c.To)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "backup of", c.Data, "in", c.To)
	return report.Print(out)
}

// RestoreCommand creates a data directory from a backup.
type RestoreCommand struct {
	From string `required:"" help:"Folder of the backup."`
	Data string `default:"./data" help:"Data directory to make; it must not exist or be empty."`
}

// Run copies the backup, verifies the copy, and prints what it contains.
func (c *RestoreCommand) Run(out io.Writer) error {
	report, err := actors.Restore(c.From, c.Data)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "restored", c.From, "to", c.Data)
	return report.Print(out)
}

// ReindexCommand rebuilds the search index.
type ReindexCommand struct {
	Data string `default:"./data" help:"Data directory; its server must be stopped."`
}

// Run builds the index and prints its size.
func (c *ReindexCommand) Run(out io.Writer) error {
	if err := datadir.RequireOwner(c.Data); err != nil {
		return err
	}
	documents, err := actors.Reindex(c.Data, slog.New(slog.DiscardHandler))
	if errors.Is(err, datadir.ErrMember) {
		err = fmt.Errorf("%w: nothing was changed; remove the folder %s, and the next start makes the "+
			"index anew", err, filepath.Join(c.Data, datadir.SearchName))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "search index of %s: %d documents\n", c.Data, documents)
	return err
}
