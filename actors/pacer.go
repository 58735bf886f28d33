package actors

import "time"

const (
	// yieldAfter is how long a snapshot works BEFORE it leaves the processor to others.
	yieldAfter = time.Millisecond
	// yieldTimes is how many times as long it then waits: while a snapshot is written, requests
	// have all of the processors but a quarter of one.
	yieldTimes = 3
	// yieldMax bounds a pause AFTER a step that took long, because the machine was busy.
	yieldMax = 20 * time.Millisecond
)

// pacer makes pauses in a long work that nobody waits for. One goroutine at a time uses it.
type pacer struct {
	// on says that there is time.
	on bool
	// since is when the work went on.
	since time.Time
	// pause waits, or returns at once where the work has become urgent.
	pause func(time.Duration)
	now   func() time.Time
}

// begin starts a work in which there is time for pauses.
func (p *pacer) begin() {
	p.on, p.since = true, p.now()
}

func (p *pacer) end() { p.on = false }

// step is called between the small steps of the work.
func (p *pacer) step() {
	if !p.on {
		return
	}
	worked := p.now().Sub(p.since)
	if worked < yieldAfter {
		return
	}
	p.pause(min(yieldTimes*worked, yieldMax))
	p.since = p.now()
}
