package cluster

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pws/internal/datadir"
	"pws/journal"
	"pws/journal/replica"
)

// requireBeginning checks, for a directory that is not that of a member, that a group can begin
// with what the settings say. It changes nothing: the directory may be the place of a disk that is
// not mounted, or of a copy that is to come. One that has nothing begins no group of one, which
// would lead at once, and acknowledge what the group that was meant does not have.
func (s *Settings) requireBeginning() error {
	note, err := readNote(s.Data)
	if err != nil || note != nil {
		return err
	}
	if n := len(s.Members); n != 1 && n != 3 && n != 5 {
		return fmt.Errorf("a group begins with 1, 3 or 5 members, not %d; a server that joins one "+
			"gets its data by pws cluster join first", n)
	}
	if len(s.Members) != 1 {
		return nil
	}
	_, err = os.Stat(filepath.Join(s.Data, datadir.FormatName))
	if errors.Is(err, fs.ErrNotExist) {
		return errNoData(s.Data)
	}
	return err
}

func errNoData(dir string) error {
	return fmt.Errorf("%s has no data: a member that is added to a group gets its data by pws "+
		"cluster join first; if its disk is not mounted, mount it; a new group of one begins with the "+
		"data of a single server", dir)
}

// begin makes raft's log of a member that begins, and then the note. Until the note is there the
// member has not taken part, and begins again.
func (m *Membership) begin(o journal.Options, dir string) (*note, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	log, found, err := journal.OpenLocal(o)
	if err != nil {
		return nil, err
	}
	if err := log.Close(); err != nil {
		return nil, err
	}
	if len(m.settings.Members) == 1 && m.settings.Number != 1 && found.Last == 0 {
		return nil, errNoData(m.settings.Data)
	}
	if err := replica.Begin(dir, m.settings.Members, found.Last); err != nil {
		return nil, err
	}
	made := &note{number: m.settings.Number}
	made.group, err = groupOf(m.identity.Secret, m.settings.Members, o.Dir, found)
	if err == nil {
		err = made.write(m.settings.Data)
	}
	return made, err
}

// groupOf identifies a group by what all of its first members begin with: their secret, their
// numbers, and the end of the journal.
func groupOf(
	secret []byte, members []replica.Member, log string, found *journal.Recovery,
) (group [groupBytes]byte, err error) {
	sum := sha256.New()
	sum.Write([]byte("pws group "))
	sum.Write(secret)
	for _, one := range members {
		sum.Write(binary.LittleEndian.AppendUint64(nil, one.Number))
	}
	sum.Write(binary.LittleEndian.AppendUint64(nil, found.Last))
	if found.Last > 0 && found.First <= found.Last {
		err = journal.Read(log, found.Last, func(_ uint64, payload []byte) error {
			sum.Write(payload)
			return nil
		})
	}
	copy(group[:], sum.Sum(nil))
	return group, err
}
