// Package cluster is the network between the members of a group: who they are, how they prove it,
// and the frames that they send each other. A Network is the transport of package journal/replica.
//
// # Connections
//
// Members connect to each other by TLS 1.3, with certificates of a private authority on both sides
// (MakeAuthority). The name in a certificate is that of a member, so an address may change. Without
// certificates the connections are plain; this is for loopback addresses alone. A connection begins
// with a greeting of the member that has opened it:
//
//	magic    4 bytes: "PWSC"
//	version  1 byte: 1
//	kind     1 byte: messages, call or web
//	member   8 bytes, little-endian: the number of the member
//	group    16 bytes: the same for all members
//
// On a connection for messages, frames of raft's messages follow in one direction. The sender's
// clock comes first, and once a second. It comes back, with the format that the receiver
// understands, and the term and the index of its newest entry: otherwise the connection is made
// anew. One for a call has one frame in each direction. One for the web is a connection of HTTP,
// for requests that a member passes on.
//
// Who the members are is in the log. A member that no leader sends to, because the leader was added
// while the member was down, asks those that it knows for a status. It takes those whom the newest
// one names for members until it has learned of them by the log. A server of the group that is not
// known here may ask for a status and nothing else: it may have been removed. The other questions
// of members, and notes, have forms that only their users know.
//
// # Frames
//
//	length   4 bytes, little-endian: that of kind and body
//	kind     1 byte
//	body
//
// # Bounds
//
// Messages wait in a queue for each member, bounded in number and bytes; raft repeats what is lost.
// Greetings, writes, reads and calls have deadlines. The length of a frame is bounded, and memory
// is taken as its bytes arrive. A member has a bounded number of connections.
package cluster
