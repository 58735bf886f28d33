package bench

import (
	"context"
	"errors"
	"sync"
	"time"
)

// load is the duration and the rate of a run.
type load struct {
	// warmup is driven but not counted.
	warmup   time.Duration
	duration time.Duration
	// perSecond is the request rate of all clients together; zero sends the next request as soon as
	// the last one is answered.
	perSecond float64
}

// graceTime is how long a run waits for responses AFTER its end.
const graceTime = 20 * time.Second

// fleet is a set of clients that are driven concurrently, once for each run.
type fleet interface {
	drive(ctx context.Context, l load) (*Sample, error)
	close()
}

// connect connects the clients of a fleet.
type connect func() (fleet, error)

// errFinished means that a client has no request left.
var errFinished = errors.New("finished")

// span is the time of one run.
type span struct {
	begin   time.Time
	counted time.Time
	end     time.Time
}

func (l load) span() span {
	begin := time.Now()
	counted := begin.Add(l.warmup)
	return span{begin: begin, counted: counted, end: counted.Add(l.duration)}
}

// total merges the samples of the clients in a run that ends now.
func (s span) total(samples []*Sample) *Sample {
	total := newSample()
	for _, one := range samples {
		total.merge(one)
	}
	total.Seconds = time.Since(s.counted).Seconds()
	return total
}

// outcomeUncounted is the outcome of a response that is neither a success nor an error.
const outcomeUncounted = "-"

// record counts one response to a request that was due at the given time.
func (s span) record(sample *Sample, due, done time.Time, outcome string) {
	switch {
	case outcome == outcomeUncounted:
	case outcome != "":
		sample.fail(outcome)
	case due.Before(s.counted):
		sample.Warmed++
	default:
		sample.add(done.Sub(due))
	}
}

// caller is a client inside this process. A call returns when the operation is done.
type caller interface {
	call() error
}

// callers drives each caller in its own goroutine.
type callers []caller

func (c callers) close() {}

func (c callers) drive(ctx context.Context, l load) (*Sample, error) {
	if l.perSecond > 0 {
		panic("bench: calls inside the process are not paced")
	}
	run := l.span()
	samples := make([]*Sample, len(c))
	var group sync.WaitGroup
	for i, one := range c {
		sample := newSample()
		samples[i] = sample
		group.Go(func() {
			for due := run.begin; due.Before(run.end) && ctx.Err() == nil; {
				err := one.call()
				if errors.Is(err, errFinished) {
					return
				}
				done := time.Now()
				if err != nil {
					sample.fail(err.Error())
					return
				}
				run.record(sample, due, done, "")
				due = done
			}
		})
	}
	group.Wait()
	return run.total(samples), ctx.Err()
}
