package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"pws/actors"
	"pws/internal/datadir"
	"pws/internal/disk"
	"pws/journal"
)

// VerifyCommand checks a data directory offline.
type VerifyCommand struct {
	Data string `default:"./data" help:"Data directory, or folder of a backup."`
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
	To   string `required:"" help:"Folder of the backup; it must be empty or not exist yet."`
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
	From string `required:"" help:"Folder of the backup; it must have what its file BACKUP lists."`
	Data string `default:"./data" help:"Data directory to make; it must be empty or not exist yet."`
}

// Run copies a backup that is as its list says, verifies the copy, and prints what it contains.
func (c *RestoreCommand) Run(out io.Writer) error {
	report, err := actors.Restore(c.From, c.Data)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "restored", c.From, "to", c.Data)
	if report.Listed == nil {
		fmt.Fprintf(out, "%s has no list %s: nothing says whether it was complete\n", c.From,
			datadir.BackupName)
	}
	return report.Print(out)
}

// inUse has datadir.ErrInUse in place of an error that says which lock of a data directory is held.
func inUse(dir string, err error) error {
	if errors.Is(err, journal.ErrLocked) || errors.Is(err, disk.ErrLocked) {
		return fmt.Errorf("%s: %w", dir, datadir.ErrInUse)
	}
	return err
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
	err = inUse(c.Data, err)
	if errors.Is(err, datadir.ErrMember) {
		err = fmt.Errorf("%w: nothing was changed; remove the folder %s, and the next start rebuilds "+
			"the index", err, filepath.Join(c.Data, datadir.SearchName))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "search index of %s: %d documents\n", c.Data, documents)
	return err
}
