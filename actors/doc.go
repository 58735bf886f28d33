// Package actors is the engine: one actor per project and one for identity, each with a mailbox, a
// working state and a published one.
//
// # A command
//
// An actor decides a command against its working state, applies the events to a clone, and hands
// one entry to the log together with the view that belongs to it. It does not wait for the disk.
// When the log's committer reports the entry durable, contents go to the blob store, THEN the view
// is published, THEN the caller is answered. Readers load published views and meet no lock and no
// mailbox. Refusals and repeats may rest on a working state that is not durable yet; their answers
// wait until it is (waiters).
//
// # Mailboxes
//
// Of protoactor only the local actor package is used, with its lock-free mailbox, which has no
// bound: orders are counted in front of it (admit). A mailbox runs on the goroutine that found it
// idle; others leave a message and wait. All engines of a process share one actor system, because
// an empty one takes longer to make than a short log to read. It is never shut down; an engine
// stops its own actors. The registry is ours: a message goes to a PID that is published AFTER
// spawning.
//
// A project that nobody uses is passive: a few words in the registry and sections on disk. It
// becomes passive when it was idle for a while and a snapshot contains it; the next use loads it. A
// panic in Decide is an internal error and changes nothing. A panic in Apply takes that project out
// of service, and logs it.
//
// # Parts
//
// What the engine does beside commands is the work of parts. Each has its state, its locks and a
// way back to the engine: saver (snapshots), follower (the feed), searching (the search index),
// eraser (what leaves the disk), uploading (uploads), diskSpace (who may write).
//
// # Snapshots
//
// A run writes the sections of what changed since the last one, while writers go on. Each section
// has the position of its view, and replay skips entries that a section contains. The log is cut
// AFTER contents were packed, sections synced and the manifest read back. The feed is synced before
// the log is cut, and at no other time for the sake of a write.
//
// # Histories
//
// The records of changesets grow with every write, and most are never read again. A project in
// memory has the newest of them in the heap, and for each file its versions. The others go into an
// unnamed temporary file (work.Project.SpillHistory, package spill) when the actor applies an entry
// or when a project is loaded, and are freed with the last state that refers to them.
//
// # Finding records by ID
//
// Tasks, changesets, work sessions and other records are reached by their own ID, and no table
// leads from there to the project. All that is made in a project has the project bits in its ID:
// the 32 bits behind the time. An index of 12 bytes a project finds the projects with these bits,
// rarely more than one and never more than eight, and asks their states (work.Project.Has). Project
// bits come from the server's secret, so nobody can choose them.
//
// # Projections
//
// Publishing updates the projections of package index that the events concern, BEFORE the view is
// visible. A start reads one card for each project. A project with events behind its card is loaded
// when it is used, or before an index that may have changed is asked (Engine.Indexes).
//
// # The feed
//
// Writers leave a note of each entry in a bounded queue. A follower writes the records to package
// feed, and reads the log again where notes are missing: after a crash, or when there were too
// many. A record has the position of its log entry, so deriving it again gives the same record.
// Readers wait until the feed contains what was published when they asked. When the feed can be
// read up to a record, the hub of package wake is notified of its project; writers only see whether
// anybody waits.
//
// # Search
//
// The committer puts the names of changed documents into a coalescing queue, or whole projects
// where too many wait. One goroutine reads the live views, indexes in batches, and pauses nine
// times as long as it worked while there are many writers. The index holds the log position that it
// has reached. A start compares it with the positions of sections, tails and views, so that the log
// may be cut at any time, and indexes the projects behind it again. An index that is damaged or
// belongs to other data is rebuilt; one that fails answers 503.
//
// # Damage
//
// A project whose sections cannot be read is lost alone: each request for it gets api.ErrDamaged,
// and whoever reads several projects leaves it out (api.Intact). It is noted when it is first
// found, for the log, the health of the server and a metric (damaged). An operator can remove it:
// an empty state takes its place (standIn), so that contents which it alone names stay in the
// packs.
//
// In a group each server has its own damage. A follower cannot apply entries of a project that is
// damaged there. It keeps them in its log (keepFollowed), as a start does, until the server is
// replaced or an entry removes the project; everything else continues. A content that a read finds
// damaged is fetched from another server (repairLoop). The answer has to match the hash, and gets
// into a pack of its own. Entries need not bring it.
//
// # Identity and reports
//
// Identity is one actor. Finding the session of a credential is a lookup in its published view.
// Reports of abuse are part of its state; no operation shows them. `pws reports` reads the newest
// snapshot through hard links and the log behind it, without a lock.
//
// # What leaves the disk
//
// Contents are kept as long as a project names them, and projects until they are removed. Two
// operations remove data: a purge removes one content everywhere, and DropProjects removes
// projects with all that is theirs alone. Both are noted by identity first, so that a start goes
// on with what a crash interrupted; both are safe to repeat.
//
// Operators remove projects one by one. A loop (endLoop) gives DropProjects all deleted projects
// whose owners cannot restore them any more, once an hour at most: most of the cost is one for all.
// It finds them in the index of memberships, and compares the time in the state that contains every
// order before. The clock never goes back, so what has ended once cannot be restored.
//
// DropProjects takes these steps, each durable BEFORE the next:
//
//  1. Nobody can read the projects (work.RemoveProject), and orders in flight have ended. From then
//     on nothing can be copied from them (requireSource).
//  2. The log is renewed (renewLog): a new segment begins, the search index is made again, a
//     snapshot is saved, and the log in front of the segment is cut. All contents are in packs.
//  3. Packs are written again without the contents that no other project names. Every project is
//     read once. What is stored while this runs stays (blobs.Store.Drop).
//  4. Likewise the manifests of the trees that forks began with: parts, then roots. A removed
//     project that lacks one can still be loaded (work.RestoreRemoved).
//  5. The states are emptied (work.EraseProject): ID, owner and times stay, so that no ID is used
//     again, with the reason of the removal.
//  6. The feed keeps who did what when, and no texts (feed.Log.Redact).
//  7. Two snapshots are saved: the first writes section files again without the earlier sections
//     (snapshot.Writer.Expel), with the second the old files go.
//
// A server that follows takes purged contents off its disk when it has applied the end of the
// erasure, and looks for what is left at its start (eraseFollowed). It takes the same steps without
// entries of its own, but for one that it has the leader append: the log begins a new segment only
// with the next entry.
//
// What only removed projects had it drops likewise (dropFollowed). When it follows the end of a
// removal its state does not say any more what that was, so it notes in a file that something is
// due. Then it asks another server, which has nothing due, which of the contents in its packs that
// one has. It drops those that the other lacks and that no project names here.
//
// What an import has stored for a project that was not made is noted beside its upload, and a sweep
// drops it (dropNoted). In a group all servers have it by then: an entry gives it up (GiveUp), and
// each one drops what no project names there (dropGivenUp).
//
// Reports of abuse, the log of actions, and backups keep what they have.
//
// # Time
//
// All time comes from one clock that never goes back, not even over restarts, and never stops:
// while the system's clock is behind, it runs at half the pace. With --test-clock tests move it
// forward. A sweep asks projects to note claims that ran out, some thousands in a round, so that
// others learn of it; nothing depends on it.
//
// # Disk space
//
// The log refuses writes below a reserve of free space. All other writers (packs, snapshots,
// search, merges) ask for room first (space.go), so that none of them uses what the log, and the
// snapshot that frees it, need.
package actors
