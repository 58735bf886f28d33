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
// is in the files that are taken AFTER it.
func (m *Membership) writeCopy(to io.Writer) error {
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
	// Receive makes a data directory of files as Settings.Files has written them.
	Receive func(from io.Reader, dir string) error
}

// Join makes the data directory of a member that was added, or will be, from a copy of another
// member's. It makes nothing where it fails. Data, Number, Keys and Plain of the settings are used.
// Errors: those of the keys and of the network; a directory that has something.
func Join(ctx context.Context, s Settings, source Source) error {
	identity, err := s.identify()
	if err != nil {
		return err
	}
	if err := datadir.MakeRoom(s.Data); err != nil {
		return err
	}
	hello := greeting{kind: forCopy, member: s.Number, group: identity.joining()}
	conn, err := connect(ctx, identity, source.Number, source.Address, hello)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	from := bufio.NewReaderSize(steadyConn{conn}, writeBytes)
	own := note{number: s.Number}
	var length [4]byte
	if _, err := io.ReadFull(from, own.group[:]); err != nil {
		return fmt.Errorf("member %d sends no copy: %w", source.Number, err)
	}
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return err
	}
	size := binary.LittleEndian.Uint32(length[:])
	if size > descriptorBytesMax {
		return fmt.Errorf("%w: a descriptor of %d bytes", errProtocol, size)
	}
	descriptor := make([]byte, size)
	if _, err := io.ReadFull(from, descriptor); err != nil {
		return err
	}
	partial := filepath.Clean(s.Data) + ".joining"
	err = source.Receive(from, partial)
	if err == nil {
		err = replica.Join(filepath.Join(partial, datadir.RaftName), descriptor)
	}
	if err == nil {
		err = own.write(partial)
	}
	if err == nil {
		err = os.Rename(partial, s.Data)
	}
	if err == nil {
		return datadir.SyncDir(filepath.Dir(s.Data))
	}
	return errors.Join(err, os.RemoveAll(partial))
}
