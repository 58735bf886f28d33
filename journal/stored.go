package journal

import "pws/wal"

// Read calls fn with every entry of the journal in a directory from a position on, in order, for
// tools that work without the server. It takes no lock and changes nothing; a server may append
// at the same time. payload is valid only during the call. Errors: ErrOutOfRange, those that wrap
// ErrCorrupt, and those of fn.
func Read(dir string, from uint64, fn func(pos uint64, payload []byte) error) error {
	return wal.Read(dir, from, fn)
}

// Verify checks every byte of the journal in a directory. It takes no lock and changes nothing.
// Damage is a *CorruptError, and the report then counts what was valid before it.
func Verify(dir string) (Report, error) { return wal.Verify(dir) }

// Extent returns the length of the last file of a journal, without space that was reserved.
func Extent(path string) (int64, error) { return wal.Extent(path) }
