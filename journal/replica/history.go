package replica

import (
	"errors"

	"pws/internal/disk"
	"pws/journal"
)

// ErrOtherHistory: at a position at which the group has agreed on an entry, this member has another
// one. Members of the group have started over without data that they had acknowledged, or this data
// is that of another group. It must not take part any more.
var ErrOtherHistory = errors.New("replica: the data has entries that the group has not agreed on")

// recallBytesMax bounds what is read of the log of entries at once.
const recallBytesMax = 64 << 20

// recalled are checksums of payloads in the log of entries, from a position on.
type recalled struct {
	first uint64
	sums  []uint32
}

func (r *recalled) add(pos uint64, payload []byte) {
	if len(r.sums) == 0 {
		r.first = pos
	}
	r.sums = append(r.sums, disk.Checksum(payload))
}

func (r *recalled) covers(pos uint64) bool {
	return pos >= r.first && pos-r.first < uint64(len(r.sums))
}

// has reports whether the log has a payload at a position. What is not covered counts as the same:
// entries that were cut cannot be compared.
func (r *recalled) has(pos uint64, payload []byte) bool {
	return !r.covers(pos) || r.sums[pos-r.first] == disk.Checksum(payload)
}

// Has implements Machine. It reads recallBytesMax at a time.
func (r replicated) Has(pos uint64, payload []byte) (bool, error) {
	j := r.j
	if !j.recalled.covers(pos) {
		j.settle()
		j.recalled = recalled{}
		size := 0
		err := j.Read(pos, func(at uint64, payload []byte) error {
			j.recalled.add(at, payload)
			if size += len(payload); size > recallBytesMax {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) && !errors.Is(err, journal.ErrOutOfRange) {
			return false, err
		}
	}
	return j.recalled.has(pos, payload), nil
}
