// Package snapshot keeps opaque sections together with the log position they cover, so that a
// restart reads a manifest and the tail of the log instead of the whole log.
//
// A section belongs to a key of at most 64 bytes and carries its own log position. A run (Begin,
// Put, Delete, Commit) writes only the sections that changed: one new section file and one new
// manifest. Files are immutable; where two files hold a key, the file later in the manifest wins.
// When too much of the files is dead, a run also moves live sections out of the worst ones, within
// a budget of bytes, and drops the files that have nothing left.
//
// The directory holds
//
//	sections-<number, 8 hex>        written by the run that made the generation of that number
//	manifest-<generation, 8 hex>    which files count, and the log position they cover
//	*.tmp                           what an interrupted run left; removed by Open
//
// A section file, all integers little endian, all checksums CRC-32C:
//
//	+--------+---------+---------+     +-------+--------+
//	| header | section | section | ... | index | footer |
//	+--------+---------+---------+     +-------+--------+
//
//	header   magic "PWSSECT1" (8) | version (4) | number (4) | zero (4) | crc of these (4)
//	section  crc, see below (4) | stored length (4) | raw length (4) | position (8) |
//	         codec (1): 0 raw, 1 zstd | key length (1) | zero (2) | key | stored bytes
//	index    per key, in ascending order of keys:
//	         key length (1) | kind (1): 0 section, 1 deletion | key | position (uvarint) |
//	         offset of the section (uvarint) | its length with header (uvarint)
//	footer   index offset (8) | index length (8) | keys (8) | number (4) | crc of index (4) |
//	         salt (4) | magic "PWSSECTF" (8) | crc of these (4)
//
// The salt is drawn at random for each file. The crc of a section is that of the crc of number and
// salt, continued over the rest of the section: it binds the content to its key, its position and
// its file. So a section of another file is refused, and, because the manifest names the footer, a
// file that was written under the same number at another time is refused too. Version 1 of section
// files has salt 0 and the crc of the rest of the section alone; such files are still read, and
// what is moved out of them gets a new checksum.
//
// A manifest, version 1:
//
//	magic "PWSMANI1" (8) | version (4) | generation (4) | position (8) | files (4) |
//	per file, oldest first: number (4) | size (8) | crc of its footer (4) |
//	crc of all before (4)
//
// Order of effects in Commit: the section file is written, synced, renamed, and the directory
// synced BEFORE it is read back and checked; that BEFORE the manifest is written, synced, renamed,
// the directory synced, and the manifest read back; that BEFORE Read shows the new state; that
// BEFORE files of the generation before the previous one are removed. The previous generation
// stays whole on disk, for diagnosis: Open never falls back to it. A damaged newest manifest, index
// or footer refuses the start with the file and offset; a damaged section is reported by the Read
// that meets it, and by Verify.
package snapshot
