package logformat

// EntryBytesMax is the maximum length of an entry in the log of a server or of a group. A record of
// package wal may be longer: that leaves room for what raft adds, and for entries that come with
// it.
const EntryBytesMax = 40 << 20
