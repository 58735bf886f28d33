// Package replica is a journal that several servers hold together: raft, by go.etcd.io/raft, on a
// log of package wal, and the gate of package journal in front of a machine. A Log keeps what raft
// has to make durable. A Node is one member: it is pure, so that whole groups run in a test by
// seed, with networks, clocks and disks that fail. A Journal is a Node with a goroutine, a clock
// and a Transport, and implements journal.Journal.
//
// # Two logs
//
// A Journal has raft's log, and a log of the entries that were agreed on, which is the one that a
// single server has, with the same positions. An entry is durable in both BEFORE the machine learns
// of it. So all that reads the log of one server (replay, feed, verify, backup) reads that of a
// member, and raft's log is short: it has what is not durable in the other, and what members that
// lag may ask for. Those that lag more pull entries from the other log of the leader
// (Transport.Pull) until they have the position of its snapshot descriptor. Where that was cut,
// too, the data of the member is replaced by a copy of that of another one (Options.OnCut, Renew):
// it starts again as a new member does, but what it has voted still counts.
//
// # Reads
//
// A leader asks most members at every tick whether they still follow it (ReadIndex). Those that
// answer do not vote for ElectionTicks, so no other leads until shortly before that time has passed
// since the question: the lease. A member does not vote for ElectionTicks AFTER it was started,
// either, because it does not know what it has answered BEFORE. Ticks come from the monotonic
// clock, which stands still while a machine is suspended: a leader must not be suspended and
// resumed.
//
// A transfer of leadership breaks what the members have said: whom the leader asks for an election
// (MsgTimeoutNow) gets votes at once. So the leader gives up its lease BEFORE it begins a transfer,
// and takes none again in its term, also where the transfer fails: the message may come late, and
// counts in its term alone. Nobody else sends one, but a leader that has removed itself, which does
// not lead any more. Reads of a leader without a lease wait for the answers of most members.
//
// A lease outlasts changes of the group. Most voters BEFORE a change and most AFTER it have one in
// common, who has said not to vote; and the next change is agreed on by those who have heard the
// leader since.
//
// Other members ask the leader for an index, one question for all reads that wait, and answer when
// they have applied it.
//
// Another member may show an entry as soon as it learns that it was agreed on, which may be BEFORE
// the leader shows it. So a leader hands entries on BEFORE it sends that they were agreed on, and a
// read there waits until the machine has all that was handed on. Otherwise a reader could see an
// entry on one member, and then not see it on the leader.
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
// # Members
//
// A group changes by one member at a time: a learner is added, becomes a voter, a member is
// removed. The change is an entry of raft, whose context is the address of a member that is added.
// All members apply it to a group, which decides alike on all of them whether it takes effect
// (group.after), and note the members AFTER each entry, because a descriptor has those of its
// index. The leader proposes a change only in its reign, so that all earlier ones are applied, and
// refuses to remove a voter where most of those who are left were not heard lately.
//
// A member goes by the newest change that it has applied, so others may not know yet that one was
// agreed on. Four rules keep them from waiting for ever for somebody who is gone. That a change
// was agreed on is durable BEFORE it is applied: nobody comes back with an older group. Nothing is
// proposed behind a change until it is applied: a removed leader has no entries that the others
// lack. A member that was removed goes on answering until nobody has asked it for anything for a
// while. And where its log is longer, with the first entry of a leader that then lost power, it
// refuses its vote, but the answer names what is agreed on (vouch and believe). A leader that
// removes itself asks the voter that has most to begin an election.
//
// A new member starts from a copy of the data of another one and a Descriptor, which was made
// BEFORE the copy. The copy may have entries of the journal that the descriptor has not; the gate
// admits them when they are agreed on, and they are passed over. Raft ignores a descriptor in which
// the receiver is no member, so a leader that would send one makes a newer one first.
//
// A member without any entry may have lost its data, with what it had acknowledged. It votes only
// for one that has as much as all other voters, as far as it knows (SetLeast), so that it does
// not help one to lead that lacks what was acknowledged. If that has happened, a member that has
// the entries finds others at their positions and stops with ErrOtherHistory.
//
// A member that leaves a group, of which there may be no majority any more, has all that it has
// accepted appended to its log of entries (Leave), also what it does not know to be agreed on:
// nobody has an answer that says otherwise, and what somebody has an answer for may be among it.
//
// # Formats
//
// Members may run programs of different versions while an operator replaces one after the other. So
// what a group agrees on has a format, a number that grows. Members announce the newest one that
// they understand (Announced, by the transport), and the leader proposes a format (commandFormat)
// AFTER all members, those that learn included, have announced it lately. What belongs to a format
// is made only where it was applied. Descriptors have the format, so a member that does not
// understand it can neither join nor go on from there: it stops with ErrNewerFormat. A format never
// goes back, also where all programs do.
//
// # Order of effects
//
// Entries and the hard state of raft are durable BEFORE the messages that rest on them are sent,
// and BEFORE anything is applied. A leader sends its entries BEFORE they are durable on its own
// disk: nothing rests on that, because it counts itself only AFTER they are. So an entry costs the
// time of one write, which all members do at the same time. How far the members agree is written
// along with the next entries only: a member finds it again. A machine has made the state of
// another member durable BEFORE its log follows it.
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
// The descriptor in a base, whose numbers are uvarints, too, is
//
//	version  1 byte: 1 or 2
//	format   of the group; only in version 2, which is not used while it is logformat.First
//	gate     reign and position, position of the state of the machine
//	members  count, then each: number, length, address; members without one may be missing
//	removed  count, numbers
//	machine  the rest: a state of the machine
//
// What Descriptor returns is a record with a base alone, and its CRC-32C, 4 bytes, little-endian.
//
// Nothing is overwritten. Entries replace all that were there from the first of them on: that is
// how a suffix is truncated. A descriptor replaces all entries up to its index, and those behind it
// unless they follow it. A record with a descriptor has the hard state, too: it may be the first
// that is left when the wal was cut.
//
// # Torn or damaged
//
// Package wal takes damage of the very last record for a torn write and cuts it off, because it
// cannot distinguish them. A torn write was never reported, so nobody relies on it; what was
// damaged may have been promised to others. Therefore a record without parts, the seal, is durable
// behind every record with a new term, a vote or a descriptor BEFORE a message is sent, and behind
// whatever Open has found. So the last record has no promise: a flipped bit in a vote stops the
// start, as everywhere else, and one in a seal has no effect.
//
// A seal for each batch of entries would double the syncs. Entries are sealed by the next record,
// or AFTER sealTicks without one. Damage forgets those of one record if it hits them within that
// time and the process ends in it as well. A member whose end was cut off lets others go first
// (Config.ListenTicks), and it stops with ErrForgotten when the leader names an entry that it has
// acknowledged and does not have.
package replica
