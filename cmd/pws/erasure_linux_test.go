package main

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pws/api"
	"pws/internal/disk/disktest"
)

// TestGroupPurge purges a content: it leaves the disks of all members, also of one that was
// down meanwhile.
func TestGroupPurge(t *testing.T) {
	n := underLoad(t)
	secret := rand.Text()
	hash := n.put(n.load.world.Load().project, secret)
	n.onDisks(secret, true)
	n.whileOneIsAway("purge", "--blob", hash)
	n.onDisks(secret, false)
	n.waitAgreed(false)
	n.finish()
}

// TestGroupRemoval removes a project: what it had leaves the disks of all members, but not
// what another project has, too.
func TestGroupRemoval(t *testing.T) {
	n := underLoad(t)
	var made struct {
		Project struct {
			ID string `json:"id"`
		} `json:"project"`
	}
	title, secret, shared := rand.Text(), rand.Text(), rand.Text()
	n.load.must(n.load.owner, nemesisCall{
		method: "POST", path: "projects", body: map[string]any{
			"name": "doomed", "visibility": "PRIVATE", "reuse_policy": "REFERENCE_ONLY",
		},
	}, &made)
	doomed := made.Project.ID
	n.put(doomed, secret)
	n.put(doomed, shared)
	n.put(n.load.world.Load().project, shared)
	n.load.must(n.load.owner, nemesisCall{
		method: "POST", path: fmt.Sprintf("projects/%s/tasks", doomed),
		body: map[string]any{"title": title},
	}, nil)
	n.onDisks(title, true)
	n.onDisks(secret, true)
	n.whileOneIsAway("remove", doomed)
	n.onDisks(title, false)
	n.onDisks(secret, false)
	n.onDisks(shared, true)
	n.waitAgreed(false)
	n.finish()
}

// put writes a file of a random name, and returns the hash of its content.
func (n *disturbed) put(project, content string) string {
	n.t.Helper()
	var written struct {
		File struct {
			Hash string `json:"blob_hash"`
		} `json:"file"`
	}
	n.load.must(n.load.owner, nemesisCall{
		method: "PUT", path: fmt.Sprintf("projects/%s/files/%s", project, rand.Text()),
		body: map[string]any{"content": content},
	}, &written)
	return written.File.Hash
}

// whileOneIsAway runs a command of an operator while a follower is down.
func (n *disturbed) whileOneIsAway(name string, args ...string) {
	n.t.Helper()
	away := n.anyFollower()
	n.kill(away)
	n.wait("the command "+name, func() error {
		command := []string{"admin", name, "--data", n.leader().data, "--reason", "a test"}
		_, err := n.pws(slices.Concat(command, args)...)
		// On a busy machine another member comes to lead, or none for a while.
		if err != nil && !strings.Contains(err.Error(), api.ReasonNotLeading) {
			n.t.Fatal(err)
		}
		return err
	})
	n.startAgain(away)
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
