// Package localhost says which hosts are this machine.
package localhost

import (
	"net"
	"net/netip"
	"strings"
)

// Host reports whether a host, with or without a port, is this machine: a loopback address, or the
// name localhost, in any case and with or without the final dot. Names below localhost do not
// count, because not every resolver keeps them on this machine.
func Host(host string) bool {
	host = WithoutPort(host)
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback() ||
		strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}

// WithoutPort is a host without its port, and without the brackets of an IPv6 address.
func WithoutPort(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	if inner, cut := strings.CutPrefix(host, "["); cut {
		if inner, cut := strings.CutSuffix(inner, "]"); cut {
			return inner
		}
	}
	return host
}
