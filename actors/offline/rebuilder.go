package offline

import (
	"pws/identity"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// NewRebuilder makes a Rebuilder that reads the sections of a snapshot; content gives the stored
// contents of trees.
type NewRebuilder func(
	sections *snapshot.Store, content func(work.Hash) ([]byte, error),
) Rebuilder

// Rebuilder makes the states of a data directory by the code that a start uses. What is saved is
// restored first, then each entry behind the snapshot is given, then each project is asked for.
// RestoreIdentity, RestoreInboxes, ApplyIdentity and Project may panic where what is stored does
// not fit the rules.
type Rebuilder interface {
	// RestoreIdentity reads the saved agents and reports, and returns the position that they have.
	RestoreIdentity() (position uint64, err error)
	// CardsSaved reports whether the cards of all saved projects are complete.
	CardsSaved() (bool, error)
	// RestoreInboxes reads the saved inboxes, and returns the ones that Keep delivers to.
	RestoreInboxes() (*index.Inbox, error)
	// RestoreAccounts reads what the agents have stored.
	RestoreAccounts() error
	// Keep delivers the inbox items of an entry, and keeps the entry for its project. An error says
	// that the items are not delivered; the entry is kept all the same.
	Keep(position uint64, entry *datadir.Entry) error
	// ApplyIdentity applies an entry of identity.
	ApplyIdentity(position uint64, entry *datadir.Entry) error
	// Identity is the state that was restored and changed.
	Identity() *identity.State
	// Project makes the state of a project from its sections, if it is saved, and from the kept
	// entries, which are forgotten. It is nil if there is neither.
	Project(project id.ID, saved bool) (*work.Project, error)
	// Deliveries are the inbox items of an event; their places do not count.
	Deliveries(event work.Event, project, by id.ID, now int64) []index.Delivery
}
