package offline

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"pws/identity"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/journal"
)

// reportAttemptsMax bounds how often a directory is read anew that a server changes meanwhile.
const reportAttemptsMax = 20

// Reports are the reports of abuse in a data directory, oldest first. A server may run on the
// directory meanwhile, and it neither helps nor waits: reports that it has answered are here.
func Reports(dir string) (reports []*identity.Report, err error) {
	// The snapshot is read by links, which have to be whole paths.
	if dir, err = filepath.Abs(dir); err == nil {
		err = datadir.Check(dir)
	}
	if err != nil {
		return nil, err
	}
	for range reportAttemptsMax {
		reports, err = readReports(dir)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, journal.ErrOutOfRange) {
			break
		}
	}
	return reports, err
}

// readReports reads the newest snapshot, and the log behind it. Where the server cuts that part of
// the log meanwhile, the error is journal.ErrOutOfRange, and a newer snapshot has what it held.
func readReports(dir string) (reports []*identity.Report, err error) {
	view, err := openLinked(filepath.Join(dir, datadir.SnapshotName))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, view.close()) }()
	r := &reportReader{state: identity.New()}
	if err := r.restore(view); err != nil {
		return nil, err
	}
	r.covered, _ = view.SectionPosition(datadir.ChallengesKey)
	log := filepath.Join(dir, datadir.LogName)
	if err := journal.Read(log, view.Position()+1, r.entry); err != nil {
		return nil, err
	}
	for report := range r.state.Reports(id.ID{}) {
		reports = append(reports, report)
	}
	return reports, nil
}

// reportReader is a state of identity that has the reports and nothing else.
type reportReader struct {
	state *identity.State
	// covered is the last entry that the sections contain.
	covered uint64
}

func (r *reportReader) restore(from *linkedSnapshot) (err error) {
	from.Keys(datadir.ReportPrefix, func(key string, _ uint64) bool {
		var section []byte
		if section, _, _, err = from.Read(key); err == nil {
			err = r.state.RestoreReport(section)
		}
		if err != nil {
			err = fmt.Errorf("report %s: %w", datadir.IDOf(key).Format(id.Report), err)
		}
		return err == nil
	})
	return err
}

// entry applies what an entry of the log says of reports.
func (r *reportReader) entry(position uint64, payload []byte) error {
	decoded, err := datadir.DecodeEntry(payload)
	if err != nil {
		return fmt.Errorf("log entry %d: %w", position, err)
	}
	if decoded.Target != datadir.TargetIdentity || position <= r.covered {
		return nil
	}
	return datadir.Guarded(func() error {
		for _, stored := range decoded.Events {
			event, err := identity.DecodeEvent(stored.Kind, stored.Data)
			if err != nil {
				return fmt.Errorf("log entry %d: %w", position, err)
			}
			if !identity.TouchedReport(event).IsZero() {
				r.state.Apply(event, decoded.Now)
			}
		}
		return nil
	})
}
