package http

import "syscall"

// tcpNotSentLowat is TCP_NOTSENT_LOWAT, which package syscall does not name.
const tcpNotSentLowat = 25

// limitUnsent bounds what the kernel takes of an answer BEFORE it sends it, in bytes. It does not
// bound what is on the way, so it does not slow down a client that reads.
func limitUnsent(fd uintptr, bytes int) {
	_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowat, bytes)
}
