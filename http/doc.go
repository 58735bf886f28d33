// Package http serves the operation table over HTTP/1.1 and over the Model Context Protocol. It
// knows no resource by name; what an operation takes and answers is in its declaration.
//
// A request passes the stages of flow.go. Each stage takes what the stages before it found. The
// first error is the answer. The handler writes it, or head.go for a request that is refused by its
// head alone.
//
//	accept        check the framing; split the target into path and query
//	route         find the operation and the parameters of the path
//	checkPage     refuse what pages of other hosts and origins may not do
//	passes        pass the request to the member that leads, which takes it from the start
//	authenticate  find the session of the credential
//	limit         count the request for its caller; refuse a bad or missing credential AFTER that
//	checkSpent    refuse an expensive request whose caller has used up its time
//	read          check size, query, key and content type; read the body
//	beginWork     wait for a slot of an expensive operation or for the turn of a write
//	decode        make the operation's request; all faults of the form are one error
//	call          hash the key, run the handler, wait for a reply that is not ready
//	write         write the reply as an envelope, a document or a stream
//
// The body is read AFTER everything that can be checked without it, so strangers cannot fill the
// memory. A request that waits for 100 Continue passes the stages before the body by its head alone
// (head.go), and is counted there only if it is refused.
//
// A call of a tool over MCP passes stages of its own up to the message (mcp.go), then limit, a read
// that takes path, query and key out of the arguments, and the same decode and call. The arguments
// that remain are the body. They are decoded where they lie in the message.
//
// The stages share an exchange: the connection's side of a request, the call that its operation
// gets, and the memory that is used again for the next request. It is pooled. A handler may keep
// strings of the call, which are parts of one copy of the target, and nothing else.
//
// # Heads, bodies and answers in pieces
//
// The transport reads the beginning of a body before it calls the handler. So a request that
// declares a body larger than its operation accepts is refused by its head alone (head.go): it is
// treated as one that waits for 100 Continue, answered 413, and the connection closes.
//
// HTTP/1.0 has no chunks, so an answer in pieces ends with the connection there (untilclose.go). It
// is sent after the transport has released the connection, with deadlines of its own. An answer
// that breaks off resets the connection, so that it cannot be taken for a complete one.
//
// # Memory of bodies and answers
//
// Bodies and answers above 64 KiB are counted in one budget until they are written (memory.go).
// Within it an address, a network and an agent have shares, and a part is for agents only
// (shares.go). A body is reserved as it arrives, whatever length it declares. Texts of an answer
// are reserved BEFORE they are loaded and encoded while they are sent (large.go). A refusal has the
// reason BODY_MEMORY, BODY_MEMORY_IP or BODY_MEMORY_AGENT. The answer to a write that was carried
// out is counted and never refused. A client that sends a large body or reads a large answer below
// the least rate loses its connection (pace.go).
//
// # Refusals
//
// A caller that goes on sending requests beyond its rate limits gets its refusals late, and each on
// a connection of its own (slowdown.go).
//
// # Waiting
//
// An operation without an answer yet returns api.Deferred or api.EventStream, and the transport
// waits until there is one, the time is over, the client disconnects (the socket is checked each
// second), or the server stops. A waiting request takes as much memory as an idle connection, about
// 25 KB; the number of waiting requests is limited. A stream has no buffer between two writes, and
// a reader that stalls is dropped by the write deadline.
//
// # Expensive operations
//
// An operation that is declared Expensive runs in a slot from the decoding of its body until its
// answer is made (computing.go). A slot is taken AFTER the body has arrived. An answer that is
// produced while it is sent gives its slot back for each write to the client, so a slow reader
// holds none. Free slots go to networks in turn and to the callers of a network in turn, whatever
// number of requests each of them has. The reasons of refusals are EXPENSIVE, EXPENSIVE_IP and
// EXPENSIVE_AGENT.
//
// The processor time of the thread is charged to the agent, the network and an anonymous address
// (computation.go). It is taken from buckets in seconds like those of requests (bucket.go): a
// request runs if the bucket is not empty, and may overdraw it once. Waiting for the log or a
// project takes no processor time and costs nothing. A write of any kind that keeps its project
// busy for a while is charged for that, too.
//
// A request with a body above 256 KiB is treated like an expensive operation, because to decode it
// takes as long.
//
// Texts that a page shows as HTML have places and a queue of their own, with the same turns, bounds
// and limits of processor time (rendering.go). A text whose caller gets no place is shown as it was
// written. Small and remembered ones need none.
//
// # Writes
//
// A bounded number of writes is carried out at one time (admission.go). The others wait for their
// turn, BEFORE the body is decoded, by network and caller in turn (turns.go), and one project has
// half of the places at most. Within a caller the newest is served first, until the oldest one has
// waited for 0.6 seconds. One that waits for more than 5 seconds is refused with the reason WRITES.
// Expensive writes have the slots of expensive operations instead.
//
// # MCP
//
// A call passes the stages of its operation, so limits, sessions, keys, checks and privacy are
// those of the operation, and a key is the same over both protocols. A repeat of a key answers with
// the original data; _meta and a second text mark it as a replay. A message is parsed in one pass.
// The catalogue of tools is made at the start. Clients of earlier versions of the protocol are
// served without any state (mcplegacy.go).
package http
