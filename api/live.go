package api

import "time"

// Deferred is a reply that is not available yet. The transport waits in real time, and calls Look
// whenever Ready is signaled.
type Deferred struct {
	// Ready is called each time BEFORE the transport waits for its channel.
	Ready func() <-chan struct{}
	// Wait is the maximum time to wait.
	Wait time.Duration
	// Look makes the reply; there is false if it is not available yet. The last look, at the end
	// of the time or of the service, always makes one. It is called before the call ends, maybe long
	// AFTER Run, so it checks itself that what it has read is the newest.
	Look func(last bool) (reply Reply, there bool, err error)
	// Stop is called once, AFTER the last look.
	Stop func()
}

// EventStream is a stream of Server-Sent Events, which continues until its reader disconnects.
// It is sent AFTER the call ends, so it uses a detached call.
type EventStream struct {
	// Ready is called each time BEFORE the transport waits for its channel. From the signal to the
	// next call of Look or Beat the stream may keep others waiting, so the transport writes nothing
	// in between.
	Ready func() <-chan struct{}
	// Look appends the events since the previous look, about EventStreamChunkBytes at
	// most; nothing if there are none. An error ends the stream.
	Look func(to []byte) ([]byte, error)
	// Beat is Look AFTER a long silence. Where there are no events it appends a comment with the
	// place in the stream, so that a reader that reconnects continues from there.
	Beat func(to []byte) ([]byte, error)
	// Stop is called once, AFTER the last look.
	Stop func()
}

// EventStreamChunkBytes is the approximate maximum that one look of an EventStream appends, in
// bytes.
const EventStreamChunkBytes = 32 << 10
