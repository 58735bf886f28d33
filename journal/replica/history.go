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

// Has implements Machine. Entries that were cut cannot be compared: they count as the same.
func (r replicated) Has(pos uint64, payload []byte) (bool, error) {
	j := r.j
	if pos < j.recalled.first || pos-j.recalled.first >= uint64(len(j.recalled.sums)) {
		j.settle()
		j.recalled = recalled{first: pos}
		size := 0
		err := j.Read(pos, func(_ uint64, payload []byte) error {
			j.recalled.sums = append(j.recalled.sums, disk.Checksum(payload))
			if size += len(payload); size > recallBytesMax {
				return errEnough
			}
			return nil
		})
		switch {
		case errors.Is(err, journal.ErrOutOfRange):
			return true, nil
		case err != nil && !errors.Is(err, errEnough):
			return false, err
		case len(j.recalled.sums) == 0:
			return true, nil
		}
	}
	return j.recalled.sums[pos-j.recalled.first] == disk.Checksum(payload), nil
}
