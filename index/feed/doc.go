// Package feed stores the activities of all projects in the order of the log, so that clients can
// read what has happened since their cursor. It is derived from the log of the service and goes
// back further: records of entries that are still in the log can be rebuilt from it, records of
// older entries exist only here.
//
// The newest records are in memory, all are on disk, in append-only files. For each stored record,
// memory holds four bytes: its number in the chain of its project, which finds the records of one
// project without reading those of others. Records are written in blocks, and synced only by Sync;
// records lost in a crash are rebuilt from the log.
//
// # What is kept
//
// The newest Options.Events records of all projects are whole: readers of all projects get them
// without gaps. Of the records before them, only the newest Options.Each of each project stay, so
// that one busy project does not remove what happened in the others. Those are in the kept files at
// the front. Half as many records as are whole may wait behind them. Then all files at the front
// are written again, the oldest first, as few kept files: what each project has there are its
// newest records, and never has gaps, also where a crash leaves some of the files as they were. The
// same is done when the oldest kept records are too old. Kept files that are full and lose nothing
// stay. The records of kept files are bounded too: if they would be more than half of
// Options.Events, the projects with the most records keep fewer, down to one, and then the oldest
// are removed. Files whose records are all too old are removed.
//
// A kept file replaces the last of the files whose place it takes under its name, BEFORE the others
// are removed. A start that finds both uses the kept one. When records of a kept file are removed,
// the numbers of all records before them change, so readers that meet a file that was closed look
// again.
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
// of it is valid, and the length in the next file is that from before. A kept file has version 3.
// All of it is valid too, and its header has instead
//
//	24  from      4  lowest number of the files whose place it has taken
//	28  count     4  number of its records
//	32  covered   8  all records of log entries up to this one were in these files or before them
//	40  position 16  of the last record of these files, as above
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
//	32  covered   8  all records of log entries up to this one are in this block or before it; zero
//	                 in a kept file
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
