package identity

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// Hashes that part late, down to the last bits of a digest, against a map; every copy of the trie
// that was taken on the way stays what it was.
func TestSessionTrieIsAMap(t *testing.T) {
	type version struct {
		trie sessionTrie
		want map[[32]byte]*Session
	}
	check := func(rt *rapid.T, v version, hashes [][32]byte) {
		if v.trie.count != len(v.want) {
			rt.Fatalf("%d sessions, want %d", v.trie.count, len(v.want))
		}
		for _, hash := range hashes {
			got, ok := v.trie.get(&hash)
			if want := v.want[hash]; got != want || ok != (want != nil) {
				rt.Fatalf("%x: %v, want %v", hash, got, want)
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		hash := rapid.Custom(func(rt *rapid.T) (out [32]byte) {
			for range rapid.IntRange(0, 2).Draw(rt, "bytes") {
				at := rapid.SampledFrom([]int{0, 1, 30, 31}).Draw(rt, "at")
				out[at] = rapid.SampledFrom([]byte{0, 1, 63, 64, 128, 255}).Draw(rt, "byte")
			}
			return out
		})
		hashes := rapid.SliceOfN(hash, 1, 12).Draw(rt, "hashes")
		now := version{want: map[[32]byte]*Session{}}
		var versions []version
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			hash := pick(rt, "hash", hashes)
			if rapid.IntRange(0, 2).Draw(rt, "delete") == 0 {
				now.trie.delete(&hash)
				delete(now.want, hash)
			} else {
				session := &Session{Hash: hash}
				if old := now.trie.set(session); old != now.want[hash] {
					rt.Fatalf("set gave back %v", old)
				}
				now.want[hash] = session
			}
			check(rt, now, hashes)
			versions = append(versions, version{now.trie, maps.Clone(now.want)})
		}
		for _, v := range versions {
			check(rt, v, hashes)
		}
		for hash := range now.want {
			now.trie.delete(&hash)
		}
		if now.trie.root != nil || now.trie.count != 0 {
			rt.Fatalf("an empty trie has a root or %d sessions", now.trie.count)
		}
	})
}
