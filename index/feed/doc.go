// Package feed stores the activities of all projects in the order of the log, so that clients can
// read what has happened since their cursor. It is derived from the log of the service and goes
// back further: records of entries that are still in the log can be rebuilt from it, records of
// older entries exist only here.
//
// The newest records are in memory, all are on disk, in append-only files. Whole files are removed,
// the oldest first, when enough newer records are kept or when all their records are too old. For
// each stored record, memory holds four bytes: its number in the chain of its project, which finds
// the records of one project without reading those of others. Records are written in blocks, and
// synced only by Sync; records lost in a crash are rebuilt from the log.
//
// # Files
//
// A file is named feed- and its number in eight hexadecimal digits. A process never writes to a
// file of an earlier one. All integers are little endian, all checksums CRC-32C. A file begins with
// a header of package disk (24 bytes, magic PWSFEED1), followed by
//
//	24  previous  8  valid length of the previous file; the bytes after it are a torn tail
//	32  covered   8  all records of log entries up to this one are in the previous files
//	40  entry     8  position of the last record in the previous files, zero if there is none
//	48  nth       8
//	56  zero      4
//	60  checksum  4  of the bytes from 24 on
//
// A file that was written again without the facts of some projects has version 2 instead of 1: all
// of it is valid, and the length in the next file is that from before.
//
// Blocks follow:
//
//	 0  magic     4  "PWSB"
//	 4  checksum  4  of all bytes from 8 to the end of the block
//	 8  count     4  number of records; a block without records only updates covered
//	12  index     4  length of the index
//	16  raw       4  length of the records before compression
//	20  stored    4  length of the records as stored
//	24  codec     1  of package disk
//	25  zero      7
//	32  covered   8  all records of log entries up to this one are in this block or before it
//	40  first     8  entry of the first record
//	48  last      8  entry of the last record
//	56  nths      4  nth of the first and of the last record, 2 bytes each
//	60  zero      4
//	64  times     16 of the first record and of the last, in Unix milliseconds
//	80  index        uvarint number of projects, 16 bytes each; then for each record a uvarint: the
//	                 index of its project
//	    records      each: uvarint difference of its entry to that of the previous record, uvarint
//	                 number in the entry, varint time after the first record, then type, actor,
//	                 subject, other project and facts of the activity, see record.go
//
// The first invalid block of the last file is a torn tail if no valid block follows it. Any other
// invalid block is damage.
package feed
