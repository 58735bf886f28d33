package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
)

// What others write while a member is away: more than a leader keeps of raft's log, in files of a
// size whose contents are in the log.
const (
	awayBytes     = 4 << 20
	awayFileBytes = 64 << 10
)

// awayOptions have members keep little of their logs.
var awayOptions = []string{
	"--test-keep", "1048576", "--snapshot-log-bytes", "1048576", "--snapshot-every", "1s",
}

// TestGroupAwayTooLong has a member be away until nobody has the entries any more that it lacks. It
// replaces its data by a copy of that of the leader, by itself, also if it is killed meanwhile, and
// has everything in the end.
func TestGroupAwayTooLong(t *testing.T) {
	n := underLoad(t, awayOptions...)
	m := n.anyFollower()
	n.kill(m)
	n.cutLogs(n.members...)
	n.startAgain(m)
	n.logs(m, "is being replaced by a copy")
	n.kill(m)
	n.startAgain(m)
	n.logs(m, "the data of this member was replaced")
	n.waitAgreed(false)
	n.leads(m)
	n.finish()
}

// logs waits until the log of a member has a text.
func (n *disturbed) logs(m *nemesisMember, text string) {
	n.t.Helper()
	n.wait("the log of a member", func() error {
		all, err := os.ReadFile(n.path(fmt.Sprint("log-", m.number)))
		if err == nil && !bytes.Contains(all, []byte(text)) {
			err = fmt.Errorf("it does not say %q", text)
		}
		return err
	})
}

// writeMuch writes so much that no log is kept of it for long.
func (n *disturbed) writeMuch(size int) {
	n.t.Helper()
	world, raw := n.load.world.Load(), make([]byte, awayFileBytes*3/4)
	for i := range size / awayFileBytes {
		_, _ = rand.Read(raw)
		n.load.must(n.load.owner, nemesisCall{
			method: "PUT", path: fmt.Sprintf("projects/%s/files/much-%d", world.project, i),
			body: map[string]any{"content": base64.StdEncoding.EncodeToString(raw)},
		}, nil)
	}
}

// cutLogs writes until none of some members, unless it is down, has an entry of the log that the
// group had at the beginning. A member that is down lacks entries then.
func (n *disturbed) cutLogs(members ...*nemesisMember) {
	n.t.Helper()
	end := n.position()
	n.wait("the logs are cut", func() error {
		n.writeMuch(awayBytes)
		for _, m := range members {
			if m.process == nil {
				continue
			}
			first, err := firstOf(m.data + "/log")
			if err == nil && first <= end+1 {
				err = fmt.Errorf("member %d has entry %d, and the log ended with %d", m.number, first, end)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// position is that of the newest entry that the group has agreed on.
func (n *disturbed) position() (newest uint64) {
	n.t.Helper()
	n.wait("the position of the leader", func() error {
		leader := n.leader()
		status, err := n.status(leader)
		if err != nil {
			return err
		}
		for _, one := range status.Members {
			if one.Number == leader.number && one.Reign != 0 {
				newest = one.Position
				return nil
			}
		}
		return errors.New("no member leads")
	})
	return newest
}

// firstOf is the oldest entry of a log. Its files are named by their first entries.
func firstOf(dir string) (uint64, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	first := uint64(math.MaxUint64)
	for _, one := range names {
		// Files without a number are no part of the log.
		if position, err := strconv.ParseUint(one.Name(), 10, 64); err == nil {
			first = min(first, position)
		}
	}
	if first == math.MaxUint64 {
		err = fmt.Errorf("%s has no file of a log", dir)
	}
	return first, err
}
