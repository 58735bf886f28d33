package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Member is a server of a group.
type Member struct {
	// Number is not 0, and is never used for another server.
	Number  uint64
	Address string
}

// ParseMembers reads a list as "1=host:port;2=host:port;3=host:port".
func ParseMembers(text string) ([]Member, error) {
	var all []Member
	for part := range strings.SplitSeq(text, ";") {
		number, address, ok := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.ParseUint(number, 10, 63)
		if !ok || err != nil || n == 0 {
			return nil, fmt.Errorf("%q is not NUMBER=HOST:PORT", part)
		}
		host, port, err := net.SplitHostPort(address)
		if at, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || at == 0 || host == "" {
			return nil, fmt.Errorf("%q is not HOST:PORT", address)
		}
		for _, other := range all {
			if other.Number == n || other.Address == address {
				return nil, fmt.Errorf("%q is named twice", part)
			}
		}
		all = append(all, Member{n, address})
	}
	if len(all) != 3 && len(all) != 5 {
		return nil, errors.New("a group has 3 or 5 members")
	}
	slices.SortFunc(all, func(a, b Member) int { return int(a.Number) - int(b.Number) })
	return all, nil
}

// Numbers are those of members.
func Numbers(members []Member) []uint64 {
	var all []uint64
	for _, m := range members {
		all = append(all, m.Number)
	}
	return all
}

// onLoopback reports whether an address is on this machine.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
