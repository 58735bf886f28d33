package bridge

import (
	"context"
	"io"
)

// output writes lines for the host. A host that does not read keeps run waiting, and those that
// write only until the end of the bridge.
type output struct {
	to    io.Writer
	lines chan []byte
	// ended is closed when lines are no longer taken, and written AFTER the last one.
	ended   <-chan struct{}
	written chan struct{}
}

func newOutput(to io.Writer, work context.Context) output {
	return output{
		to: to, lines: make(chan []byte), ended: work.Done(), written: make(chan struct{}),
	}
}

// run writes lines until end is called. A failed write ends the bridge.
func (o *output) run(fail context.CancelCauseFunc) {
	defer close(o.written)
	for line := range o.lines {
		if _, err := o.to.Write(line); err != nil {
			fail(err)
			return
		}
	}
}

// end waits for the last line. Nothing is written AFTER it is called.
func (o *output) end() {
	close(o.lines)
	<-o.written
}

// write writes one message as a line.
func (b *Bridge) write(message []byte) {
	if len(message) == 0 {
		return
	}
	select {
	case b.out.lines <- append(oneLine(message), '\n'):
	case <-b.out.ended:
	}
}
