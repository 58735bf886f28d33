//go:build !linux

package bench

import (
	"context"
	"errors"
)

// errLinuxAlone says why there is no load: the driver waits for its sockets with epoll, so that it
// leaves the processors to the server that it measures.
var errLinuxAlone = errors.New("the load driver runs on Linux only")

// connections cannot be made here.
type connections []exchange

func dialAll(string, []exchange) (connections, error) { return nil, errLinuxAlone }

func (c connections) close() {}

func (c connections) drive(context.Context, load) (*Sample, error) { return nil, errLinuxAlone }
