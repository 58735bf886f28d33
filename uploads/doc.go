// Package uploads keeps the parts of uploads on disk until they are imported or expire. What Put
// has confirmed is durable. An upload has a record, parts with numbers from 1, and perhaps a note;
// their meaning belongs to the caller.
//
// The directory holds a file for each of them:
//
//	<32 hex>-<8 hex>  the key of the upload and the number: RecordNumber, a part, or NoteNumber
//	*.tmp             what an interrupted run left; removed by Open, like files without a record
//
// All integers are little endian, all checksums CRC-32C:
//
//	magic "PWSUPLD1" (8) | version (4) | number (4) | raw length (4) | stored length (4) |
//	codec (1): 0 raw, 1 zstd | zero (3) | time (8) | SHA-256 of the raw content (32) |
//	crc of the stored content (4) | crc of these (4) | stored content
//
// Order of effects: a file is written and synced BEFORE it is renamed, and the directory is synced
// BEFORE Put returns. The record is the first file of an upload and the first to be removed, so
// files without one belong to no upload.
package uploads
