// Package wal is the write-ahead log: opaque entries with permanent positions, reported durable
// only after an fsync has returned.
//
// A log is a directory of github.com/tidwall/wal: its names, its segments and its record format.
// Open has tidwall create the first segment, and check, as a second reader, what this package has
// checked and repaired. This package adds what makes the log safe: frames with a checksum, the
// check of every frame at start, the repair of a torn tail BEFORE tidwall opens the files, a single
// owner, the lock and the fsync of the directory, and the latch: after the first I/O error nothing
// is written any more, because neither the file nor the page cache can be trusted.
//
// Records are appended by this package, because writers would wait for tidwall: it keeps the last
// segment in memory, in a buffer that is copied whenever it grows, and syncs a full segment BEFORE
// it creates the next one.
//
// They are appended past the page cache, in blocks of the device, into space that was filled with
// zeros: a sync then makes these blocks durable and nothing else. Through the page cache it is a
// page, and what the file system notes of space that was only reserved, so that a record of 370
// bytes is 8.5 KB on the disk instead of 1.3, zeros included. Where the file system does not say
// how long its blocks are, the page cache is used, and space is reserved.
//
// # Group commit
//
// Append adds an entry to a queue. One goroutine, the committer, owns the files. It takes all
// queued entries, writes them as one record, syncs, and then calls Committed for each entry in the
// order of positions. Entries queued during a sync form the next batch.
//
// Entries with a key keep their order with those of the same key only. A large one is a record of
// its own, and small ones of other keys overtake it. An entry without a key overtakes none and is
// overtaken by none.
//
// # Directory
//
//	LOCK                   flock, held as long as the log is open
//	00000000000000000001   segment, named by the tidwall index of its first record
//	00000000000000000057   the last one is appended to; it may be empty
//	NEXT                   the file of the next segment, not renamed yet
//
// A segment is closed when it has reached Options.SegmentBytes. Zeros may follow the last record of
// a segment: space that was filled. It is given back when the segment or the log is closed, or at
// the next Open. CutBefore removes whole segments, the oldest first, and never the one with the
// last record, so that positions continue.
//
// # Record
//
// A segment is a sequence of records, each an unsigned varint with the length of the frame and the
// frame. All integers of the frame are little-endian:
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
// S2 is used instead of a stronger compression, because all writers wait for the one committer: a
// batch of 64 entries of 300 bytes costs 0.2 to 0.4 µs per entry, against 0.7 to 1.2 µs with zstd.
//
// The log number distinguishes frames of this log from others that look valid: a segment copied
// from another log, and a frame that a client has stored as the content of an entry.
//
// # Torn tail or damage
//
// The previous record is durable BEFORE the next one is written, so a crash can damage only the
// last record of the last segment. The first invalid frame is therefore a torn tail if it is in the
// last segment and no valid frame with a later index follows it: Open removes it and reports it,
// unless only zeros are left.
// All else is damage: Open fails with a CorruptError. A flipped bit in the very last frame cannot
// be distinguished from a torn write; Replay detects the loss if it is called with a position after
// the end.
package wal
