package actors

import (
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"pws/index"
	"pws/internal/id"
	"pws/work"
)

// published is a state with the position of the log entry that made it.
type published struct {
	project  *work.Project
	position uint64
	// cardAt is the position of the newest entry that may have changed what the indexes keep of the
	// project, 0 where none has since it was loaded.
	cardAt uint64
}

// handle is what the service keeps of a project that exists or is being made: a few words while it
// is passive, its newest published state and an actor while it is in use.
type handle struct {
	id id.ID
	// view is the newest durable state; nil while the project is passive or does not exist yet.
	view atomic.Pointer[published]
	// touched is when somebody last used the view, in Unix milliseconds.
	touched atomic.Int64
	// memory is what the state of the actor, or else the view, counts in the memory of projects.
	memory atomic.Int64
	// creator is who created the project, nil until it was loaded or written since the start.
	creator atomic.Pointer[id.ID]

	// deciding is held while the next state is made, by the actor or by Follow. States share memory:
	// a newer one is written behind what the one before can see, so that each has one successor. An
	// actor that has not noticed the end of its reign would make another. It is locked BEFORE mu.
	deciding sync.Mutex

	mu struct {
		sync.Mutex
		// pid is nil while no actor runs.
		pid *actor.PID
		// tail is nil where nothing waits to be applied.
		tail *logTail
		// lastMemory is what the project took when it left memory, 0 if it was not loaded before.
		lastMemory int64
		// inFlight counts the orders that the actor has not answered.
		inFlight int32
		// stale are the indexes that know the project only once it is loaded.
		stale index.Set
		// dead says that the handle has left the registry and must not be used any more.
		dead bool
		// broken says that the project takes no orders; Engine.broken has the reason.
		broken bool
	}
	// dirty says that the handle waits for the next snapshot.
	dirty atomic.Bool
	// stored says that a snapshot holds the project.
	// savedRevision is the revision that was saved last since the start, 0 before: a chunk that
	// changed since the project was loaded is above it until it is saved. They belong to the
	// snapshotter, and stored is read by others AFTER it was set.
	stored        atomic.Bool
	savedRevision uint64
}

// logTail holds the entries behind the saved sections of a project, from a start to the first load,
// or of a damaged project. There may be none.
type logTail struct {
	entries []waitingEntry
	// fault is why entries could not be applied that this server has followed. The project is damaged
	// until the next start: the indexes know it as it was BEFORE these entries.
	fault error
	// cardLost says that the saved card of the project was damaged at the start.
	cardLost bool
}

// waiting returns the entries that wait to be applied. The handle's lock is held.
func (h *handle) waiting() []waitingEntry {
	if h.mu.tail == nil {
		return nil
	}
	return h.mu.tail.entries
}
