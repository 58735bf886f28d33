package bench

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// puts are writes that are sent to one member of a group, whose processor time is noted apart.
func (g *members) puts(
	name, what string, to *member, ordered []*member, projects []string,
) *subject {
	s := to.puts(name, what, projects)
	s.cpu, s.others = g.times(ordered)
	s.prepare = func(ctx context.Context) error { return g.lead(ctx, ordered[0]) }
	return s
}

// times are the processor time of the leader, and of each other member.
func (g *members) times(ordered []*member) (func() time.Duration, []func() time.Duration) {
	var others []func() time.Duration
	for _, m := range ordered[1:] {
		others = append(others, m.cpu)
	}
	return ordered[0].cpu, others
}

// halfOf are the same clients at half of the rate of another subject in the same round.
func halfOf(full, half *subject) *subject {
	half.name, half.what = full.name+"-half", "the same at half of its rate, sent at fixed times"
	half.perSecond = func(round int) (float64, error) { return max(full.rate(round)/2, 1), nil }
	return half
}

// writes compares durable writes to a group with those to a single server, and to etcd.
func (r *GroupReport) writes(ctx context.Context, config *GroupConfig) error {
	rates := config.rates()
	single, err := startServer(ctx, rates)
	if err != nil {
		return err
	}
	defer single.close()
	g, err := startGroup(ctx, rates)
	if err != nil {
		return err
	}
	defer g.close()
	alone, err := r.singleWrites(ctx, single)
	if err != nil {
		return err
	}
	ordered, shared, err := r.groupWrites(ctx, g)
	if err != nil {
		return err
	}
	cluster, compared, err := r.etcdWrites(ctx, rates)
	if err != nil {
		return err
	}
	defer cluster.close()
	err = r.counting(ctx, g, func() error {
		return r.drive(ctx, rates, slices.Concat(alone, shared, compared)...)
	})
	if err != nil {
		return err
	}
	leader, follower := shared[0], shared[2]
	r.compareRates(leader, alone[0], 0)
	r.compareRates(follower, alone[0], 0)
	r.compareTimes("group-leader-half p99 / single-half p99", shared[1].quantile(99), 0,
		alone[1].quantile(99))
	r.compareRates(leader, compared[0], 0)
	r.compareRates(follower, compared[1], 0)
	if err := single.checkAcknowledged(ctx, &r.Report); err != nil {
		return err
	}
	return g.checkAcknowledged(ctx, ordered, &r.Report)
}

// counting adds the elections that happen during some rounds.
func (r *GroupReport) counting(ctx context.Context, g *members, rounds func() error) error {
	_, before, err := g.reign(ctx)
	if err != nil {
		return err
	}
	if err := rounds(); err != nil {
		return err
	}
	_, after, err := g.reign(ctx)
	r.Elections += after - before
	return err
}

// singleWrites are writes to a single server, and the same at half of the rate.
func (r *GroupReport) singleWrites(ctx context.Context, s *server) ([]*subject, error) {
	projects, err := s.createProjects(ctx, s.config.Projects)
	if err != nil {
		return nil, err
	}
	full := s.puts("single", fmt.Sprintf("durable PUT of %d B, %d projects, a single server",
		contentBytes, len(projects)), projects)
	return []*subject{full, halfOf(full, s.puts("", "", projects))}, nil
}

// groupWrites are writes to the leader and to a follower, each also at half of the rate.
func (r *GroupReport) groupWrites(
	ctx context.Context, g *members,
) (ordered []*member, all []*subject, err error) {
	if ordered, err = g.inOrder(ctx); err != nil {
		return nil, nil, err
	}
	for i, one := range []struct{ name, what string }{
		{"group-leader", "the same to the leader of three members"},
		{"group-follower", "the same to a follower, which passes it on"},
	} {
		// Each has files of its own, because the last content of a file is checked.
		projects, err := ordered[0].createProjects(ctx, g.config.Projects)
		if err != nil {
			return nil, nil, err
		}
		full := g.puts(one.name, one.what, ordered[i], ordered, projects)
		all = append(all, full, halfOf(full, g.puts("", "", ordered[i], ordered, projects)))
	}
	return ordered, all, nil
}

// etcdWrites are puts to the leader and to a follower of three members of etcd.
func (r *GroupReport) etcdWrites(
	ctx context.Context, config *Config,
) (cluster etcds, all []*subject, err error) {
	cluster, err = startEtcds(ctx, config, groupMembers)
	if err = r.absent(err); err != nil {
		return nil, nil, err
	}
	if cluster == nil {
		return nil, []*subject{etcdClients(nil, config), etcdClients(nil, config)}, nil
	}
	if err := cluster.leaderFirst(ctx); err != nil {
		cluster.close()
		return nil, nil, err
	}
	for i, name := range []string{"etcd-leader", "etcd-follower"} {
		one := etcdClients(cluster[i], config)
		one.name, one.what = name, "etcd, three members: "+one.what
		one.cpu, one.others = cluster[0].cpu, nil
		for _, other := range cluster[1:] {
			one.others = append(one.others, other.cpu)
		}
		all = append(all, one)
	}
	return cluster, all, nil
}

// checkAcknowledged kills all members at once, starts them again, and reads the last writes of all
// connections from each of them.
func (g *members) checkAcknowledged(
	ctx context.Context, ordered []*member, report *Report,
) error {
	var writes []acknowledgedWrite
	for _, m := range ordered {
		writes = append(writes, m.lastWrites()...)
	}
	err := g.each(func(m *member, ctx context.Context) error {
		m.process.Kill()
		return nil
	}, ctx)
	if err == nil {
		err = g.each((*member).start, ctx)
	}
	if err == nil {
		err = g.settled(ctx)
	}
	for _, m := range ordered {
		if err == nil {
			err = m.readBack(ctx, writes, report)
		}
	}
	return err
}

// reads compares reads from the leader and from a follower with a bare handler.
func (r *GroupReport) reads(ctx context.Context, config *GroupConfig) error {
	rates := config.rates()
	g, err := startGroup(ctx, rates)
	if err != nil {
		return err
	}
	defer g.close()
	ordered, err := g.inOrder(ctx)
	if err != nil {
		return err
	}
	paths, err := ordered[0].readPaths(ctx)
	if err != nil {
		return err
	}
	bare, against, err := ordered[0].bareReads(ctx, paths)
	if err != nil {
		return err
	}
	defer bare.close()
	var all []*subject
	for i, one := range []struct{ name, what string }{
		{"reads-leader", "GET of a 1 KiB file by path from the leader of three members"},
		{"reads-follower", "the same from a follower, which asks the leader"},
	} {
		s := &subject{
			name: one.name, what: one.what,
			connect: readers(ordered[i].host, g.credential, rates.Connections, paths),
			prepare: func(ctx context.Context) error { return g.lead(ctx, ordered[0]) },
		}
		s.cpu, s.others = g.times(ordered)
		all = append(all, s)
	}
	err = r.counting(ctx, g, func() error { return r.drive(ctx, rates, append(all, against)...) })
	for _, one := range all {
		r.compareRates(one, against, 0)
	}
	return err
}
