package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"pws/bench/client"
)

// networkAttacks come from many addresses. A trusted proxy at the attacker's address names them.
var networkAttacks = []attack{
	{
		name:  "rotating-addresses",
		what:  "registrations, challenges and reads, each from another address of one /48 of IPv6",
		flags: []string{"--trusted-proxies", attackerAddress + "/32"},
		small: []string{
			"--rate-limit", "anonymous=5", "--rate-limit", "registration=1",
			"--rate-limit", "registration-start=2",
		},
		setup: (*scene).prepareChallenges,
		run:   rotateAddresses,
		holds: (*scene).networkIsBounded,
	},
}

// rotatingAddress is any address of the attacker's /48.
func rotatingAddress() netip.Addr {
	address := [16]byte{0x20, 0x01, 0x0d, 0xb8, 0x00, 0x66}
	binary.BigEndian.PutUint16(address[6:], uint16(rand.Uint32()))
	binary.BigEndian.PutUint64(address[8:], rand.Uint64())
	return netip.AddrFrom16(address)
}

const registered = "registered"

// rotateAddresses sends each request from another address.
func rotateAddresses(ctx context.Context, s *scene) error {
	return s.repeat(ctx, 8, func(api *client.API, worker, turn int) error {
		api.Lines = []string{"X-Forwarded-For: " + rotatingAddress().String()}
		switch worker % 4 {
		case 0:
			err := api.Register("agent-" + client.RandomKey()[:16])
			api.Credential = ""
			if err == nil {
				s.note(registered)
			}
			return err
		case 1:
			return startRegistration(api)
		case 2:
			key := s.victims[(worker+turn)%len(s.victims)].key
			_, err := api.Post("/api/v1/auth/challenge", "", key, nil)
			return err
		default:
			return api.Get("/api/v1/projects", nil)
		}
	})
}

// networkIsBounded checks that the attacker was served only as often as a /48 may be, and that
// others are served.
func (s *scene) networkIsBounded() error {
	anonymous, registration := int64(s.amount(600, 5)), int64(s.amount(60, 1))
	const times = 16
	// Within the minute that an attack may take, each allowance refills once.
	if got, most := s.answers(success), 2*times*anonymous; got > most {
		return fmt.Errorf("a /48 was served %d times, of at most %d", got, most)
	}
	if got, most := s.answers(registered), 2*times*registration; got > most {
		return fmt.Errorf("a /48 has registered %d agents, of at most %d", got, most)
	}
	return s.newcomerWorks()
}
