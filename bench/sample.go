package bench

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latencies are recorded from a microsecond to a minute, to three significant digits.
const (
	latencyMicrosMax = int64(time.Minute / time.Microsecond)
	latencyDigits    = 3
)

// Sample is the measurement of one run, or of several merged runs.
type Sample struct {
	Count   int64
	Seconds float64
	// Warmed counts the successes of the warm-up.
	Warmed int64
	// Unsent counts the requests of a paced run that were due in it and were not sent, because the
	// connection still waited for an answer. The latencies have a lower bound of theirs.
	Unsent int64
	// Errors counts the responses that were no success, by status and code.
	Errors map[string]int64
	// ServerCPU is the processor time of the server's process.
	ServerCPU time.Duration
	// SettledCPU is the same from BEFORE the warm-up until the server has done what it put off, zero
	// if nobody waited for that.
	SettledCPU time.Duration
	// OtherCPU is that of each other server that takes part.
	OtherCPU []time.Duration

	latencies *hdrhistogram.Histogram
}

func newSample() *Sample {
	return &Sample{
		Errors: map[string]int64{}, latencies: hdrhistogram.New(1, latencyMicrosMax, latencyDigits),
	}
}

func (s *Sample) add(latency time.Duration) {
	s.Count++
	s.record(latency)
}

// addUnsent counts a request that was not sent and would have taken longer than a time.
func (s *Sample) addUnsent(least time.Duration) {
	s.Unsent++
	s.record(least)
}

func (s *Sample) record(latency time.Duration) {
	micros := min(max(latency.Microseconds(), 1), latencyMicrosMax)
	// The histogram rejects only values outside of its bounds, and the value is within them.
	_ = s.latencies.RecordValue(micros)
}

func (s *Sample) fail(outcome string) { s.Errors[outcome]++ }

// merge adds another sample. The caller adds up Seconds of consecutive runs.
func (s *Sample) merge(other *Sample) {
	s.Count += other.Count
	s.Warmed += other.Warmed
	s.Unsent += other.Unsent
	s.latencies.Merge(other.latencies)
	s.ServerCPU += other.ServerCPU
	s.SettledCPU += other.SettledCPU
	for i, one := range other.OtherCPU {
		if i == len(s.OtherCPU) {
			s.OtherCPU = append(s.OtherCPU, 0)
		}
		s.OtherCPU[i] += one
	}
	for outcome, count := range other.Errors {
		s.Errors[outcome] += count
	}
}

// settledMicros is the settled processor time for each success, those of the warm-up included.
func (s *Sample) settledMicros() float64 {
	return float64(s.SettledCPU.Microseconds()) / float64(max(s.Count+s.Warmed, 1))
}

// PerSecond is the rate of successes.
func (s *Sample) PerSecond() float64 {
	if s.Seconds <= 0 {
		return 0
	}
	return float64(s.Count) / s.Seconds
}

// Quantile is the latency at a percentile of the successes, and of what was not sent.
func (s *Sample) Quantile(percent float64) time.Duration {
	return time.Duration(s.latencies.ValueAtQuantile(percent)) * time.Microsecond
}

// Latency is the distribution of a sample, in microseconds.
type Latency struct {
	P50  int64 `json:"p50_us"`
	P90  int64 `json:"p90_us"`
	P99  int64 `json:"p99_us"`
	P999 int64 `json:"p99_9_us"`
	Max  int64 `json:"max_us"`
}

func (s *Sample) latency() Latency {
	return Latency{
		P50: s.latencies.ValueAtQuantile(50), P90: s.latencies.ValueAtQuantile(90),
		P99: s.latencies.ValueAtQuantile(99), P999: s.latencies.ValueAtQuantile(99.9),
		Max: s.latencies.Max(),
	}
}

// median is the middle value, or the mean of the two middle values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
