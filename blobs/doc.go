// Package blobs is a content-addressed store: the key of a blob is the SHA-256 of its content.
//
// A new blob arrives durable in a log entry, so Add keeps it in memory only ("recent"), with the
// log position of that entry. Pack moves the recent blobs up to a position into one immutable pack
// file; it runs BEFORE the snapshot that lets the log be cut there. Get reads from the recent
// blobs, then a cache bounded in bytes, then the packs by pread, and checks the hash of what it
// has read from disk. TryMerge keeps the packs few; Drop and Purge remove blobs.
//
// In memory contents lie in slabs: blocks of up to 64 KiB, with records and a table that have no
// pointers, so that the garbage collector does not follow each blob. A slab is written once and
// never used again: Get returns a part of it without copying, and the garbage collector frees it
// when nobody reads from it. The cache is a queue of slabs, in which those of recent blobs get as
// they are once their blobs are packed. The oldest slab leaves; what was read since it last came
// to the front is copied to the end of the queue. Nothing fragments, because slabs leave as a
// whole.
//
// The directory holds
//
//	manifest          which packs count; replaced as a whole
//	pack-<8 hex>      a pack, immutable
//	*.tmp             what an interrupted run left; removed by Open, like packs not in the manifest
//
// A pack, all integers little endian, all checksums CRC-32C:
//
//	+--------+-------+-------+     +-------+------+------+     +------+--------+
//	| header | block | block | ... | block | page | page | ... | page | footer |
//	+--------+-------+-------+     +-------+------+------+     +------+--------+
//
//	header   magic "PWSPACK1" (8) | version (4) | number (4) | zero (4) | crc of these (4)
//	block    crc of what follows (4) | stored length (4) | raw length (4) |
//	         codec (1): 0 raw, 1 zstd | zero (3) | stored bytes
//	page     4096 bytes: up to 78 entries of 52 bytes | zero (34) | entries (2) | crc (4)
//	entry    hash (32) | offset of the block (8) | offset of the blob in the raw block (4) |
//	         size of the blob (4) | length of the block with its header (4)
//	footer   offset of the first page (8) | blobs (8) | content bytes (8) | number (4) |
//	         crc of all pages (4) | zero (4) | magic "PWSPACKF" (8) | crc of these (4)
//
// Blobs under 4 KiB share blocks of about 32 KiB, so that zstd sees them together; a larger blob
// has a block of its own. Entries are in ascending order of hashes and every page but the last is
// full. Memory holds the first hash of each page and a Bloom filter, both made while Open checks
// the pages: about 1.4 bytes a blob. A look-up then reads at most one page of a pack, as a rule.
//
// The manifest:
//
//	magic "PWSBLOBS" (8) | version (4) | next number (4) | packs (4) |
//	per pack: number (4) | size (8) | crc of its footer (4) |
//	crc of all before (4)
//
// Order of effects in Pack and merges: the pack is written, synced, renamed and the directory is
// synced BEFORE it is read back, every hash checked; that BEFORE the manifest is replaced, synced,
// and read back; that BEFORE blobs leave the recent ones, or old packs are removed.
package blobs
