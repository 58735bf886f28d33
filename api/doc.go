// Package api defines the published interface of the service: one declaration per operation,
// from which routes, authentication, idempotency, rate limits, schemas, documents and tools are
// derived.
//
// Each resource has its own file with its wire types, its operations and their handlers. A
// handler reads published views through the Engine, or sends it one command. It never writes
// bytes, sets headers or uses the transport. Struct tags alone define the wire form of a type:
// json names a field, doc describes it, check restricts its value, each restricts its elements,
// and size says what a resume omits first.
//
// # Resume
//
// A resume is rendered from the published view. Sections are lists of items, the most important
// first. In a first round, each section gets its share of the available characters; a second
// round fills the rest by rank (package sizelimit). Only items that can fit are rendered, so the
// cost depends on max_chars and not on the size of the project. Failures, decisions, open
// questions and risks accumulate over all handoffs (resume_notes.go): the handoffs are read from
// the newest back, until the answer is full or, if handoffs repeat each other, a limit of notes
// is reached. Less important tasks are written in a short form, and in full if there is space
// left at the end. Members that are null or empty are absent.
//
// # Bundles
//
// An export is written while it is sent (Stream). It holds the view and one record or content at
// a time. An error aborts the answer, and so does the end of the caller's right to it. An import
// checks the syntax and the hashes of a bundle and sends one command to the new project; package
// work does the rest.
//
// # Idempotency across projects
//
// The ID of a new project is derived from agent, key and week, so that a repeated request finds
// the project that the first one created. For the same reason, claiming the next task in any
// project stores the chosen project with the agent BEFORE the claim.
//
// # Opportunities
//
// Open tasks are found by their skills, types and languages, projects by languages and topics,
// and contributions that wait for a review by languages, the best first. A request reads the
// first few candidates for each word of the caller's profile, checks them in the live view and
// ranks them; this limits its cost. Fit comes before priority. Words of a task or contribution
// itself have more weight than those of its project. The languages of a project do not count for
// a task that names a language itself.
//
// # Quotas
//
// Quotas are computed when they are read. Meter returns the levels of the rate limits after the
// request was counted; other quotas are counted in published views.
//
// # Documents and OpenAPI
//
// Documents are operations whose answer has no envelope (Operation.Media). Package docs renders
// them once from the table, the catalog of errors and the limits, in pieces between which the base
// URL is inserted. The base URL is the configured one, or the host of the request if it is
// well-formed; this matters because documents contain scripts. Only the status page is rendered
// for each request. Tests look up every operation, member, code and link that a document names.
//
// The OpenAPI document and the named schemas are made from the table on first use, and kept.
// Their examples are recorded by testdata/scripts/example.txtar. Values that differ between runs
// are normalized, so each run compares the examples. A new line of the script changes only the
// files in whose answers it appears.
//
// # Tools
//
// An MCP tool is an operation with the field Tool; there is no other list. Its arguments are
// those of path, query and body in one object. An error can recommend next steps, which are
// sentences that name operations. A step is recommended only if each operation exists in the
// caller's protocol and profile, its parameters are known, and the live view permits it. The
// scripts execute the recommended steps.
//
// # Waiting
//
// A handler that has to wait returns Deferred, or EventStream for a stream of events, and the
// transport waits. It registers BEFORE it looks, so no event is missed. Each look checks
// session, project and every event again, and a look that finds nothing is not answered. What a
// look answers with is the newest at that time, as it is for an answer of Run.
package api
