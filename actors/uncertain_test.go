package actors

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"pws/blobs"
	"pws/index/feed"
	"pws/snapshot"
)

// TestUncertainStoresStopTheServer has stores fail so that only a start shows what is on the disk.
// Without one, no snapshot would succeed any more, and the log would never be cut.
func TestUncertainStoresStopTheServer(t *testing.T) {
	for _, one := range []struct {
		err   error
		stops bool
	}{
		{blobs.ErrUncertain, true}, {snapshot.ErrUncertain, true}, {feed.ErrUncertain, true},
		{errors.New("the disk is away"), false},
	} {
		failures := make(chan error, 1)
		config := quiet(filepath.Join(t.TempDir(), "data"))
		config.OnFailure = func(err error) { failures <- err }
		e := start(t, config)
		e.saver.hook = func(string) error { return fmt.Errorf("a step: %w", one.err) }
		if err := e.Save(); !errors.Is(err, one.err) {
			t.Errorf("%v: the save ends with %v", one.err, err)
		}
		if len(failures) > 0 != one.stops {
			t.Errorf("%v: the server stops: %v", one.err, len(failures) > 0)
		}
	}
}

// TestUncertainFeedStopsTheServer has the feed fail between two snapshots.
func TestUncertainFeedStopsTheServer(t *testing.T) {
	failures := make(chan error, 1)
	config := quiet(filepath.Join(t.TempDir(), "data"))
	config.OnFailure = func(err error) { failures <- err }
	f := newFollower(start(t, config))
	wake := make(chan struct{}, 1)
	wake <- struct{}{}
	f.always(wake, "cannot follow", func() error { close(f.stop); return feed.ErrUncertain })
	if len(failures) == 0 {
		t.Error("the server does not stop")
	}
}
