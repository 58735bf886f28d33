package bench

import (
	"context"
	"time"
)

// subject is something that is driven once in every round.
type subject struct {
	name string
	what string
	// fleet is connected once and serves all rounds.
	fleet fleet
	// cpu is the processor time of the server so far; nil where it is another's.
	cpu func() time.Duration
	// perSecond is asked in each round; nil means as fast as possible.
	perSecond func(round int) (float64, error)
	// prepare is called in each round BEFORE the clock starts; nil means that there is nothing to do.
	prepare func(ctx context.Context) error
	rounds  []*Sample
}

// rate is the rate of one round.
func (s *subject) rate(round int) float64 { return s.rounds[round].PerSecond() }

const (
	// warmupMax bounds the warmup, which is a tenth of the duration.
	warmupMax = 2 * time.Second
	// warmedMin is the shortest duration with a warmup: a shorter run counts its first request, so
	// that it has one however slow the machine is.
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

// driveRounds drives all subjects in turn, round by round, and adds what they did to the report.
func driveRounds(ctx context.Context, config *Config, report *Report, subjects []*subject) error {
	for round := range config.Rounds {
		for _, one := range subjects {
			l := config.load()
			if one.prepare != nil {
				if err := one.prepare(ctx); err != nil {
					return err
				}
			}
			if one.perSecond != nil {
				var err error
				if l.perSecond, err = one.perSecond(round); err != nil {
					return err
				}
			}
			before := time.Duration(0)
			if one.cpu != nil {
				before = one.cpu()
			}
			sample, err := one.fleet.drive(ctx, l)
			if err != nil {
				return err
			}
			if one.cpu != nil {
				sample.ServerCPU = one.cpu() - before
			}
			one.rounds = append(one.rounds, sample)
			config.say("round %d  %-18s %10.0f/s  p99 %7d µs  errors %v",
				round+1, one.name, sample.PerSecond(), sample.Quantile(99).Microseconds(),
				sample.Errors)
		}
	}
	for _, one := range subjects {
		report.add(one)
	}
	return nil
}

// add makes a measurement of all rounds of a subject.
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
	}
	if total.Count > 0 {
		m.ServerCPUMicros = float64(total.ServerCPU.Microseconds()) / float64(total.Count)
	}
	r.Measurements = append(r.Measurements, m)
}

// compareRates adds the ratio of two subjects that were driven in the same rounds.
func (r *Report) compareRates(of, against *subject, target float64) {
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

// quantile is a latency of each round, in microseconds.
func (s *subject) quantile(percent float64) []float64 {
	times := make([]float64, len(s.rounds))
	for round, sample := range s.rounds {
		times[round] = float64(sample.Quantile(percent).Microseconds())
	}
	return times
}

// compareTimes adds the ratio of times to other times of the same rounds, both in microseconds.
// The target is a ceiling.
func (r *Report) compareTimes(name string, of []float64, target float64, against []float64) {
	var ratios []float64
	for round, micros := range of {
		ratios = append(ratios, micros/max(against[round], 1))
	}
	r.addRatio(Ratio{Name: name, Rounds: ratios, Target: target, AtMost: true})
}

// addRatio completes a ratio from its rounds and adds it.
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
