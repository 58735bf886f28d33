package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pws/internal/datadir"
	"pws/journal"
	"pws/journal/replica"
)

// Left is what Leave has done.
type Left struct {
	// Kept is how many entries the member had accepted that its journal did not have.
	Kept uint64
	// NoRaft says that the member had no log of raft: what it had accepted is not known.
	NoRaft bool
}

// Leave makes the data directory of a member, which does not run, that of a single server. What the
// member has accepted is in its journal BEFORE anything is removed. The member must not take part
// in the group again. Where it has ended in between it is called again. Errors: datadir.ErrInUse; a
// directory of no member; those of replica.Leave.
func Leave(dir string) (left Left, err error) {
	if err := finishRenewal(dir); err != nil {
		return left, err
	}
	raft := filepath.Join(dir, datadir.RaftName)
	_, err = os.Stat(raft)
	left.NoRaft = errors.Is(err, fs.ErrNotExist)
	if err != nil && !left.NoRaft {
		return left, err
	}
	number, err := NumberOf(dir)
	switch {
	case err != nil:
		return left, err
	case number == 0 && left.NoRaft:
		return left, fmt.Errorf("%s is not the data directory of a member", dir)
	case number == 0, left.NoRaft:
		return left, removeMember(dir)
	}
	left.Kept, err = replica.Leave(journal.Options{
		Dir: filepath.Join(dir, datadir.LogName), ReserveBytes: -1,
	}, raft, func() error { return datadir.RemoveMember(dir) })
	switch {
	case errors.Is(err, journal.ErrLocked):
		err = fmt.Errorf("%s: %w", dir, datadir.ErrInUse)
	case errors.Is(err, replica.ErrNotAccepted) && !errors.Is(err, replica.ErrNewerFormat):
		err = fmt.Errorf("%w; to go on without it, remove %s, and leave again", err, raft)
	}
	return left, err
}

// finishRenewal does what a start would do first.
func finishRenewal(dir string) error {
	lock, err := datadir.LockOffline(dir)
	if err != nil {
		return err
	}
	return errors.Join(datadir.FinishRenewal(dir), lock.Close())
}

// removeMember is datadir.RemoveMember while no server runs.
func removeMember(dir string) error {
	lock, err := datadir.LockOffline(dir)
	if err != nil {
		return err
	}
	return errors.Join(datadir.RemoveMember(dir), lock.Close())
}
