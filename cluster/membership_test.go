package cluster

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"pws/journal/replica"
)

func pair(first, second string) []replica.Member {
	return []replica.Member{{Number: 1, Address: first}, {Number: 2, Address: second}}
}

// TestOtherAddressesAreLogged compares the settings of a member with the log of the group.
func TestOtherAddressesAreLogged(t *testing.T) {
	f := newFixture(t, false)
	var log bytes.Buffer
	m := &Membership{network: f.networks[0], settings: Settings{
		Number: 1, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Members: pair("127.0.0.1:1", "127.0.0.1:2"),
	}}
	for _, one := range []struct{ first, second, want string }{
		{"127.0.0.1:1", "127.0.0.1:2", ""},
		{"127.0.0.1:1", "127.0.0.1:3", "level=WARN"},
		{"127.0.0.1:4", "127.0.0.1:2", "level=ERROR"},
	} {
		log.Reset()
		m.setMembers(pair(one.first, one.second))
		if said := log.String(); (one.want == "") != (said == "") || !strings.Contains(said, one.want) {
			t.Errorf("%v: %q", one, said)
		}
	}
}
