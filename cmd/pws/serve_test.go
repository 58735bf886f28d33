package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"pws/internal/disk"
	"pws/journal"
)

// TestUnreadAnswersAreNoFailure: a client that does not read does not make a stop a failure.
func TestUnreadAnswersAreNoFailure(t *testing.T) {
	c := &ServeCommand{LogLevel: "error"}
	if err := c.stopped(fmt.Errorf("http: %w", context.DeadlineExceeded)); err != nil {
		t.Error(err)
	}
	if err := c.stopped(disk.ErrNoRoom); err != disk.ErrNoRoom {
		t.Error(err)
	}
	if err := c.stopped(nil); err != nil {
		t.Error(err)
	}
}

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
