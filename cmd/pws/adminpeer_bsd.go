//go:build darwin || freebsd

package main

import (
	"net"

	"golang.org/x/sys/unix"
)

// solLocal is the level of the options of local sockets.
const solLocal = 0

// checkPeer refuses a connection of another user.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Xucred
	var asked error
	if err := raw.Control(func(fd uintptr) {
		peer, asked = unix.GetsockoptXucred(int(fd), solLocal, unix.LOCAL_PEERCRED)
	}); err != nil {
		return err
	}
	if asked != nil {
		return asked
	}
	return peerAllowed(int(peer.Uid))
}
