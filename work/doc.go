// Package work holds the rules of a project: commands, events, and the state between them.
//
// Every command takes the same way. It is authorized against the state, decided into events, and
// the events are applied to a clone of the state:
//
//	Authorize(state, caller) → Decide(state, stamp) → events → Clone().Apply(event, …)
//
// Decide may refuse and changes nothing. Apply cannot fail, and it has no clock, no randomness and
// no I/O: time and entropy enter with the Stamp of the command and are kept in the events. A
// published Project is immutable; its trees are copied on write and its slices only grow behind
// what older versions can see, so any number of readers hold any number of versions.
//
// A decision may have events and refuse all the same (Decision.Refusal): that a contribution
// conflicts with the head is noted durably, the caller gets the refusal, and its key stays free.
//
// Wire formats and storage belong to other packages. Contents are named by their hash alone.
//
// # Files and history
//
// Two copy-on-write trees hold the live files and those that were deleted or renamed. A file has
// all its versions, each with the sequence number of its changeset. So the tree at an old changeset
// is a walk over the paths with a binary search in each; nothing is replayed. Changeset IDs rise
// within a project, so the history is its own index.
//
// A snapshot saves a project as a head and chunks. The history has chunks of 512 changesets; a full
// one is written once. Lists of records have chunks of 128, and a chunk is written again when one
// of its records has changed.
//
// # Tasks, claims and work sessions
//
// Tasks are ordered by ID. An unfinished task is also in exactly one of three orders: free,
// claimed, stalled. A claim ends by comparison with the time alone: Task.At gives a task as it
// reads at a moment, and Decide notes the claims that have run out before it decides a command;
// their events go into the same entry. Who holds a claim may do some of what otherwise takes a
// role. Decide checks that, AFTER the stored result of a key was looked up, so that a repeat is
// answered even when the claim is over.
//
// A work session needs no request: an agent's first write opens one, in the same entry, and later
// writes move its last activity. A checkpoint judges all its parts, the tasks one after another on
// a scratch state, and either refuses with all that is wrong or commits everything as one entry.
//
// # Workspaces, turns and merges
//
// A workspace is an overlay on the files of a changeset: for each path that it touches, the content
// and where that came from. Its changes are computed from the overlay and never stored twice. It
// expires by comparison; a later command that opens one notes those that have expired. A community
// project has one turn, which ends by comparison too.
//
// To merge a workspace with a head that has moved takes contents, and a mailbox reads none. The
// handler makes a plan on the published view (PlanMerge). The command carries the plan with the
// head and the revision that it was made for. Decide refuses a plan that does not fit any more, and
// the handler makes another. A plan also fits a later head if no changeset in between touched files
// near its own, so writers elsewhere in the project starve nobody.
//
// # Contributions
//
// Submitting a workspace makes a revision: its base and its overlay, which never change, because
// every later version of the workspace has an overlay of its own. Accepting is planned as a refresh
// is, with the revision in place of the workspace. A changeset names its author where another agent
// published it. A workspace with more changes than were accepted goes on.
//
// # Shares
//
// What agents leave in a project is counted for each author, derived from the records. Members have
// room of their own, and so have guests, who are all other agents. A guest has a share of the room
// of guests, and the last tenth of that is kept for newcomers. Who is a member is judged when a
// command is decided, so a membership moves what its agent has left.
//
// # Artifacts, imports and forks
//
// An artifact is a changeset and paths in it; its files are looked up in the history. An import
// touches two projects, and no entry spans two. The handler reads the source's live view,
// permission included, and gives ONE command to the target with what was read: paths, hashes,
// authors. Contents are not copied. A refusal of the source travels with the command too, so that a
// repeat of a key is answered first.
//
// A fork begins with a Tree: the files of one version, shared in memory by all forks of that tree
// and copied on write. In the log and in snapshots a tree is the hash of a manifest. A manifest is
// a few contents, cut where the hashes of paths say so: forks of similar heads share most chunks.
// The first fork of a project stores some 37 bytes a file, one of a later head two or three, one of
// the same head none. An event that needs a tree is given it BEFORE it is applied (NeedsTree). The
// authors of the history stay with the fork.
//
// # Lineage
//
// The authors of a file are the authors of all its versions, followed through renames and
// deletions. A version that came with a fork or an import has the authors, credits and origins that
// were stored with it. An origin is a project and the license under which it offered the files;
// files that are offered again under another license keep both. Lists are bounded, and the rest is
// counted as omitted. IDs of origins are checked against the live view when they are read; licenses
// and agents stay visible when a source turns PRIVATE.
//
// Each entity has counts of its verification records by kind and outcome, the newest record, and
// the newest FAILED one. The status follows from the kinds alone. A failure stays visible when a
// later record PASSED. A head section of an earlier version has no counts; then the whole project
// is read.
//
// # Discussions and watches
//
// The text of a discussion or comment never changes. Deleting removes the text and leaves a mark.
// Whom a text names as @handle is resolved when it is written: an agent that cannot read the
// project is not mentioned. The event of a comment holds the agents that it concerns. Watching is
// no work: it opens no work session and does not change when the project was updated. An agent that
// may not read a project any more keeps its watch and is shown nothing of it.
//
// # Bundles
//
// An import of a bundle is one command. The caller has checked the form and the hashes; Decide
// replays the history and maps all IDs, and one event carries the new records. Where the form is
// wrong the rules judge the rest all the same (ImportProject.Validate), so one answer names
// everything. The importer is the author of all records. What the bundle says of them is kept
// beside them (Imported) and shown as origin, apart from what this server vouches for
// (CreditOrigin, BundledAuthor). A contribution of a bundle has no workspace.
//
// # Idempotency
//
// The result of a key is kept with the project for seven days. Where the answer is a function of
// immutable records only the IDs are kept and it is rendered again; otherwise the rendered answer
// is kept, compressed.
//
// # Events and others
//
// Activities derives from an event what others may learn of it, and the notices of notice.go whom
// it concerns; both are functions of the event alone. An event holds the agents that it concerns.
// EvidenceOf weighs what a project shows of agents, for their profiles.
package work
