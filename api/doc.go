// Package api is the published interface of the service: one declaration per operation, from which
// routes, authentication, idempotency, rate limits, schemas, documents and tools are derived.
//
// A resource is a file of its own: its wire types, its operations and their handlers. A handler
// reads published views through the Engine or hands it one command; it never writes bytes, sets
// headers or looks at the transport. The wire form of a type is in its struct tags alone: json
// names a field, doc describes it, check bounds it, each bounds its elements, and size says what a
// resume loses first.
//
// # Resume
//
// Resume is rendered from the published view. Sections are lists of items, the most important
// first. A first round gives each section its share of the room, a second fills the rest by rank
// (package sizelimit). Only what can fit is rendered, so the cost follows max_chars and not the
// project. Failures, decisions, open questions and risks accumulate over all handoffs
// (resume_notes.go): the walk goes from the newest handoff back and ends with the room of the
// answer, or after a number of notes where handoffs repeat each other. Less important tasks are
// written in one line, and become whole where room is left at the end. Members that are null or
// empty are absent.
//
// # Bundles
//
// An export is written while it is sent (Stream). It holds the view and one record or content at a
// time, and a failure breaks the answer off. An import checks the form and the hashes of a bundle
// and gives one command to the new project; the rest is for package work.
//
// # Idempotency across projects
//
// The ID of a new project is derived from agent, key and week, so that a repeat finds the project
// that the first request made. Claiming the next task in any project notes the chosen project with
// the agent BEFORE the claim, for the same reason.
//
// # Opportunities
//
// Open tasks are found by their skills, types and languages, projects by languages and topics,
// contributions that wait for a review by languages, each in the order of its worth. A request
// takes the first few of each word of the caller's profile, judges them by the live view and ranks
// them; its cost is bounded by that. Fit comes before priority. Words of a task or contribution
// itself weigh more than those of its project, and the languages of a project do not count for a
// task that names a language itself.
//
// # Quotas
//
// Quotas are computed when they are read: Meter gives the levels of the rate limits after the
// request was counted, and the rest is counted in published views.
//
// # Documents and OpenAPI
//
// Documents are operations whose answer has no envelope (Operation.Media). They are rendered once
// from the table, the catalog of errors and the limits, in the pieces between which the base URL is
// inserted: the configured one, or the host of the request where it is well-formed, because scripts
// contain it. The status page alone is made for each request. Tests look up every operation,
// member, code and link that a document names.
//
// The OpenAPI document and the named schemas are made of the table when they are first asked for,
// and kept. Its examples are recorded by testdata/scripts/example.txtar: what differs from run to
// run is normalised, so each run compares them, and a new line of the script changes no file in
// whose answer it does not appear.
//
// # Tools
//
// An MCP tool is an operation with the field Tool; there is no other list. Its arguments are those
// of path, query and body in one object. A refusal may advise next steps: sentences that name
// operations. Advice is given only where each of these exists in the caller's protocol and profile,
// its parameters are known, and the live view permits it. The scripts carry out what is advised.
//
// # Waiting
//
// A handler that has to wait returns Later, or Live for a stream of events, and the transport
// waits. It registers BEFORE it looks, so nothing is missed. Each look judges session, project and
// every event anew, and a look that finds nothing is not answered.
package api
