package actors

import (
	"io"
	"log/slog"

	"pws/actors/offline"
	"pws/api"
	"pws/identity"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/disk"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// Verify checks a data directory that no server uses, see offline.Verify. The states are rebuilt by
// the code that a start uses.
func Verify(dir string) (*offline.Report, error) { return offline.Verify(dir, newRebuilder) }

// Backup copies a data directory and checks the copy, see offline.Copy. Files that never change are
// hard links where the file system allows it, and a list says what the copy has.
func Backup(data, to string) (*offline.Report, error) {
	return offline.Copy(disk.OS{}, data, to, offline.CopyOptions{Link: true, List: true}, Verify)
}

// Restore makes a data directory out of a backup, as Backup does, with copies alone and without
// a list. A backup that has a list has to be what it says.
func Restore(from, data string) (*offline.Report, error) {
	return offline.Copy(disk.OS{}, from, data, offline.CopyOptions{}, Verify)
}

// SendCopy writes a copy of a data directory for ReceiveCopy, see offline.Send.
func SendCopy(data string, to io.Writer) error { return offline.Send(data, to) }

// ReceiveCopy makes a data directory of what SendCopy has written, see offline.Receive.
func ReceiveCopy(from io.Reader, data string) (*offline.Report, error) {
	return offline.Receive(disk.OS{}, from, data, Verify)
}

// rebuilder rebuilds states from sections and entries. It only reads.
type rebuilder struct {
	// engine has sections to read and the parts that they restore. It has no directory and nothing
	// that writes.
	engine *Engine
	// tail holds the entries behind the snapshot by project, without their contents.
	tail map[id.ID][]waitingEntry
}

func newRebuilder(
	sections *snapshot.Store, content func(work.Hash) ([]byte, error),
) offline.Rebuilder {
	e := &Engine{
		log:      slog.New(slog.DiscardHandler),
		inbox:    index.NewInbox(),
		snapshot: sections,
		trees:    newTrees(content),
	}
	e.accounts, e.residents = newAccounts(api.StoredLimits{}), newResidents(0)
	e.projections.indexes = index.NewProjections()
	return &rebuilder{engine: e, tail: map[id.ID][]waitingEntry{}}
}

func (r *rebuilder) RestoreIdentity() (position uint64, err error) {
	if err := r.engine.restoreIdentity(); err != nil {
		return 0, err
	}
	return r.engine.identity.view.Load().position, nil
}

func (r *rebuilder) Identity() *identity.State { return r.engine.Identity() }

func (r *rebuilder) CardsSaved() (bool, error) {
	err := r.engine.readCardsMark()
	return r.engine.cardsSaved(), err
}

func (r *rebuilder) RestoreInboxes() (*index.Inbox, error) {
	return r.engine.inbox, r.engine.restoreInboxes()
}

func (r *rebuilder) RestoreAccounts() error { return r.engine.restoreAccounts() }

func (r *rebuilder) Keep(position uint64, entry *datadir.Entry) error {
	if entry.Target == datadir.TargetProject {
		r.tail[entry.ID] = append(r.tail[entry.ID], withoutContents(position, entry))
	}
	return r.engine.replayInbox(&replayed{position: position, entry: *entry})
}

func (r *rebuilder) ApplyIdentity(position uint64, entry *datadir.Entry) error {
	_, err := r.engine.identity.apply(&replayed{position: position, entry: *entry})
	return err
}

func (r *rebuilder) Project(project id.ID, saved bool) (*work.Project, error) {
	h := &handle{id: project}
	h.mu.tail = &logTail{entries: r.tail[project]}
	delete(r.tail, project)
	h.stored.Store(saved)
	view, err := r.engine.load(h)
	if err != nil || view == nil {
		return nil, err
	}
	r.engine.residents.drop(h)
	return view.project, nil
}

func (r *rebuilder) Deliveries(
	event work.Event, project, by id.ID, now int64,
) []index.Delivery {
	return deliveriesOf(event, 0, project, by, now)
}
