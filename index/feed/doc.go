// Package feed stores the activities of all projects in the order of the log, so that clients can
// read what has happened since their cursor. It is derived from the log of the service and goes
// back further: records of entries that the log still has can be made again, those of entries that
// the log was cut of are here alone.
//
// The newest records are in memory, all are on disk, in files that are only appended to. Whole
// files are removed, the oldest first, when enough newer records are kept or when all their records
// are too old. Of each record that is kept, memory holds four bytes: its number in the chain of its
// project, which finds the records of one project without reading those of others. Records are
// written in blocks, and synced by Sync alone; what a crash loses is taken from the log again.
//
// # Files
//
// A file is named feed- and its number in eight hexadecimal digits. A process never writes to a
// file of an earlier one. All integers are little endian, all checksums CRC-32C. A file begins with
// a header of package disk (24 bytes, magic PWSFEED1), and behind that
//
//	24  previous  8  how much of the file before is valid; what follows there was torn
//	32  covered   8  all records of log entries up to this one are in the files before
//	40  entry     8  the last record in front of this file, zero where there is none
//	48  nth       8
//	56  zero      4
//	60  checksum  4  of the bytes from 24 on
//
// Blocks follow:
//
//	 0  magic     4  "PWSB"
//	 4  checksum  4  of all bytes from 8 to the end of the block
//	 8  count     4  number of records; a block without any says what is covered
//	12  index     4  length of the index
//	16  raw       4  length of the records before compression
//	20  stored    4  length of the records as they follow
//	24  codec     1  of package disk
//	25  zero      7
//	32  covered   8  all records of log entries up to this one are here or in front
//	40  first     8  entry of the first record
//	48  last      8  entry of the last record
//	56  nths      4  their numbers in the entries, 2 bytes each
//	60  zero      4
//	64  times     16 of the first record and of the last, in Unix milliseconds
//	80  index        uvarint number of projects, 16 bytes each; then by record a uvarint, which one
//	    records      each: uvarint how much its entry is above the one before, uvarint number in
//	                 the entry, varint how much later than the first it is, then type, actor,
//	                 subject, other project and facts of the activity, see record.go
//
// The first block of the last file that does not check is a torn tail where no valid block follows
// it; all else that does not check is damage.
package feed
