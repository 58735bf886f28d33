package cluster

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"pws/internal/datadir"
	"pws/journal/replica"
)

// A server that joins opens a connection of its own kind. The member sends its group, 16 bytes, and
// a descriptor with its length, 4 bytes, little-endian; then the files, as Settings.Files writes
// them.

const (
	// copyStepTime bounds how long no byte of a copy passes.
	copyStepTime = 30 * time.Second
	// descriptorBytesMax bounds a descriptor.
	descriptorBytesMax = 1 << 20
)

// steadyConn has a deadline for each read and each write.
type steadyConn struct{ net.Conn }

// Read implements io.Reader.
func (c steadyConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(copyStepTime)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write implements io.Writer.
func (c steadyConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(copyStepTime)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// sendCopy sends the data of this member. There is one copy at a time.
func (n *Network) sendCopy(conn net.Conn) error {
	if !n.copying.TryLock() {
		return errors.New("another copy is being sent")
	}
	defer n.copying.Unlock()
	out := bufio.NewWriterSize(steadyConn{conn}, writeBytes)
	if _, err := out.Write(n.group[:]); err != nil {
		return err
	}
	if err := n.config.Copy(out); err != nil {
		n.config.Log.Warn("a copy for a new member was not completed", "error", err)
		return err
	}
	return out.Flush()
}

// writeCopy writes what a copy has behind the group. The descriptor comes first: what it describes
// is in the files that are taken AFTER it. What comes later stays until the receiver has got it.
func (m *Membership) writeCopy(to io.Writer) error {
	defer m.journal.Hold()()
	descriptor, err := m.journal.Descriptor()
	if err != nil {
		return err
	}
	length := binary.LittleEndian.AppendUint32(nil, uint32(len(descriptor)))
	if _, err := to.Write(append(length, descriptor...)); err != nil {
		return err
	}
	return m.settings.Files(to)
}

// Source is where a server that joins gets the data of the group from.
type Source struct {
	// Address is that of a member, Number the number of the member.
	Address string
	Number  uint64
	// Receive makes a data directory of files as Settings.Files has written them. It makes nothing
	// where it fails, and touches nothing that is there.
	Receive func(from io.Reader, dir string) error
}

// Join makes the data directory of a member that was added, or will be, from a copy of another
// member's. It makes nothing where it fails. Data, Number, Keys and Plain of the settings are used.
// Errors: those of the keys and of the network; a directory that has something; the number of a
// voter, or of a member that was removed.
func Join(ctx context.Context, s Settings, source Source) error {
	if err := datadir.MakeRoom(s.Data); err != nil {
		return err
	}
	identity, err := s.identify()
	if err != nil {
		return err
	}
	copied, err := openCopy(ctx, identity, s.Number, source)
	if err != nil {
		return err
	}
	defer copied.close()
	if err := replica.Joinable(s.Number, copied.descriptor); err != nil {
		return err
	}
	partial := filepath.Clean(s.Data) + ".joining"
	// Where it fails it leaves nothing, or what belongs to another Join.
	if err := source.Receive(copied.files, partial); err != nil {
		return err
	}
	err = replica.Join(filepath.Join(partial, datadir.RaftName), s.Number, copied.descriptor)
	if err == nil {
		err = (&note{number: s.Number, group: copied.group}).write(partial)
	}
	if err == nil {
		err = noteErasure(partial)
	}
	if err == nil {
		err = os.Rename(partial, s.Data)
	}
	if err == nil {
		return datadir.SyncDir(filepath.Dir(s.Data))
	}
	return errors.Join(err, os.RemoveAll(partial))
}

// Renew replaces the data of a member that lacks entries which the others do not have any more by a
// copy of another member's. The member does not run. Where it fails, the member has what it had.
// Data, Number, Members, Keys and Plain of the settings are used. Errors: those of the keys and of
// the network; a copy of another group, or of one that does not know this member.
func Renew(ctx context.Context, s Settings, source Source) error {
	own, err := readNote(s.Data)
	if err == nil && own == nil {
		err = fmt.Errorf("%s is not the data directory of a member", s.Data)
	}
	if err != nil {
		return err
	}
	identity, err := s.identify()
	if err != nil {
		return err
	}
	address, err := s.address()
	if err != nil {
		return err
	}
	// With the address, nobody else starts a server of this member meanwhile.
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer ln.Close()
	copied, err := openCopy(ctx, identity, s.Number, source)
	if err != nil {
		return err
	}
	defer copied.close()
	if copied.group != own.group {
		return fmt.Errorf("member %d at %s is of another group", source.Number, source.Address)
	}
	raft := filepath.Join(s.Data, datadir.RaftName)
	if err := replica.Renewable(raft, s.Number, copied.descriptor); err != nil {
		return err
	}
	partial, err := datadir.BeginRenewal(s.Data)
	if err == nil {
		err = source.Receive(copied.files, partial)
	}
	if err == nil {
		err = replica.Renew(filepath.Join(partial, datadir.RaftName), raft, s.Number,
			copied.descriptor)
	}
	if err == nil {
		err = noteErasure(s.Data)
	}
	if err == nil {
		err = datadir.CommitRenewal(s.Data)
	}
	return errors.Join(err, datadir.FinishRenewal(s.Data))
}

// noteErasure has a member look for contents that others have dropped: a copy may have been made
// while they left the disk of its source.
func noteErasure(dir string) error {
	noted, err := datadir.ReadErasure(dir)
	if noted.Due = true; err == nil {
		err = noted.Write(dir)
	}
	return err
}

// copying is the connection on which a copy comes.
type copying struct {
	group      [groupBytes]byte
	descriptor []byte
	// files are what Settings.Files of the source writes.
	files io.Reader
	close func()
}

// openCopy asks a member for a copy, and reads what comes BEFORE the files.
func openCopy(
	ctx context.Context, identity *Identity, number uint64, source Source,
) (*copying, error) {
	hello := greeting{kind: forCopy, member: number, group: identity.joining()}
	conn, err := connect(ctx, identity, source.Number, source.Address, hello)
	if err != nil {
		return nil, err
	}
	unwatch := context.AfterFunc(ctx, func() { _ = conn.Close() })
	from := bufio.NewReaderSize(steadyConn{conn}, writeBytes)
	c := &copying{files: from, close: func() {
		unwatch()
		_ = conn.Close()
	}}
	if err := c.readHead(from); err != nil {
		c.close()
		return nil, fmt.Errorf("member %d sends no copy: %w", source.Number, err)
	}
	return c, nil
}

func (c *copying) readHead(from io.Reader) error {
	if _, err := io.ReadFull(from, c.group[:]); err != nil {
		return err
	}
	var length [4]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return err
	}
	size := binary.LittleEndian.Uint32(length[:])
	if size > descriptorBytesMax {
		return fmt.Errorf("%w: a descriptor of %d bytes", errProtocol, size)
	}
	c.descriptor = make([]byte, size)
	_, err := io.ReadFull(from, c.descriptor)
	return err
}
