// Package index holds the indexes over projects and over the notifications of agents. An index
// finds records and never authorizes: a result is checked against the live view before it is shown.
//
// # Projections
//
// An index over projects is a Projection. What it stores about a project is a function of the
// project's state, so it can be rebuilt from that state at any time; it is updated by events only
// because that is faster. The engine calls projections in three places and knows none of them by
// name:
//
//   - A publish calls Projections.Update with the state before, the next state and the events. Only
//     the projections that name the kind of an event in Kinds are called.
//   - A snapshot writes Projections.EncodeCard: one section for each project with a part for each
//     projection. It is written again if an event of one of the Kinds was applied since.
//   - A start reads the cards with Projections.Restore. A project with events of the Kinds of some
//     projections after its card is stale in these: it is loaded, and indexed again by
//     Projections.Load, when it is first used, or before the first query of these projections.
//
// To add a projection:
//
//  1. Write the index in a separate file, with a constructor and its queries.
//  2. Implement Projection: Kinds, Update, Append and Restore. Kinds has to name every event that
//     changes what Append writes; a test applies all events and compares.
//  3. Add it to Views, and at the END of the constants of Set, of names, and of the list in
//     NewProjections. All is computed from the last constant: change it too.
//  4. Query it in package actors through Engine.Indexes with its constant.
//  5. Add what it finds to checkFound in package actors, which compares live, replayed and restored
//     indexes with a walk over all projects.
//
// Cards that were saved without the new part are recognized by their mark: all projects are stale
// in the new projection until they have been loaded and saved once.
//
// # Memberships
//
// The index of memberships has the members of every project, with what lists of projects are
// filtered and sorted by. Nearly every event changes when a project was updated. To store that, an
// event costs a look-up and one atomic write; a start does not load projects of which the log
// behind the snapshot changes nothing else. An agent's projects are sorted when they are listed. A
// deleted project is listed for its owner alone, under the status DELETED, and has a place in the
// order in which deleted projects end. Whether it is over is asked of the live view.
//
// # Open tasks
//
// The index of tasks holds every unfinished task of every project in some 100 bytes: those of
// public projects in one order for each status, those of other projects for their members, and all
// claims by expiry. A project with many tasks has orders of its own, of which the common ones hold
// only the first task: an update that hides the project costs no more than for a small one. Before
// a query, tasks with expired claims move to the status that they return to, so the lists are right
// at any moment. The index of reviews shares byProject with it, which knows who may find the
// records of a project.
//
// Who looks for work asks for projects with OPEN tasks and reads their views, which know the tasks
// that wait for others. A project in which all OPEN tasks wait is left out until one of its tasks
// changes.
//
// # Links
//
// A link leads from a record to a project whose own record names it: a relation, a fork, an import.
// Such records are never removed, so links are only added. Forks and imports are counted too, as
// each reader may see them. For that the index keeps who may read a project whose links count, and
// a publish that changes this moves the counts BEFORE it is answered. If they are many, the links
// of the project are counted by each query instead. These counts are the only
// facts that an index answers without the live view.
//
// # Contributions without a decision
//
// The index of undecided contributions has, of each project, those that a maintainer is asked to
// decide on, whoever may read them. A maintainer's list is made of those of its projects, which the
// index of memberships names; each is checked in the live view.
//
// # Profiles and opportunities
//
// What an agent declares is its own record, in package identity. What is observed and attested
// follows from the evidence of projects (EvidenceOf). A profile adds up the evidence of PUBLIC
// projects when it is read, so a project that turns PRIVATE changes one entry of a set. An event
// adds evidence; where evidence is lost, as when a task is opened again or a verification record is
// deleted, that kind is derived again from the state. Forks, imports and what agents attest of
// their own work are no evidence.
//
// Tasks, projects and contributions that wait for a review are also listed by terms: skills, types,
// languages, topics.
//
// # Agents that are not members
//
// The indexes of claims and of workspaces lead from an agent to what it holds, in all projects. The
// quota of claims in projects of which an agent is not a member is counted with the index of
// claims; whether it is a member is asked of each project. A block changes no index itself: other
// events of the same entry release the claims and close the workspaces. A deleted record leaves
// every index in the entry that deletes it, although the project keeps a mark of it.
//
// # The inbox
//
// Inbox is kept for agents and not for projects. It is a function of the log, entry by entry, and
// has a section for each agent; a start skips the entries that a section contains. An event holds
// the agents that it concerns. Items are IDs without text, in three groups for each agent
// (work.NoticeKind.Room): the newest thousand of the kinds that require an action, changes of the
// agent's keys, and the newest thousand of the rest. So comments never push out a decision. An
// agent has so few keys that the second group never overflows: a stolen credential cannot be used
// to push out the notice about it.
//
// The mentions, replies, memberships and deleted projects of one author have a limit for each UTC
// day of the entry's time (work.NoticeKind.PerDay). The counts are saved with the items, at most a
// thousand of adjacent days, because counted items may be gone. `pws verify` accepts a missing item
// where its author's count of that day is reached. What happens in watched projects is stored
// nowhere: reading merges the ends of their chains in the feed, back to the newest thousand.
package index
