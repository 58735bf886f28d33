package journal

import "pws/wal"

// localReign is the one reign of a journal that no other server has.
const localReign Reign = 1

// Local is the journal of one server: a log of package wal. It leads from Start to Close, and the
// views of its machine are always the newest ones.
type Local struct {
	*wal.Log
	dir string
}

var _ Journal = (*Local)(nil)

// OpenLocal checks and opens the log in a directory; see wal.Open.
func OpenLocal(o Options) (Journal, *Recovery, error) {
	log, found, err := wal.Open(o)
	if err != nil {
		return nil, nil, err
	}
	return &Local{Log: log, dir: o.Dir}, found, nil
}

// Start implements Journal.
func (l *Local) Start(m Machine) { m.Lead(localReign) }

// Append implements Journal.
func (l *Local) Append(reign Reign, e Entry, c Committed) error {
	switch {
	case reign != localReign:
		return ErrNotLeading
	case len(e.Payload) > EntryBytesMax:
		return ErrTooLarge
	}
	var err error
	switch {
	case e.Reserved:
		_, err = l.Log.AppendReserved(e.Payload, c)
	case e.Key != Key{}:
		err = l.Log.AppendKeyed(e.Key, e.Payload, c)
	default:
		_, err = l.Log.Append(e.Payload, c)
	}
	return err
}

// AgreedOn implements Journal.
func (l *Local) AgreedOn(uint64) bool { return true }

// BeginRead implements Journal.
func (l *Local) BeginRead() (Reign, error) { return localReign, nil }

// EndRead implements Journal.
func (l *Local) EndRead(Reign) error { return nil }

// Read implements Journal.
func (l *Local) Read(from uint64, fn func(pos uint64, payload []byte) error) error {
	return Read(l.dir, from, fn)
}
