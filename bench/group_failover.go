package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pws/bench/child"
)

// FailoverResult is how long a group does not acknowledge writes AFTER its leader is lost.
type FailoverResult struct {
	Writers   int     `json:"writers"`
	PerSecond float64 `json:"per_second"`
	// Killed are the losses by SIGKILL, Stopped those by SIGSTOP.
	Killed  LossResult `json:"killed"`
	Stopped LossResult `json:"stopped"`
	// Acknowledged writes were looked for on each member. Lost are those that one lacks, and Surplus
	// those that are there and were not acknowledged.
	Acknowledged int `json:"acknowledged"`
	Lost         int `json:"lost"`
	Surplus      int `json:"surplus"`
}

// LossResult are times AFTER the signals to leaders, in seconds.
type LossResult struct {
	// First is the time until some client had a write acknowledged, Each until all clients had.
	First []float64 `json:"first_seconds"`
	Each  []float64 `json:"each_seconds"`
}

// failover kills and stops leaders in turn, while clients write.
func (r *GroupReport) failover(ctx context.Context, config *GroupConfig) error {
	g, err := startGroup(ctx, config.rates())
	if err != nil {
		return err
	}
	defer g.close()
	l, err := g.startLoad(ctx, config)
	if err != nil {
		return err
	}
	defer l.close()
	out := &FailoverResult{Writers: config.Writers, PerSecond: config.WriteRate}
	r.Failover = out
	for turn := range config.Harms {
		for _, one := range []struct {
			name   string
			lose   func(context.Context, *member) error
			regain func(*member, context.Context) error
			result *LossResult
		}{
			{"kill -9", killMember, (*member).start, &out.Killed},
			{"SIGSTOP", stopMember, (*member).thaw, &out.Stopped},
		} {
			first, each, err := g.lose(ctx, l, one.lose, one.regain)
			if err != nil {
				return fmt.Errorf("%s %d: %w", one.name, turn+1, err)
			}
			one.result.First = append(one.result.First, first.Seconds())
			one.result.Each = append(one.result.Each, each.Seconds())
			g.config.say("%s %d: a write after %v, each client had one after %v", one.name, turn+1,
				first.Round(time.Millisecond), each.Round(time.Millisecond))
		}
	}
	if err := l.end(); err != nil {
		return err
	}
	return out.check(ctx, g, l)
}

// check looks for all acknowledged writes on all members, and verifies their data directories.
func (f *FailoverResult) check(ctx context.Context, g *members, l *steadyLoad) error {
	if err := g.settled(ctx); err != nil {
		return err
	}
	f.Acknowledged = l.count()
	for _, m := range g.all {
		g.config.say("member %d: looking for %d writes", m.number, f.Acknowledged)
		lost, surplus, err := l.check(ctx, m)
		if err != nil {
			return fmt.Errorf("member %d: %w", m.number, err)
		}
		f.Lost, f.Surplus = max(f.Lost, lost), max(f.Surplus, surplus)
	}
	return g.each(func(m *member, ctx context.Context) error {
		if err := m.process.Stop(stopPatience); err != nil {
			return err
		}
		_, err := g.run(ctx, "verify", "--data", m.dataDir)
		return err
	}, ctx)
}

// lose takes the leader away until each client has had a write acknowledged, gives it back, and
// waits until the group is as before. It returns the time until the first client, and until each
// client, had a write acknowledged.
func (g *members) lose(
	ctx context.Context, l *steadyLoad, lose func(context.Context, *member) error,
	regain func(*member, context.Context) error,
) (first, each time.Duration, err error) {
	leader, err := g.leader(ctx)
	if err != nil {
		return 0, 0, err
	}
	l.spread()
	if err := l.flows(ctx); err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	if err := lose(ctx, leader); err != nil {
		return 0, 0, err
	}
	watch, err := l.watch(begun, time.Now())
	if err != nil {
		return 0, 0, err
	}
	if err := l.await(ctx, watch); err != nil {
		return 0, 0, err
	}
	first, each = watch.first, time.Since(begun)
	if err := regain(leader, ctx); err != nil {
		return 0, 0, err
	}
	return first, each, g.settled(ctx)
}

func killMember(_ context.Context, m *member) error {
	m.process.Kill()
	return nil
}

// stopMember returns AFTER the process has stopped.
func stopMember(ctx context.Context, m *member) error {
	if err := m.process.Freeze(); err != nil {
		return err
	}
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		stopped, err := child.Frozen(m.process.PID())
		if err != nil || stopped {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *member) thaw(context.Context) error { return m.process.Thaw() }

// losses is the table of the times AFTER leaders were lost.
func (f *FailoverResult) losses() *table {
	t := &table{
		heading: []string{"leader lost by, time until", "times", "least", "p50", "p99", "most"},
	}
	if f == nil {
		return t
	}
	for _, one := range []struct {
		name    string
		seconds []float64
	}{
		{"kill -9: a write acknowledged", f.Killed.First},
		{"kill -9: a write of each client", f.Killed.Each},
		{"SIGSTOP: a write acknowledged", f.Stopped.First},
		{"SIGSTOP: a write of each client", f.Stopped.Each},
	} {
		sorted := slices.Sorted(slices.Values(one.seconds))
		row := []string{one.name, fmt.Sprint(len(sorted))}
		for _, part := range []float64{0, 0.5, 0.99, 1} {
			if len(sorted) == 0 {
				row = append(row, "-")
				continue
			}
			at := min(int(part*float64(len(sorted))), len(sorted)-1)
			row = append(row, fmt.Sprintf("%.2f s", sorted[at]))
		}
		t.add(row...)
	}
	return t
}
