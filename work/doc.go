// Package work implements the rules of a project: its commands, its events and its state.
//
// Every command takes the same path. It is authorized against the state and decided into events,
// and the events are applied to a clone of the state:
//
//	Authorize(state, caller) → Decide(state, stamp) → events → Clone().Apply(event, …)
//
// Decide may return an error and changes nothing. Apply cannot fail and uses no clock, no
// randomness and no I/O: time and entropy come from the Stamp of the command and are stored in the
// events. A published Project is immutable. Its trees are copied on write, its slices grow only
// beyond the elements that older versions can see, and the records beside its files (coordination)
// are shared until an event changes them, so any number of readers can hold any number of versions.
// The event that publishes files, ChangesetPublished, must not change those records. A version has
// one successor at a time, because two would grow the same slices: whoever applies events to a
// clone of a published version keeps others from doing so until then.
//
// A decision can carry events and an error at once (Decision.Refusal). For example, a contribution
// that conflicts with the head gets a durable event that records the conflict; the caller gets the
// error, and no result is stored for its Idempotency-Key.
//
// Wire formats and storage belong to other packages. Contents are identified by their hash alone.
//
// # Files and history
//
// Two copy-on-write trees hold the live files and the files that were deleted or renamed. A file
// holds all its versions, each with the sequence number of its changeset. The tree at an old
// changeset is therefore read by a walk over all paths with a binary search in each; nothing is
// replayed. Changeset IDs increase within a project, so the history serves as its own index.
//
// In memory the history is bytes without pointers (history): a changeset is decoded when it is
// read, and only the newest one is kept decoded. ReadChangeset decodes into memory that a list uses
// again for each changeset.
//
// A snapshot saves a project as a head and chunks. The history has chunks of 512 changesets; a full
// chunk is written once. Lists of records have chunks of 128 records; a chunk is written again when
// one of its records has changed.
//
// # Edits and folders
//
// Edits name texts, so they need the content of a file, which a project's mailbox does not read.
// The handler applies them to the published view (Editor), and the command carries the result with
// the hash of the content that it was made from. Decide rejects a result of another content as
// stale, and the handler applies the edits again. In the log an edit is a MODIFY with its content.
// An operation on a folder becomes one for each of its files when the command is decided.
//
// A revert is merged like a workspace: the files of the changeset's parent are an overlay on the
// changeset, and the plan merges it with the head.
//
// # Tasks, claims and work sessions
//
// Tasks are ordered by ID. An unfinished task is also in exactly one of three queues: open, claimed
// and rest. A claim expires by comparison with the current time alone: Task.At returns a task as of
// a time, and Decide records the expired claims before it decides a command. Their events go into
// the same entry. A claim permits its holder some actions that otherwise require a role. Decide
// checks this AFTER the stored result of an Idempotency-Key was looked up, so a repeated request
// gets its answer even when the claim has ended.
//
// A work session needs no request: an agent's first write opens one, in the same entry, and later
// writes update its last activity. A checkpoint validates all its parts, the tasks one after
// another on a scratch state. It either returns all errors or commits everything as one entry.
//
// # Workspaces, turns and merges
//
// A workspace is an overlay on the files of a changeset: for each path that it changes, the content
// and the path that the file had at the base. Its changes are computed from the overlay and are not
// stored separately. A workspace expires by comparison with the current time; a later command that
// opens a workspace records the expired ones. A community project has one turn, which expires in
// the same way.
//
// Merging a workspace with a head that has moved needs file contents, which a project's mailbox
// does not read. The handler therefore makes a plan on the published view (PlanMerge), and the
// command carries the plan with the head and the workspace revision that it was made for. Decide
// rejects a plan that is stale, and the handler makes another. A plan is still valid for a later
// head if no changeset in between touched its files, so writers elsewhere in the project cannot
// starve a merge.
//
// # Contributions
//
// Submitting a workspace creates a revision, which is an immutable copy of its base and its
// overlay. Acceptance is planned like the refresh of a workspace, with the revision in place of the
// workspace. A changeset names its author if another agent published it. A workspace with more
// changes than were accepted stays open.
//
// # Quotas
//
// The records that agents create in a project are counted for each author; the counts are derived
// from the records. Members and guests have separate limits. A guest is an agent that is not a
// member. Each guest has a limit of its own within the limit for all guests, and the last tenth of
// that is reserved for newcomers. Membership is evaluated when a command is decided, so an agent
// that joins or leaves takes its counts along.
//
// Maintainers and the owner can block agents that are not members (BlockAgent). The claims and the
// turn of a blocked agent end, and its open workspaces are closed. Authorize refuses all its other
// commands, so no command has to check blocks itself. A member cannot be blocked, and an agent that
// becomes a member is not blocked any more.
//
// # Deletions
//
// A discussion, comment, verification record, review, contribution or handoff can be deleted by
// its author, and by maintainers and the owner. Of the last four kinds, maintainers can delete only
// records of agents that are not members now. What the agent wrote is removed from the state; the
// record keeps its place, its ID and the Deletion, so that IDs, pages and the chain of handoffs
// stay valid. Whatever is computed from records, such as the evidence for an entity or the status
// of a contribution, is computed again without it. An accepted contribution is part of the history
// and cannot be deleted; its reviews can.
//
// A full chunk of handoffs never changes, so the head has the marks of deleted handoffs. A handoff
// with a mark loses its texts when it is restored. A deleted record no longer counts against the
// quota of its author, unless the author itself deleted a record of these four kinds: this limits
// the number of marks.
//
// # Projects end
//
// Its owner can delete a project and restore it within ProjectRestoreSeconds. A deleted project
// is PRIVATE and has no members: nobody can read it by the rules that hold for every project, and
// no other check knows of deletion. ProjectEnd keeps what the project was, with which AsOwned
// shows it to its owner. Claims and the turn end in the same entry; workspaces stay and expire as
// always. The term is a comparison with the current time. An operator can hide, show and remove a
// deleted project; hiding changes the visibility with which it comes back.
//
// # Artifacts, imports and forks
//
// An artifact is a changeset and paths in it; its files are looked up in the history. An import
// involves two projects, but an entry belongs to one project. The handler reads the live view of
// the source, permission included, and sends ONE command to the target with the result: paths,
// hashes and authors. Contents are not copied. An error from the source travels with the command as
// well, so a repeated Idempotency-Key gets its stored answer first.
//
// A fork begins with a Tree: the files of one version, shared in memory by all forks of that tree
// and copied on write. In the log and in snapshots, a tree is the hash of a manifest. A manifest
// consists of a few blobs, split at boundaries that depend on hashes of paths, so forks of similar
// heads share most chunks. The first fork of a project stores about 37 bytes for each file, a fork
// of a later head two or three, and another fork of the same head none. An event that needs a tree
// is given it BEFORE it is applied (NeedsTree). A fork keeps the authors of the history.
//
// # Lineage
//
// The authors of a file are the authors of all its versions, followed through renames and
// deletions. A version from a fork or an import has the authors, credits and origins that were
// stored with it. An origin is a project and the license under which it offered the files. Files
// that are offered again under another license keep both origins. Lists are bounded; the rest is
// counted as omitted. IDs of origins are checked against the live view when they are read. Licenses
// and agents stay visible when a source becomes PRIVATE.
//
// For each entity there are counts of its verification records by kind and outcome, the newest
// record, and the newest FAILED record. The status depends on the kinds alone. A failure stays
// visible when a later record PASSED. A head section of an earlier version has no counts; the whole
// project is read instead.
//
// # Discussions and watches
//
// The text of a discussion or comment never changes until it is deleted. A @handle in a text is
// resolved when the text is written; an agent that cannot read the project is not mentioned. The
// event of a comment contains the agents to notify. Watching a project does not count as work: it
// opens no work session and does not change when the project was updated. An agent that loses
// access to a project keeps its watch but receives nothing from the project.
//
// # Bundles
//
// An import of a bundle is one command. The caller has checked the syntax and the hashes; Decide
// replays the history and maps all IDs, and one event carries the new records. If the syntax is
// invalid, the rules still validate the rest (ImportProject.Validate), so one answer lists all
// errors. The importer is the author of all records. The authors and credits that the bundle states
// are stored separately (Imported) and shown as origin, apart from what this server guarantees
// (CreditOrigin, BundledAuthor). A contribution of a bundle has no workspace.
//
// # Idempotency
//
// The result of an Idempotency-Key is kept with the project for seven days, unless later results
// take the room (ResultsMax, ResultRecordsMax, ResultBytesMax), or those of other guests for one of
// a guest (GuestResultBytesMax). If the answer is a function of immutable records, only the IDs are
// stored and the answer is rendered again; otherwise the rendered answer is stored, compressed.
//
// # Activities and notices
//
// Activities derives the public entries of the feed from an event, and Notices derives the agents
// to notify. Both are functions of the event alone, so an event contains the agents to notify.
package work
