package blobs

// heldIndex is the index of a pack in memory, whose pages were checked when they were read.
type heldIndex []byte

// page returns the page of a number.
func (h heldIndex) page(number int) page {
	b := h[number*pageBytes : (number+1)*pageBytes]
	return page{b, int(le.Uint16(b[pageBytes-6:]))}
}

// HoldIndexes keeps the indexes of the newest packs in memory until release is called, as many as
// have their place in a number of bytes: a start looks up each content of the log, and a look-up
// that finds something would read a page. release is never nil.
func (s *Store) HoldIndexes(bytes int64) (release func(), err error) {
	var holding []*pack
	release = func() {
		for _, p := range holding {
			p.held.Store(nil)
		}
	}
	for _, p := range s.list.Load().packs {
		size := p.footer.pages() * pageBytes
		if bytes -= size; bytes < 0 {
			break
		}
		held := make(heldIndex, 0, size)
		err := p.eachPage(func(_ int64, b []byte, _ page) error {
			held = append(held, b...)
			return nil
		})
		if err != nil {
			return release, err
		}
		p.held.Store(&held)
		holding = append(holding, p)
	}
	return release, nil
}
