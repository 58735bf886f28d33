// Package index holds the indexes over projects and over what agents are notified of. An index
// finds, and never authorizes: what it names is judged by the live view before it is shown.
//
// # Projections
//
// An index over projects is a Projection. What it keeps of a project is a function of the project's
// state, so it can be made from that state at any time, and is moved on by events only because that
// is faster. The engine calls projections in three places and knows none of them by name:
//
//   - A publish calls Projections.Update with the state before, the next state and the events. Only
//     the projections that name the kind of an event in Kinds are called.
//   - A snapshot writes Projections.EncodeCard: one section for each project with a part for each
//     projection. It is written again where an event of one of the Kinds came since.
//   - A start reads the cards with Projections.Restore. A project with events of the Kinds of some
//     projections behind its card is stale in these: it is loaded, and taken in by
//     Projections.Load, when it is first used, or before one of these projections is first asked.
//
// To add a projection:
//
//  1. Write the index in a file of its own, with a constructor and its questions.
//  2. Implement Projection: Kinds, Update, Append and Restore. Kinds has to name every event that
//     changes what Append writes; a test applies all events and compares.
//  3. Add it at the END of the constants of Set, of names, and of the list in NewProjections.
//  4. Ask it in package actors behind Engine.fresh with its constant.
//  5. Add what it finds to checkFound in package actors, which compares live, replayed and restored
//     indexes with a walk over all projects.
//
// Data that was saved without the new part is found by the mark of the cards: all projects are
// stale in the new projection until they were loaded and saved once.
//
// # The inbox
//
// Inbox is kept for agents and not for projects. It is a function of the log, entry by entry, and
// has a section for each agent.
package index
