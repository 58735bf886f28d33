package main

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"pws/internal/disk"
	"pws/journal"
)

// TestAwaitingLocks starts a server again whose data another process still has, and not one that
// has failed for another reason.
func TestAwaitingLocks(t *testing.T) {
	other := errors.New("the disk has failed")
	for _, one := range []struct {
		answers []error
		want    error
	}{
		{[]error{nil}, nil},
		{[]error{fmt.Errorf("data: %w", journal.ErrLocked), disk.ErrLocked, nil}, nil},
		{[]error{disk.ErrLocked, other}, other},
	} {
		tries := 0
		err := awaitingLocks(slog.New(slog.DiscardHandler), func() error {
			tries++
			return one.answers[tries-1]
		})
		if err != one.want || tries != len(one.answers) {
			t.Errorf("%v: %d tries, %v", one.answers, tries, err)
		}
	}
}
