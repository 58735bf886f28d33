package blobs

// Batch is a pack that is being written, for contents that are too many for a log entry: they are
// durable BEFORE the entry that names them. A batch has one user at a time. Memory holds the hashes
// of its contents and about a megabyte.
type Batch struct {
	s     *Store
	b     *builder
	added map[Hash]bool
	bytes int64
}

// Begin begins a batch. What an interrupted one leaves on the disk is removed by the next Open.
func (s *Store) Begin() (*Batch, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	b, err := s.newBuilder()
	if err != nil {
		return nil, err
	}
	return &Batch{s: s, b: b, added: map[Hash]bool{}}, nil
}

// Add writes a content, once. h has to be Sum(content); the content is not kept. A content that the
// store has already is written too: the time that this takes does not depend on what is stored.
func (b *Batch) Add(h Hash, content []byte) error {
	mustFit(content)
	if b.added[h] {
		return nil
	}
	b.added[h] = true
	b.bytes += int64(len(content))
	return b.b.add(h, content)
}

// Hashes yields the hashes of the contents that were added, in no order.
func (b *Batch) Hashes(yield func(Hash) bool) {
	for h := range b.added {
		if !yield(h) {
			return
		}
	}
}

// Bytes returns the size of the contents.
func (b *Batch) Bytes() int64 { return b.bytes }

// Commit makes the contents part of the store. When it returns nil they are durable and proven by
// reading back. When it fails none of them is stored; ErrUncertain is the exception (see there).
func (b *Batch) Commit() error {
	if len(b.added) == 0 {
		b.b.abort()
		return nil
	}
	defer b.b.abort()
	p, err := b.b.finish()
	if err != nil {
		return err
	}
	// Close waits for the lock. A pack that no manifest names is removed by the next Open.
	b.s.packing.Lock()
	defer b.s.packing.Unlock()
	if err := b.s.usable(); err != nil {
		p.f.Close()
		return err
	}
	if err := b.s.swap([]*pack{p}, nil, nil); err != nil {
		return err
	}
	for h := range b.added {
		b.s.damaged.remove(&h)
	}
	return nil
}

// Abort gives the batch up. After Commit it does nothing.
func (b *Batch) Abort() { b.b.abort() }
