package work

import (
	"errors"
	"fmt"
	"slices"

	"pws/internal/id"
)

// Watcher is an agent that follows the activity of a project.
type Watcher struct {
	Agent id.ID `cbor:"1,keyasint"`
	// Since is Unix milliseconds.
	Since int64 `cbor:"2,keyasint"`
}

// watchers holds the watchers of a project in the order of their IDs. They are saved in one
// chunk.
type watchers struct {
	all treeSet[Watcher]
	// changed is the revision of the project that last changed the list.
	changed uint64
}

var byWatcher = inOrder(func(a, b Watcher) bool { return a.Agent.Compare(b.Agent) < 0 })

func (w *watchers) get(agent id.ID) (found Watcher, ok bool) {
	if w.all.tree == nil {
		return found, false
	}
	return w.all.tree.Get(Watcher{Agent: agent})
}

// chunks returns 1 once there has been a watcher, even if all have left.
func (w *watchers) chunks() int {
	if w.all.tree == nil {
		return 0
	}
	return 1
}

// count returns the number of watchers, nil if there never was one.
func (w *watchers) count() *int {
	if w.all.tree == nil {
		return nil
	}
	count := w.all.len()
	return &count
}

func (w *watchers) changedAt(int) uint64 { return w.changed }

func (w *watchers) encode(int) ([]byte, error) {
	list := make([]Watcher, 0, w.all.len())
	w.all.scan(func(one Watcher) bool { list = append(list, one); return true })
	return encoding.Marshal(list)
}

// DecodeWatchers reads the chunk of a project's watchers, in the order of their IDs.
func DecodeWatchers(chunk []byte) (list []Watcher, err error) {
	if err := decoding.Unmarshal(chunk, &list); err != nil {
		return nil, err
	}
	for i := 1; i < len(list); i++ {
		if !byWatcher.Less(list[i-1], list[i]) {
			return nil, errors.New("a watcher in another's place")
		}
	}
	return list, nil
}

// restoreWatchers reads the watchers. The list is empty if all watchers have left.
func (p *Project) restoreWatchers(head *headRecord, chunk func(Chunk) ([]byte, error)) error {
	if head.Watchers == nil {
		return nil
	}
	data, err := chunk(Chunk{WatcherChunk, 0})
	if err != nil {
		return fmt.Errorf("chunk %c 0: %w", WatcherChunk, err)
	}
	list, err := DecodeWatchers(data)
	if err == nil && len(list) != *head.Watchers {
		err = fmt.Errorf("%d watchers; the head has %d", len(list), *head.Watchers)
	}
	if err != nil {
		return fmt.Errorf("chunk %c 0: %w", WatcherChunk, err)
	}
	p.watchers.all.own(byWatcher)
	for _, one := range list {
		p.watchers.all.set(one, byWatcher)
	}
	return nil
}

// Watch returns since when an agent watches the project, in Unix milliseconds, if it does. It
// does not work on a summary.
func (p *Project) Watch(agent id.ID) (since int64, watching bool) {
	found, watching := p.watchers.get(agent)
	return found.Since, watching
}

// Watchers yields all watchers of the project, in the order of their IDs.
func (p *Project) Watchers(yield func(Watcher) bool) { p.watchers.all.scan(yield) }

// WatchersCount returns the number of watchers.
func (p *Project) WatchersCount() int {
	if p.summary != nil {
		return p.summary.Watchers
	}
	return p.watchers.all.len()
}

// Partial reports whether the state is a summary: RestoreSummary has read only the data for
// listings.
func (p *Project) Partial() bool { return p.summary != nil }

// countsAsWork reports whether an event counts as work in a project. Other events neither open nor
// extend a work session, and do not change when the project was updated.
func countsAsWork(event Event) bool {
	switch event := event.(type) {
	case *ProjectWatched, *ProjectUnwatched, *TurnAwaited, *TaskTextsForgotten:
		return false
	case *WorkspaceEnded:
		return !event.Expired
	}
	return true
}

// WorkKinds returns the kinds of events that may count as work.
func WorkKinds() (counted []Kind) {
	for kind, event := range kinds {
		if countsAsWork(event()) {
			counted = append(counted, kind)
		}
	}
	slices.Sort(counted)
	return counted
}

// WatchProject makes the caller a watcher of a project.
type WatchProject struct{}

// Authorize accepts every agent that may see the project.
func (c *WatchProject) Authorize(p *Project, agent id.ID) error {
	return MayWatch.Require(p, agent)
}

// Decide returns QUOTA_EXCEEDED. An archived project can be watched, because it may become
// active again.
func (c *WatchProject) Decide(p *Project, stamp Stamp) (Decision, error) {
	result := Result{Subject: stamp.Agent}
	if _, watching := p.Watch(stamp.Agent); watching {
		return Decision{Result: result}, nil
	}
	if p.watchers.all.len() >= WatchersMax {
		return Decision{}, errQuota("watchers", WatchersMax)
	}
	return Decision{Events: []Event{&ProjectWatched{Agent: stamp.Agent}}, Result: result}, nil
}

// UnwatchProject ends the caller's watch of a project.
type UnwatchProject struct{}

// Authorize accepts every agent that may see the project, and every watcher, because watches
// count against a limit and must be removable after the project became invisible.
func (c *UnwatchProject) Authorize(p *Project, agent id.ID) error {
	if _, watching := p.Watch(agent); watching {
		return nil
	}
	return MayWatch.Require(p, agent)
}

// Decide returns no error.
func (c *UnwatchProject) Decide(p *Project, stamp Stamp) (Decision, error) {
	result := Result{Subject: stamp.Agent}
	if _, watching := p.Watch(stamp.Agent); !watching {
		return Decision{Result: result}, nil
	}
	return Decision{Events: []Event{&ProjectUnwatched{Agent: stamp.Agent}}, Result: result}, nil
}

// ProjectWatched is the event of an agent that starts to watch.
type ProjectWatched struct {
	Agent id.ID `cbor:"1,keyasint"`
}

func (e *ProjectWatched) apply(p *Project, at Moment) {
	p.watchers.all.set(Watcher{Agent: e.Agent, Since: at.Now}, byWatcher)
	p.watchers.changed = p.Revision + 1
}

// ProjectUnwatched is the event of an agent that stops watching.
type ProjectUnwatched struct {
	Agent id.ID `cbor:"1,keyasint"`
}

func (e *ProjectUnwatched) apply(p *Project, _ Moment) {
	p.watchers.all.remove(Watcher{Agent: e.Agent}, byWatcher)
	p.watchers.changed = p.Revision + 1
}
