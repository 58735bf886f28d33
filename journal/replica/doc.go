// Package replica is the part of a journal that several servers hold together: raft, by
// go.etcd.io/raft, on a log of package wal, and the gate of package journal in front of a machine.
// A Log keeps what raft has to make durable. A Node is one member: it is pure, so that whole groups
// run in a test by seed, with networks, clocks and disks that fail.
//
// # What is agreed on
//
// Entries of raft are commands. One begins a reign of a member, which leads only AFTER it has
// applied the command; its number is its index in raft's log. Others are batches of entries of the
// journal, with the reign that they were made in and the position of the first of them. All members
// apply the same commands to a journal.Gate, which rejects a batch unless its reign is the newest
// and it follows the newest entry. So a batch of a deposed leader that is agreed on late has an
// effect only where nothing came in between.
//
// # Order of effects
//
// Entries and the hard state of raft are durable BEFORE the messages that rest on them are sent,
// and BEFORE anything is applied. How far the members agree is written along with the next entries
// only: a member finds it again. A machine has made the state of another member durable BEFORE its
// log follows it.
//
// # Records
//
// What becomes durable together is one entry of the wal, which adds a checksum, finds torn tails
// and latches AFTER an error. All numbers are uvarints unless a length is given:
//
//	version  1 byte: 1
//	parts    1 byte: bit 0 hard state, bit 1 descriptor, bit 2 entries
//	hard     term, vote, commit
//	base     index, term, four lists of members (voters, learners, voters outgoing, learners
//	         next), each with its count, 1 if the group leaves by itself, length, descriptor
//	entries  count, index of the first, then each: term, type, length, data
//
// Nothing is overwritten. Entries replace all that were there from the first of them on: that is
// how a suffix is truncated. A descriptor replaces all entries up to its index, and those behind it
// unless they follow it. A record with a descriptor has the hard state, too: it may be the first
// that is left when the wal was cut.
//
// The end of the wal may be lost to a torn write only where nobody has relied on it. A bit that
// flips in the very last record is taken for a torn write, as package wal says: then a member has
// forgotten what it promised last. Elsewhere it stops the start.
package replica
