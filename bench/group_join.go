package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// JoinResult is how long a new member takes until it votes and has everything.
type JoinResult struct {
	Changesets  int   `json:"changesets"`
	Projects    int   `json:"projects"`
	FolderBytes int64 `json:"folder_bytes"`
	// PerSecond is how many writes a second there were at the same time.
	PerSecond float64 `json:"per_second"`
	// CopySeconds is the time of pws cluster join, ServeSeconds that AFTER which its server served,
	// Seconds that until it voted and had all that the others had when it began to serve. All begin
	// with pws cluster add.
	CopySeconds  float64 `json:"copy_seconds"`
	ServeSeconds float64 `json:"serve_seconds"`
	Seconds      float64 `json:"seconds"`
	// Checked is the number of projects whose changesets were counted on the new member, and of
	// the writes that were acknowledged in the meantime. Lost is how many it lacks.
	Checked int `json:"checked"`
	Lost    int `json:"lost"`
}

// join fills a group and has new members join it: one while nobody writes, and another one while
// clients do.
func (r *GroupReport) join(ctx context.Context, config *GroupConfig) error {
	g, err := startGroup(ctx, config.rates())
	if err != nil {
		return err
	}
	defer g.close()
	leader, err := g.leader(ctx)
	if err != nil {
		return err
	}
	g.config.say("join: filling %d projects with %d changesets", config.Filled, config.Changesets)
	projects, err := leader.createMany(ctx, config.Filled, "UNLISTED")
	if err != nil {
		return err
	}
	// Creating a project makes its first changeset.
	per := max(1, config.Changesets/config.Filled-1)
	if err := leader.fillFiles(ctx, projects, per, contentBytes); err != nil {
		return err
	}
	if err := g.settled(ctx); err != nil {
		return err
	}
	for turn, rate := range []float64{0, config.WriteRate} {
		out := JoinResult{
			Changesets: config.Filled * (per + 1), Projects: config.Filled, PerSecond: rate,
		}
		if out.FolderBytes, err = folderBytes(g.all[0].dataDir); err != nil {
			return err
		}
		number := uint64(groupMembers + turn + 1)
		if err := out.measure(ctx, g, config, number, projects); err != nil {
			return err
		}
		r.Joins = append(r.Joins, out)
		g.config.say("join: member %d had everything after %.1f s", number, out.Seconds)
		if err := g.remove(ctx, number); err != nil {
			return err
		}
	}
	return nil
}

// measure has a member join, while clients write if there is a rate, and looks what it has.
func (j *JoinResult) measure(
	ctx context.Context, g *members, config *GroupConfig, number uint64, projects []string,
) error {
	var l *steadyLoad
	if j.PerSecond > 0 {
		var err error
		if l, err = g.startLoad(ctx, config); err != nil {
			return err
		}
		defer l.close()
		if err := l.flows(ctx); err != nil {
			return err
		}
	}
	m, err := j.add(ctx, g, number)
	if err != nil {
		return err
	}
	// Nobody answers reads while another member begins to lead.
	var counted *RestartResult
	err = awaiting(ctx, "the new member cannot be read", func() error {
		counted = &RestartResult{}
		return m.checkLost(ctx, projects, j.Changesets/j.Projects, counted)
	})
	if err != nil {
		return err
	}
	j.Checked, j.Lost = counted.Checked, counted.Lost
	if l == nil {
		return nil
	}
	if err := l.end(); err != nil {
		return err
	}
	lost, surplus, err := l.check(ctx, m)
	j.Checked += l.count()
	j.Lost += lost + surplus
	return err
}

// add does what an operator does to add a member, and waits until it votes and has everything.
func (j *JoinResult) add(ctx context.Context, g *members, number uint64) (*member, error) {
	ordered, err := g.inOrder(ctx)
	if err != nil {
		return nil, err
	}
	from, id := ordered[1], strconv.FormatUint(number, 10)
	m := g.newMember(number)
	m.arguments = append(m.arguments, "--cluster", m.peer)
	if err := g.cluster(ctx, "key", "--dir", g.path("keys"), id); err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := g.cluster(ctx, "add", "--data", from.dataDir, m.peer); err != nil {
		return nil, err
	}
	err = g.cluster(ctx, "join", "--data", m.dataDir, "--from", from.peer, "--cluster-id", id,
		"--cluster-keys", g.path("keys/member-"+id))
	if err != nil {
		return nil, err
	}
	j.CopySeconds = time.Since(begun).Seconds()
	g.all = append(g.all, m)
	if err := m.start(ctx); err != nil {
		return nil, err
	}
	j.ServeSeconds = time.Since(begun).Seconds()
	if err := g.settled(ctx); err != nil {
		return nil, err
	}
	j.Seconds = time.Since(begun).Seconds()
	return m, nil
}

// remove takes the last member out of the group, whose server ends by itself.
func (g *members) remove(ctx context.Context, number uint64) error {
	last, first := g.all[len(g.all)-1], g.all[0]
	if err := g.lead(ctx, first); err != nil {
		return err
	}
	err := g.cluster(ctx, "remove", "--data", first.dataDir, strconv.FormatUint(number, 10))
	if err != nil {
		return err
	}
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-last.process.Done():
	case <-timer.C:
		return fmt.Errorf("member %d was removed and did not end", number)
	case <-ctx.Done():
		return ctx.Err()
	}
	g.all = g.all[:len(g.all)-1]
	last.close()
	return g.settled(ctx)
}
