package actors

import (
	"errors"
	"fmt"
	"log/slog"

	"pws/identity"
	"pws/internal/datadir"
	"pws/internal/id"
)

// HandleReports notes of reports that an operator has dealt with them. No server may run on the
// directory. Where one of them is not there, nothing is noted of those behind it. Errors:
// journal.ErrLocked; datadir.ErrMember for the data of a member of a group.
func HandleReports(dir string, reports []id.ID, log *slog.Logger) (err error) {
	if err := datadir.Check(dir); err != nil {
		return err
	}
	engine, _, err := Open(Config{Dir: dir, SnapshotAtClose: true, Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	for _, report := range reports {
		done, err := engine.DoIdentity(identityOrderOf(&identity.HandleReport{Report: report}))
		if err != nil {
			return err
		}
		if done.Result == nil {
			return fmt.Errorf("there is no report %s", report.Format(id.Report))
		}
	}
	return nil
}
