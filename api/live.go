package api

import "time"

// Later is data that is not there yet. The transport waits for it, in real time, and looks again
// whenever Ready says that it may be there.
type Later struct {
	Ready <-chan struct{}
	// Wait is how long the caller waits at most.
	Wait time.Duration
	// Look makes the answer; there is false while there is none. The last look, at the end of the
	// time or of the service, always has one. It is called while the call lasts.
	Look func(last bool) (reply Reply, there bool, err error)
	// Stop is called once, AFTER the last look.
	Stop func()
}

// Live is an answer that goes on as more comes, until its reader goes away: Server-Sent Events. It
// is sent AFTER the call is over, so that it keeps a detached one.
type Live struct {
	Ready <-chan struct{}
	// Look appends what has come since the look before, at most some LiveChunk bytes; nothing where
	// nothing has. An error ends the stream.
	Look func(to []byte) ([]byte, error)
	// Check is asked now and then while nothing comes. An error ends the stream.
	Check func() error
	// Stop is called once, AFTER the last look.
	Stop func()
}

// LiveChunk is about what one look of a Live may append, in bytes.
const LiveChunk = 32 << 10
