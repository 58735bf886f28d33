package replica

import "pws/internal/logformat"

// checkFormats checks that no server has applied a format that its program does not know, and that
// all who have applied the same have the same format, which never goes back.
func (s *simulation) checkFormats() {
	least, most := uint64(logformat.Newest), uint64(0)
	for _, o := range s.servers {
		if o.node == nil || o.resume != nil {
			continue
		}
		index, _ := o.node.Applied()
		format := o.node.Format()
		known, ok := s.formats[index]
		if !ok {
			s.formats[index] = format
		} else if known != format {
			s.t.Fatalf("%s: AFTER %d the format is %d for %d, and %d", s, index, format, o.member,
				known)
		}
		if format > o.understands {
			s.t.Fatalf("%s: %d has format %d, and knows %d", s, o.member, format, o.understands)
		}
		if o.format > format && index >= o.formatAt {
			s.t.Fatalf("%s: the format of %d goes back from %d to %d", s, o.member, o.format, format)
		}
		o.format, o.formatAt = format, index
		least, most = min(least, format), max(most, format)
	}
	if least < most {
		s.raised++
	}
}

// raisable reports whether all members of a leader know the newest format.
func (s *simulation) raisable(leader *server) bool {
	for _, m := range leader.node.Members() {
		if s.servers[m.Number-1].understands < logformat.Newest {
			return false
		}
	}
	return true
}
