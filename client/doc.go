// Package client is a client of the service's HTTP interface for programs that people and agents
// run: commands, the MCP bridge, hooks. It imports nothing of the server.
//
// A profile is an agent on a server. Its files, in the folders that the caller gives:
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
// Client.Do repeats what may be repeated: reads, PUT, and requests with an Idempotency-Key. Others
// are repeated only when the server cannot have seen them, or has said that it did nothing.
package client
