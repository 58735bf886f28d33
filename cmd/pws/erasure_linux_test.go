package main

import (
	"crypto/rand"

	"fmt"

	mathrand "math/rand/v2"
	"testing"
	"time"

	"pws/internal/disk/disktest"
)

// TestPurgeOnAllMembers purges a content: it leaves the disks of all members, also of one that was
// down meanwhile.
func TestPurgeOnAllMembers(t *testing.T) {
	if testing.Short() {
		t.Skip("runs several servers")
	}
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	n := &disturbed{
		nemesisGroup: openGroup(t, new(loopback)), random: mathrand.New(mathrand.NewPCG(seed, seed)),
	}
	n.waitAgreed(false)
	n.load = startLoad(t, n.nemesisGroup, seed)
	secret := rand.Text()
	var written struct {
		File struct {
			Hash string `json:"blob_hash"`
		} `json:"file"`
	}
	n.load.must(n.load.owner, nemesisCall{
		method: "PUT", path: fmt.Sprintf("projects/%s/files/secret", n.load.world.Load().project),
		body: map[string]any{"content": secret},
	}, &written)
	n.onDisks(secret, true)
	away := n.anyFollower()
	n.kill(away)
	if _, err := n.pws("admin", "purge", "--data", n.leader().data, "--blob", written.File.Hash,
		"--reason", "a test"); err != nil {
		t.Fatal(err)
	}
	n.startAgain(away)
	n.onDisks(secret, false)
	n.waitAgreed(false)
	n.finish()
}

// onDisks waits until the data directories of all members have a content, or until none has it.
func (n *disturbed) onDisks(content string, want bool) {
	n.t.Helper()
	n.wait(fmt.Sprintf("content on the disks: %v", want), func() error {
		for _, m := range n.members {
			where, err := disktest.Holding(m.data, content)
			if err == nil && (where != "") != want {
				err = fmt.Errorf("member %d has it in %q", m.number, where)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
