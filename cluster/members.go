package cluster

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"pws/journal/replica"
)

// ParseMembers reads a list of voters as "1=host:port;2=host:port;3=host:port", sorted by number.
func ParseMembers(text string) ([]replica.Member, error) {
	var all []replica.Member
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
		all = append(all, replica.Member{Number: n, Address: address, Voter: true})
	}
	slices.SortFunc(all, func(a, b replica.Member) int { return cmp.Compare(a.Number, b.Number) })
	return all, nil
}
