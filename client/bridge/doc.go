// Package bridge connects a host of the Model Context Protocol, which speaks JSON-RPC in lines over
// standard input and output, with the endpoint of a server.
//
// A message passes as it came. What describes the server (server/discover, initialize, tools/list,
// ping) is answered here, as the endpoint would, so that a host starts with its tools whatever the
// network is like. Only the instructions differ: instead of the paragraph about sessions they have
// a line that says who is signed in, and which project the directory is bound to. A server of
// another version describes itself otherwise; it is asked behind the first answer, and the next
// process has what it said (catalogue.go).
//
// A call of a tool is sent with the credential of the profile and an Idempotency-Key, and repeated
// until the server answers or the time is over. A call that fails in the end is a result with
// isError and a next step: an agent reads results, but not errors of the protocol. If it then calls
// the same tool with the same arguments, the call has the same key, so both together have one
// effect.
//
// Claims that were taken through the bridge are renewed as long as tools are called (claim.go).
package bridge
