package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// The ports of scripts are below those that systems give to connections: on Linux these begin at
// 32768, elsewhere later.
const (
	scriptPortFirst = 20000
	scriptPorts     = 12000
)

// scriptPort is the port that is tried next, BEFORE the first.
var scriptPort = struct {
	sync.Mutex
	next int
}{next: rand.IntN(scriptPorts)}

// reserveAddress is an address of this machine that nobody uses, for a program that is started
// later. No other script gets it until release is called, in this process or another one: they
// reserve a port of TCP by listening on that of UDP, which the end of a process releases, too.
func reserveAddress() (address string, release func(), err error) {
	scriptPort.Lock()
	defer scriptPort.Unlock()
	for range scriptPorts {
		address = fmt.Sprintf("127.0.0.1:%d", scriptPortFirst+scriptPort.next)
		scriptPort.next = (scriptPort.next + 1) % scriptPorts
		held, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		release = func() { _ = held.Close() }
		ln, err := net.Listen("tcp", address)
		if err == nil {
			return address, release, ln.Close()
		}
		release()
	}
	return "", nil, errors.New("all ports of scripts are in use")
}

// reserveAddress is one for as long as the script runs.
func (s *script) reserveAddress() (string, error) {
	address, release, err := reserveAddress()
	if err == nil {
		s.reserved = append(s.reserved, release)
	}
	return address, err
}

// TestAddressesAreReserved has another process try the same ports.
func TestAddressesAreReserved(t *testing.T) {
	address, release, err := reserveAddress()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(address)
	var same int
	if _, err := fmt.Sscan(port, &same); err != nil {
		t.Fatal(err)
	}
	scriptPort.Lock()
	scriptPort.next = same - scriptPortFirst
	scriptPort.Unlock()
	other, releaseOther, err := reserveAddress()
	if err != nil || other == address {
		t.Errorf("reserved twice: %s, %v", other, err)
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("the address is reserved, and in use: %v", err)
	}
	release()
	releaseOther()
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
}
