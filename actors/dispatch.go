package actors

import "sync"

// mailboxRun is how many messages an actor takes before it lets others run.
const mailboxRun = 128

// dispatcher runs mailboxes on goroutines that stay: their stacks have grown to what the rules
// need, which a fresh goroutine for each message would have to do again and again. It implements
// actor.Dispatcher.
type dispatcher struct {
	work    chan func()
	workers sync.WaitGroup
}

func newDispatcher(workers int) *dispatcher {
	d := &dispatcher{work: make(chan func(), workers)}
	for range workers {
		d.workers.Go(func() {
			for run := range d.work {
				if run == nil {
					return
				}
				run()
			}
		})
	}
	return d
}

// Schedule runs a mailbox soon; where all workers are busy, on a goroutine of its own.
func (d *dispatcher) Schedule(run func()) {
	select {
	case d.work <- run:
	default:
		go run()
	}
}

// Throughput implements actor.Dispatcher.
func (d *dispatcher) Throughput() int { return mailboxRun }

// stop ends the goroutines AFTER what is queued has run. Whatever is scheduled later may not run.
func (d *dispatcher) stop() {
	for range cap(d.work) {
		d.work <- nil
	}
	d.workers.Wait()
}
