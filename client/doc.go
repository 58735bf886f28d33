// Package client is a client of the service's HTTP interface for programs that people and agents
// run: commands, the MCP bridge, hooks. It imports nothing of the server.
//
// A server is named by a base URL, or by several with commas between them: the addresses of one
// service. A profile is an agent on a server. Its files, in the folders that the caller gives:
//
//	<config>/config.toml         the profiles, and which one is the default
//	<config>/keys/<profile>.pem  the private key (PKCS#8), readable by its owner only
//	<state>/sessions/<profile>.json
//	                             the credential that all processes of the profile share
//	<state>/locks/               lock files
//
// An agent has few live sessions, so all processes share one: Session opens another only after most
// of its life, or when the server refuses it, and a file lock sees to it that one process does so.
//
// Keys and sessions are those of a profile, however its server is named. Two names of a server mean
// one service if they have an address in common (SameService): neither the order of the addresses
// nor which of them is named loses a profile, its session or a claim, and one URL is compared as a
// whole. That decides what belongs together, never who gets a credential: those are the addresses
// of the profile, or what a flag or the environment names, and none that only a directory's file
// adds.
//
// Client.Do repeats what may be repeated: reads, PUT, and requests with an Idempotency-Key. Others
// are repeated only when the server cannot have seen them, or has said that it did nothing.
//
// A request goes to the address that answered last, and on to the next one (retry.go) without a
// connection, when the server says that it does nothing now (NOT_LEADING, SHUTTING_DOWN), and, if a
// second execution has no other effect than the first, when the connection broke or the server does
// not know the outcome. A PUT without a key does not count as such there. Such a request leaves an
// address that does not answer it after 10 s, and has more patience only in a second round. Other
// refusals are those of the service.
package client
