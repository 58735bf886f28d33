// Package wal is the write-ahead log: opaque entries, numbered for ever, reported durable only
// after an fsync has returned for them.
//
// It uses github.com/tidwall/wal, which keeps the segment files and writes to them. What makes such
// a log safe is here: frames with a checksum, the check of every frame at start, the repair of a
// torn tail BEFORE tidwall sees the files, one owner, the lock of the directory, the fsync of the
// directory, and the latch: after the first I/O error nothing is written any more, because neither
// the file nor the page cache can be trusted after it.
//
// # Group commit
//
// Append puts an entry into a queue and gives it its position. One goroutine, the committer, owns
// the files. It takes all that is queued, makes one record of it, writes, syncs, and then calls
// Committed for each entry in the order of positions. What queues during a sync is the next batch.
//
// # Directory
//
//	LOCK                   flock, held as long as the log is open
//	00000000000000000001   segment, named by the tidwall index of its first record
//	00000000000000000057   the last one is appended to; it may be empty
//
// A segment is closed when it has reached Options.SegmentBytes. CutBefore removes whole segments,
// the oldest first, and never the one that holds the last record, so that positions go on where
// they were.
//
// # Record
//
// A segment is a sequence of records, each an unsigned varint with the length of the frame (written
// by tidwall) and the frame. All integers of the frame are little-endian:
//
//	 0  magic       4  "PWSL"
//	 4  checksum    4  CRC-32C of all bytes from 8 to the end of the frame
//	 8  version     1  1; magic, checksum and version stay where they are in every version
//	 9  flags       1  bit 0: the payload is one S2 block
//	10  reserved    2  zero
//	12  count       4  number of entries, at least 1
//	16  log         8  random number of this log, the same in all its frames
//	24  index       8  tidwall index of the record
//	32  first       8  position of the first entry
//	40  raw         4  length of the payload before compression
//	44  stored      4  length of the payload as it follows
//	48  payload        entries, each an unsigned varint with its length and its bytes
//
// S2 instead of a denser code, because the one committer compresses while everybody waits: a batch
// of 64 entries of 300 bytes costs 0.2 to 0.4 µs an entry against 0.7 to 1.2 µs with zstd.
//
// The number of the log keeps apart what looks alike: a segment copied in from another log, and a
// frame that a client has stored as the content of an entry.
//
// # Torn tail or damage
//
// The previous record is durable BEFORE the next one is written, so a crash can spoil only the last
// record of the last segment. The first frame that does not check is therefore a torn tail when it
// is in the last segment and no valid frame with a later index follows it: Open cuts it off and
// reports it. Everything else is damage: Open refuses with a CorruptError. A flipped bit in the
// very last frame cannot be distinguished from a torn write; Replay finds the loss when it is asked
// to start behind the end.
package wal
