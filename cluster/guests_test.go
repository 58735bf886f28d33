package cluster

import (
	"errors"
	"fmt"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"pws/journal/replica"
)

// TestGuestsAreTakenForMembers asks whom a member takes for members that it has not learned of by
// the log.
func TestGuestsAreTakenForMembers(t *testing.T) {
	a, b, c := replica.Member{Number: 1}, replica.Member{Number: 2}, replica.Member{Number: 3}
	d, e := replica.Member{Number: 4, Address: "d:1"}, replica.Member{Number: 5, Address: "e:1"}
	own := replica.Status{Member: 3, Applied: 10, Members: []replica.Member{a, b, c}}
	says := func(applied uint64, members ...replica.Member) Asked {
		return Asked{Status: replica.Status{Applied: applied, Members: members}}
	}
	broken := says(20, a, b, c, d)
	broken.Err = errors.New("no answer")
	for what, one := range map[string]struct {
		answers []Asked
		want    string
	}{
		"nobody":                  {nil, "[]"},
		"no answer":               {[]Asked{broken}, "[]"},
		"the same members":        {[]Asked{says(11, a, b, c)}, "[]"},
		"what is not newer":       {[]Asked{says(10, a, b, c, d)}, "[]"},
		"one without this member": {[]Asked{says(11, a, b, d)}, "[{4 d:1 false}]"},
		"a new one":               {[]Asked{says(11, a, c, d)}, "[{4 d:1 false}]"},
		"the newest of the answers": {[]Asked{says(12, a, c, d, e), says(11, a, c, d)},
			"[{4 d:1 false} {5 e:1 false}]"},
		"one that was removed again": {[]Asked{says(11, a, c, d), says(12, a, b, c)}, "[]"},
	} {
		if got := fmt.Sprint(guestsOf(own, statuses(one.answers))); got != one.want {
			t.Errorf("%s: %s, want %s", what, got, one.want)
		}
	}
}

// TestGuestsAreServed has a member take another one for a member, until it is known to be one.
func TestGuestsAreServed(t *testing.T) {
	f := newFixture(t, false)
	box := &inbox{got: make(chan *raftpb.Message, 100)}
	f.networks[0].SetMembers(f.members[:2])
	f.networks[0].Serve(box)
	f.networks[0].SetGuests(f.members[2:])
	f.until(box, func() { f.networks[2].Send(message(3, 1, nil)) })
	before := f.networks[0].peer(3)
	f.networks[0].SetMembers(f.members)
	f.networks[0].SetGuests(nil)
	if before == nil || f.networks[0].peer(3) != before {
		t.Error("the connection to a guest that is a member now was made anew")
	}
	f.networks[0].SetMembers(f.members[:2])
	if f.networks[0].peer(3) != nil {
		t.Error("neither member nor guest, and there is a peer")
	}
}
