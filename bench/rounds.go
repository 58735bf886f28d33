package bench

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// subject is a workload that is driven once in every round.
type subject struct {
	name string
	what string
	// skip leaves it out, because it is not wanted or its server is not installed.
	skip bool
	// connect connects the clients, once for all rounds.
	connect connect
	fleet   fleet
	// cpu is the processor time of the server so far, zero if it is unknown.
	cpu func() time.Duration
	// others is that of other servers that take part, nil if there are none.
	others []func() time.Duration
	// perSecond returns the rate of a round; nil means as fast as possible.
	perSecond func(round int) (float64, error)
	// prepare is called in each round BEFORE the measurement starts; it may be nil.
	prepare func(ctx context.Context) error
	// check is called AFTER the measurement of each round, which is not valid if it returns an error.
	// It may be nil.
	check func() error
	// settle waits AFTER the measurement of each round until the server has done what was put off;
	// then the processor time until there is reported as well. It may be nil.
	settle func(ctx context.Context) error
	rounds []*Sample
}

// rate is the rate of one round.
func (s *subject) rate(round int) float64 { return s.rounds[round].PerSecond() }

const (
	// warmupMax bounds the warmup, which is a tenth of the duration.
	warmupMax = 2 * time.Second
	// warmedMin is the shortest duration with a warmup. A shorter run counts from its first
	// request, so that it counts at least one on a slow machine.
	warmedMin = 100 * time.Millisecond
)

// load is one run, as fast as possible.
func (c *Config) load() load {
	l := load{duration: c.Duration}
	if c.Duration >= warmedMin {
		l.warmup = min(c.Duration/10, warmupMax)
	}
	return l
}

// drive connects all subjects, drives them in turn, round by round, and reports the results.
func (r *Report) drive(ctx context.Context, config *Config, subjects ...*subject) error {
	subjects = slices.DeleteFunc(subjects, func(one *subject) bool { return one.skip })
	for _, one := range subjects {
		var err error
		if one.fleet, err = one.connect(); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		defer one.fleet.close()
	}
	var names []string
	for _, one := range subjects {
		names = append(names, one.name)
	}
	r.Order = append(r.Order, names)
	for round := range config.Rounds {
		for _, one := range subjects {
			sample, err := one.drive(ctx, config.load(), round)
			if err != nil {
				return err
			}
			config.say("round %d  %-18s %10.0f/s  p99 %7d µs  unsent %d  errors %v",
				round+1, one.name, sample.PerSecond(), sample.Quantile(99).Microseconds(),
				sample.Unsent, sample.Errors)
		}
	}
	for _, one := range subjects {
		r.add(one)
	}
	return nil
}

// drive is one round of a subject.
func (s *subject) drive(ctx context.Context, l load, round int) (sample *Sample, err error) {
	if s.prepare != nil {
		if err = s.prepare(ctx); err != nil {
			return nil, err
		}
	}
	if s.perSecond != nil {
		if l.perSecond, err = s.perSecond(round); err != nil {
			return nil, err
		}
	}
	before, counted := s.used(), s.usedAfter(l.warmup)
	if sample, err = s.fleet.drive(ctx, l); err != nil {
		return nil, err
	}
	warmed, now := counted(), s.used()
	sample.ServerCPU, sample.OtherCPU = now.server-warmed.server, now.others
	for i := range warmed.others {
		sample.OtherCPU[i] -= warmed.others[i]
	}
	if s.check != nil {
		if err = s.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if s.settle != nil {
		if err = s.settle(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		sample.SettledCPU = s.cpu() - before.server
	}
	s.rounds = append(s.rounds, sample)
	return sample, nil
}

// cpuTimes is the processor time of a server, and of other servers that take part.
type cpuTimes struct {
	server time.Duration
	others []time.Duration
}

// used is the processor time so far.
func (s *subject) used() cpuTimes {
	u := cpuTimes{server: s.cpu(), others: make([]time.Duration, len(s.others))}
	for i, cpu := range s.others {
		u.others[i] = cpu()
	}
	return u
}

// usedAfter reads the processor time when the warm-up that begins now ends, because its requests do
// not count. The function it returns is called AFTER the run; one that has ended in its warm-up has
// used nothing that counts.
func (s *subject) usedAfter(warmup time.Duration) func() cpuTimes {
	if warmup <= 0 {
		u := s.used()
		return func() cpuTimes { return u }
	}
	read := make(chan cpuTimes, 1)
	timer := time.AfterFunc(warmup, func() { read <- s.used() })
	return func() cpuTimes {
		if timer.Stop() {
			return s.used()
		}
		return <-read
	}
}

// add adds the measurement of a subject over all rounds.
func (r *Report) add(s *subject) {
	total := newSample()
	rates := make([]float64, len(s.rounds))
	for round, sample := range s.rounds {
		total.merge(sample)
		total.Seconds += sample.Seconds
		rates[round] = sample.PerSecond()
	}
	m := Measurement{
		Name: s.name, What: s.what, PerSecond: median(rates), Rounds: rates, Count: total.Count,
		Latency: total.latency(), Errors: total.Errors,
		Unsent: total.Unsent,
	}
	m.SettledCPUMicros = total.settledMicros()
	if total.Count > 0 {
		m.ServerCPUMicros = float64(total.ServerCPU.Microseconds()) / float64(total.Count)
		for _, one := range total.OtherCPU {
			m.OtherCPUMicros = append(m.OtherCPUMicros,
				float64(one.Microseconds())/float64(total.Count))
		}
	}
	r.Measurements = append(r.Measurements, m)
}

// compareRates adds the ratio of two subjects of the same rounds, unless one was skipped.
func (r *Report) compareRates(of, against *subject, target float64) {
	if of.skip || against.skip {
		return
	}
	var ratios []float64
	for round := range of.rounds {
		if other := against.rate(round); other > 0 {
			ratios = append(ratios, of.rate(round)/other)
		}
	}
	r.addRatio(Ratio{
		Name: of.name + " / " + against.name, Rounds: ratios, Target: target,
	})
}

// quantile returns a latency of each round, in microseconds.
func (s *subject) quantile(percent float64) []float64 {
	times := make([]float64, len(s.rounds))
	for round, sample := range s.rounds {
		times[round] = float64(sample.Quantile(percent).Microseconds())
	}
	return times
}

// settledMicros returns the settled processor time for a request of each round, in microseconds.
func (s *subject) settledMicros() []float64 {
	times := make([]float64, len(s.rounds))
	for round, sample := range s.rounds {
		times[round] = sample.settledMicros()
	}
	return times
}

// compareSettled adds the ratio of the settled processor times of two subjects of the same rounds:
// what is left of the rate of a server that is to do everything in time. The target is a lower
// bound. There is no ratio where a processor time is not known.
func (r *Report) compareSettled(of, against *subject, target float64) {
	var ratios []float64
	others := against.settledMicros()
	for round, micros := range of.settledMicros() {
		if micros > 0 && others[round] > 0 {
			ratios = append(ratios, others[round]/micros)
		}
	}
	r.addRatio(Ratio{
		Name:   "settled processor time of " + against.name + " / " + of.name,
		Rounds: ratios, Target: target,
	})
}

// compareTimes adds the ratio of two lists of times of the same rounds, both in microseconds. The
// target is an upper bound. Subjects that were skipped have no times.
func (r *Report) compareTimes(name string, of []float64, target float64, against []float64) {
	if len(of) == 0 || len(against) == 0 {
		return
	}
	var ratios []float64
	for round, micros := range of {
		ratios = append(ratios, micros/max(against[round], 1))
	}
	r.addRatio(Ratio{Name: name, Rounds: ratios, Target: target, AtMost: true})
}

// compareWith adds the ratio of a latency of each round to a fixed time.
func (r *Report) compareWith(of *subject, percent float64, name string, micros, target float64) {
	times := of.quantile(percent)
	r.compareTimes(fmt.Sprintf("%s p%.0f / %s", of.name, percent, name), times, target,
		slices.Repeat([]float64{micros}, len(times)))
}

// addRatio computes the median of a ratio and adds it.
func (r *Report) addRatio(ratio Ratio) {
	ratio.Median = median(ratio.Rounds)
	switch {
	case ratio.Target == 0 || len(ratio.Rounds) == 0:
	case ratio.AtMost:
		ratio.Met = ratio.Median <= ratio.Target
	default:
		ratio.Met = ratio.Median >= ratio.Target
	}
	r.Ratios = append(r.Ratios, ratio)
}
