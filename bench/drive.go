package bench

import (
	"context"
	"errors"
	"sync"
	"time"
)

// worker is one client that does one operation after the other. It is used by one goroutine.
type worker interface {
	// step does one operation. The outcome is empty for success and names the refusal otherwise;
	// an error ends the worker, because its connection is of no more use.
	step() (outcome string, err error)
	// deadline bounds everything that is still to happen.
	deadline(at time.Time) error
	close()
}

// errFinished is how a worker says that it has nothing left to do.
var errFinished = errors.New("finished")

// load says how long and how hard workers are driven.
type load struct {
	// warmup is driven and not counted.
	warmup   time.Duration
	duration time.Duration
	// perSecond spreads that many steps a second over all workers; zero sends the next request as
	// soon as the last one is answered.
	perSecond float64
}

// graceTime is what a request in flight at the end of a run gets.
const graceTime = 20 * time.Second

// drive runs all workers at once, closes none of them, and returns what was measured.
func drive(ctx context.Context, workers []worker, l load) (*Sample, error) {
	begin := time.Now()
	counted := begin.Add(l.warmup)
	end := counted.Add(l.duration)
	stop := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		close(stop)
		for _, one := range workers {
			// The past as a deadline wakes a worker that waits for an answer.
			_ = one.deadline(begin)
		}
	})
	defer release()
	samples := make([]*Sample, len(workers))
	var group sync.WaitGroup
	for at, one := range workers {
		if err := one.deadline(end.Add(graceTime)); err != nil {
			return nil, err
		}
		samples[at] = newSample()
		group.Go(func() {
			d := driver{worker: one, sample: samples[at], stop: stop, counted: counted,
				end: end}
			if l.perSecond > 0 {
				every := time.Duration(float64(len(workers)) / l.perSecond * float64(time.Second))
				offset := every * time.Duration(at) / time.Duration(len(workers))
				d.paced(begin.Add(offset), every)
				return
			}
			d.closedLoop()
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	total := newSample()
	for _, one := range samples {
		total.merge(one)
	}
	total.Seconds = time.Since(counted).Seconds()
	return total, nil
}

type driver struct {
	worker  worker
	sample  *Sample
	stop    <-chan struct{}
	counted time.Time
	end     time.Time
}

// once does one step that was due at the given time and reports whether to go on.
func (d *driver) once(due time.Time) (done time.Time, more bool) {
	outcome, err := d.worker.step()
	done = time.Now()
	if errors.Is(err, errFinished) {
		return done, false
	}
	if err != nil {
		d.sample.fail("CONNECTION " + err.Error())
		return done, false
	}
	if outcome != "" {
		d.sample.fail(outcome)
	} else if !due.Before(d.counted) {
		d.sample.add(done.Sub(due))
	}
	return done, done.Before(d.end)
}

func (d *driver) stopped() bool {
	select {
	case <-d.stop:
		return true
	default:
		return false
	}
}

func (d *driver) closedLoop() {
	due, more := time.Now(), true
	for more && !d.stopped() {
		due, more = d.once(due)
	}
}

// paced sends at fixed times. A request that had to wait for the one before counts from when it was
// due, so that a stall shows in every request that it held up.
func (d *driver) paced(due time.Time, every time.Duration) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for more := true; more; due = due.Add(every) {
		from := due
		if wait := time.Until(due); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
				// How late the timer fires is no matter of the server.
				from = time.Now()
			case <-d.stop:
				return
			}
		}
		_, more = d.once(from)
		more = more && !d.stopped()
	}
}
