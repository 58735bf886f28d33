package api

import (
	"pws/identity"
	"pws/index"
	"pws/index/feed"
	"pws/index/search"
	"pws/index/wake"
	"pws/internal/id"
	"pws/work"
)

// Engine is what the operations stand on: published views to read and commands to give. It is
// implemented by actors; every method is safe for concurrent use.
type Engine interface {
	// Now is the service's time in Unix milliseconds.
	Now() int64
	// Project is the published view of a project, nil where there is none.
	Project(project id.ID) (*work.Project, error)
	// Do gives a command to a project and returns AFTER its effects are durable and published.
	Do(order Order) (Done, error)
	// Identity is the published view of agents, keys, challenges and sessions.
	Identity() *identity.State
	// DoIdentity gives a command to the identity actor, with the guarantees of Do.
	DoIdentity(order IdentityOrder) (IdentityDone, error)
	// SeeSession notes that a session is in use, some time later.
	SeeSession(session *identity.Session)
	// Secret is the server's secret, from which credentials and derived ids come.
	Secret() []byte
	// Blob is stored content; callers never modify it. Errors are BLOB_CORRUPT faults or internal.
	Blob(hash work.Hash) ([]byte, error)
	// PublicProjects lists PUBLIC projects, newest first, behind the one the position names.
	PublicProjects(after index.Position, limit int) ([]*work.Project, error)
	// Indexes are the indexes over projects, AFTER those of the set know all that was published. They
	// are only read. What they name is judged by the live view.
	Indexes(of index.Set) *index.Projections
	// Owner is the project that has a thing of a kind, for those that work.Project.Has knows; nil
	// where none has. It finds and does not authorize.
	Owner(kind id.Prefix, thing id.ID) (*work.Project, error)
	// Tree is the tree of a project as it stood after a changeset, one for all who ask for the same.
	Tree(p *work.Project, at *work.Changeset) *work.Tree
	// Readable reports whether a project is there and an agent may read it now. It costs little where
	// the project rests.
	Readable(project, agent id.ID) (bool, error)
	// Summary is the record of a project and its members, nil where there is none. It costs little
	// where the project rests, and what else the project has may be lacking.
	Summary(project id.ID) (*work.Project, error)
	// Activity reads what happened, after it has come up to what was published, or after a second has
	// gone; then there is more. Errors: feed.Expired. What a record names is judged by the live view.
	Activity(query ActivityQuery) (ActivityPage, error)
	// NewestActivity yields what happened in some projects in front of a position, the newest first.
	// It waits as Activity does.
	NewestActivity(
		before feed.Position, projects []id.ID, yield func(*feed.Record) feed.Step,
	) error
	// Inbox is what an agent is told of by itself, the oldest first, up to an entry of the log, and
	// that entry. What it names is judged by the live view.
	Inbox(agent id.ID) (items []index.InboxItem, head uint64)
	// WaitActivity makes a waiter for the activity of one project, or, for the zero ID, of all that an
	// agent may be told of. Whoever registers BEFORE reading misses nothing.
	WaitActivity(project, agent id.ID) *wake.Waiter
	// EventID is the public ID of an activity of an entry of that time; EventPosition leads back, and
	// ok is false for IDs that were not made so.
	EventID(at feed.Position, millis int64) id.ID
	EventPosition(evt id.ID) (at feed.Position, millis int64, ok bool)
	// Search finds documents by their words and filters, as they were when they were indexed. What it
	// names is judged by the live view. Errors: DEPENDENCY_UNAVAILABLE.
	Search(query *search.Query) ([]search.Hit, error)
	// WordsNear finds words of the index that a misspelled word may have been meant to be, the
	// likeliest first. Whether they are in what may be shown is not checked. Errors:
	// DEPENDENCY_UNAVAILABLE.
	WordsNear(word string) ([]string, error)
	// AwaitSearch returns once Search finds what was published when it was called, or soon where that
	// would take long.
	AwaitSearch()
	// Health reports each part of the service.
	Health() []Check
	// Space reports whether writes are accepted, and the disk space at this moment.
	Space() Space
}

// ActivityQuery and ActivityPage are a question to the feed and its answer.
type (
	ActivityQuery = feed.Query
	ActivityPage  = feed.Page
)

// Order is one command to one project.
type Order struct {
	Project id.ID
	Command work.Command
	Agent   id.ID
	// Idempotency is nil without a key.
	Idempotency *Recording
}

// Recording says how the result of a command is kept for repeats of its Idempotency-Key.
type Recording struct {
	Key IdempotencyKey
	// Render makes status and data of the original answer, in the entry that carries the effect. It
	// is nil where the answer is a function of the Result and of immutable records alone: then the
	// Result is kept and the answer is rendered again.
	Render func(project *work.Project, result work.Result) (status int, data []byte)
}

// Done is the outcome of an Order.
type Done struct {
	// Project is the published view that contains the effect.
	Project *work.Project
	Result  work.Result
	// Replayed says that the effect is an earlier request's; Status and Body are then the original
	// answer where it was rendered.
	Replayed bool
	Status   int
	Body     []byte
	// FirstAt is when the original request was answered, in Unix milliseconds; zero where there is
	// none.
	FirstAt int64
}

// IdentityOrder is one command to the identity actor. Replay finds the stored result of a key, and
// Render makes the answer that is stored with the effect; both are nil without a key.
type IdentityOrder struct {
	Command     identity.Command
	Agent       id.ID
	Idempotency *IdempotencyKey
	Render      func(state *identity.State, result identity.Result) (status int, data []byte)
}

// IdentityDone is the outcome of an IdentityOrder.
type IdentityDone struct {
	State    *identity.State
	Result   identity.Result
	Replayed bool
	Status   int
	Body     []byte
}

// Check is the health of one part: wal, snapshot, blobs, search.
type Check struct {
	Name string
	// Fault is empty where the part is well.
	Fault string
	// Waiting is how much the part has yet to do, of those that work behind the writers.
	Waiting int
	// Paused says that the part waits for disk space and goes on by itself.
	Paused bool
}

// Space says whether writes are accepted.
type Space struct {
	FreeBytes int64
	// ReserveBytes is the free space below which writes are refused; 0 without a reserve.
	ReserveBytes int64
	Writable     bool
	// Reason is why not: DISK_RESERVE or LOG_FAILED.
	Reason string
}
