package search

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
)

// Scorch writes all that was indexed since its last round as one segment. Each round costs a file,
// syncs, and merges of its segment with others later, so rounds keep a distance.
const (
	// roundDistance is the time between two rounds, unless much is to be written or somebody waits.
	roundDistance = 4 * time.Second
	// unsavedMax is the size of the texts that may wait for a round, because they are in memory.
	unsavedMax = 4 << 20
)

// rounds holds up the goroutine of scorch that writes segments, between its rounds.
type rounds struct {
	// unsaved is the size of the texts that were indexed since the last round ended.
	unsaved atomic.Int64
	// wake ends a pause, or the next one if there is none.
	wake chan struct{}
	// closing ends all pauses.
	closing   chan struct{}
	closeOnce sync.Once
}

func newRounds() *rounds {
	return &rounds{wake: make(chan struct{}, 1), closing: make(chan struct{})}
}

// add counts texts AFTER they were indexed. waited says that somebody waits for them to be durable.
func (r *rounds) add(size int, waited bool) {
	if r.unsaved.Add(int64(size)) <= unsavedMax && !waited {
		return
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// pause returns when the next round may begin, at the latest when passed receives.
func (r *rounds) pause(passed <-chan time.Time) {
	r.unsaved.Store(0)
	select {
	case <-passed:
	case <-r.wake:
	case <-r.closing:
	}
}

func (r *rounds) close() { r.closeOnce.Do(func() { close(r.closing) }) }

// roundEvents is the name under which the callback for rounds is registered with scorch.
const roundEvents = "pws search rounds"

// roundsOf maps an open store to its rounds, for that callback.
var roundsOf sync.Map

func init() {
	scorch.RegistryEventCallbacks[roundEvents] = func(event scorch.Event) bool {
		found, _ := roundsOf.Load(event.Scorch)
		r, ok := found.(*rounds)
		switch {
		case !ok:
		case event.Kind == scorch.EventKindPersisterProgress:
			timer := time.NewTimer(roundDistance)
			defer timer.Stop()
			r.pause(timer.C)
		case event.Kind == scorch.EventKindCloseStart:
			r.close()
		}
		// Whatever scorch asks, it goes on.
		return true
	}
}
