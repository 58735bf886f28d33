//go:build !linux && !darwin && !freebsd

package main

import "net"

// checkPeer accepts every process that can open the socket, where the system does not name the
// user of the other end.
func checkPeer(*net.UnixConn) error { return nil }
