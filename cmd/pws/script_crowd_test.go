package main

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// signins checks how many sessions were opened through the front since the last check.
//
//	signins N
func (s *script) signins(_ *testscript.TestScript, args []string) error {
	if s.front == nil || len(args) != 1 {
		return errors.New("usage, after front: signins N")
	}
	s.front.mu.Lock()
	defer s.front.mu.Unlock()
	got := strconv.Itoa(s.front.mu.signins)
	s.front.mu.signins = 0
	if got != args[0] {
		return mismatchf("%s sessions were opened, not %s", got, args[0])
	}
	return nil
}

// note counts the requests in bytes that a client has sent. A request arrives in one piece, because
// the client writes it in one.
func (f *front) note(sent []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.signins += bytes.Count(sent, []byte("POST /api/v1/auth/session "))
	return false
}
