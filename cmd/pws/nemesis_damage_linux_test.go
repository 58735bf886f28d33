package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// skews are what clocks are wrong by: less than the time of a session. A member does not lead with
// those beyond skewLeads.
var skews = []time.Duration{
	500 * time.Millisecond, -500 * time.Millisecond, 4 * time.Second, -4 * time.Second,
	10 * time.Minute, -10 * time.Minute,
}

const skewLeads = 2 * time.Second

// skew has a member run with a wrong clock for a while.
func (n *disturbed) skew() {
	m := n.members[n.random.IntN(len(n.members))]
	m.skew = skews[n.random.IntN(len(skews))]
	n.kill(m)
	n.load.regain("a member was killed, whose clock will be wrong")
	n.startAgain(m)
	n.waitAgreed(false)
	n.load.regain(fmt.Sprintf("a clock is wrong by %v", m.skew))
	if m.skew.Abs() > skewLeads {
		n.wait("a member with a wrong clock does not lead", func() error {
			if n.leader() == m {
				return fmt.Errorf("member %d leads, whose clock is wrong by %v", m.number, m.skew)
			}
			return nil
		})
	}
	nemesisPause(n.between(restMin, restMax))
	m.skew = 0
	n.kill(m)
	n.load.regain("a member with a wrong clock was killed")
	n.startAgain(m)
}

// flip flips a bit in a file of a member that is down, and starts it. It may find the damage, and
// not start or end. Whatever it answers must not be wrong. Then another one takes its place.
func (n *disturbed) flip() {
	m := n.members[n.random.IntN(len(n.members))]
	if n.random.IntN(2) == 0 {
		// Its state and its contents go to files of their own.
		if err := m.process.Stop(patience); err != nil {
			n.t.Fatal(err)
		}
		m.process = nil
	} else {
		n.kill(m)
	}
	name, err := n.flipBit(m.data)
	if err != nil {
		n.t.Fatal(err)
	}
	n.load.damaged.Store(true)
	m.leaves = true
	err = n.start(m)
	for errors.Is(err, errAddressTaken) {
		nemesisPause(200 * time.Millisecond)
		err = n.start(m)
	}
	n.t.Logf("a bit of %s of member %d was flipped; it starts: %v", name, m.number, err)
	n.load.regain("a file of a member is damaged")
	nemesisPause(n.between(restMin, restMax))
	if m.process != nil {
		n.kill(m)
	}
	n.replaceMember(m)
	n.load.damaged.Store(false)
}

// flipBit flips one bit in some file below a folder, each kind of file as often as the others, and
// returns its name.
func (n *disturbed) flipBit(dir string) (string, error) {
	kinds := map[string][]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Size() > 0 {
			below, _ := filepath.Rel(dir, name)
			kind, _, _ := strings.Cut(filepath.ToSlash(below), "/")
			kinds[kind] = append(kinds[kind], name)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	names := slices.Sorted(maps.Keys(kinds))
	files := kinds[names[n.random.IntN(len(names))]]
	name := files[n.random.IntN(len(files))]
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	// Logs have room behind what is written.
	written := len(data)
	for written > 1 && data[written-1] == 0 {
		written--
	}
	bit := n.random.IntN(8 * written)
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	_, err = file.WriteAt([]byte{data[bit/8] ^ 1<<(bit%8)}, int64(bit/8))
	below, _ := filepath.Rel(dir, name)
	return fmt.Sprintf("%s at %d of %d bytes", below, bit/8, len(data)), errors.Join(err, file.Close())
}

// diskBytes is the size of the disk of each member of networks.
const diskBytes = 512 << 20

// fill leaves little room on the disk of a member for a while, or none. Writes go on: another one
// leads. A member that cannot write its log ends, and is started again when there is room.
func (n *disturbed) fill(m *nemesisMember) {
	ballast, left := m.data+".ballast", n.random.Int64N(1<<20)
	if n.random.IntN(2) == 0 {
		left = diskBytes/32 + n.random.Int64N(diskBytes/32)
	}
	m.leaves = true
	if err := fillDisk(ballast, left); err != nil {
		n.t.Fatal(err)
	}
	n.load.regain("the disk of a member is full")
	nemesisPause(n.between(partMin, partMax))
	n.load.regain("the disk of a member is still full")
	if err := os.Remove(ballast); err != nil {
		n.t.Fatal(err)
	}
	select {
	case <-m.process.Done():
		n.t.Logf("member %d has ended, with %d bytes of room", m.number, left)
		m.process = nil
		n.startAgain(m)
	default:
		n.t.Logf("member %d went on, with %d bytes of room", m.number, left)
	}
	m.leaves = false
}

// fillDisk makes a file that leaves so many bytes free. It is made again where the server has taken
// some of the room meanwhile.
func fillDisk(name string, left int64) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	for range 100 {
		var disk unix.Statfs_t
		if err = unix.Fstatfs(int(file.Fd()), &disk); err == nil {
			err = allocate(file, max(1, int64(disk.Bavail)*disk.Bsize-left))
		}
		if !errors.Is(err, unix.ENOSPC) {
			break
		}
		if err := file.Truncate(0); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return errors.Join(err, file.Close())
}
