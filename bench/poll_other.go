//go:build !linux

package bench

import (
	"context"
	"errors"
	"net/netip"
)

// errLinuxOnly is returned on other systems: the driver waits for its sockets with epoll, which
// leaves the processors to the server that it measures.
var errLinuxOnly = errors.New("the load driver runs on Linux only")

// connections need Linux.
type connections []exchange

func dialAll(string, []exchange) (connections, error) { return nil, errLinuxOnly }

func dialAllFrom(string, []exchange, []netip.Addr) (connections, error) {
	return nil, errLinuxOnly
}

func (c connections) close() {}

func (c connections) drive(context.Context, load) (*Sample, error) { return nil, errLinuxOnly }
