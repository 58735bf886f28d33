package bench

import (
	"context"
	"fmt"
	"time"
)

// claimsTarget is the part of the rate of PUTs that claims are to reach.
const claimsTarget = 0.6

// runWork compares claims and checkpoints with durable PUTs over as many connections.
func runWork(ctx context.Context, config *Config, report *Report) error {
	srv, err := startServer(ctx, config)
	if err != nil {
		return err
	}
	defer srv.close()
	group := &workGroup{server: srv}
	defer group.close()
	if err := group.puts(ctx, config); err != nil {
		return err
	}
	if config.wants(RunClaims) {
		if err := group.claiming(ctx, config); err != nil {
			return err
		}
	}
	if config.wants(RunCheckpoints) {
		clients, err := srv.checkpointers(ctx, config)
		if err != nil {
			return err
		}
		group.checkpoints = group.add(RunCheckpoints, fmt.Sprintf("POST of a file of %d B, "+
			"a state and a handoff of 1 kB each, one at a time to a project", contentBytes), clients)
	}
	if err := driveRounds(ctx, config, report, group.subjects); err != nil {
		return err
	}
	return group.report(ctx, report)
}

// workGroup holds what takes turns in the rounds of claims and checkpoints.
type workGroup struct {
	server      *server
	subjects    []*subject
	many        *subject
	one         *subject
	claims      *subject
	checkpoints *subject
	race        *claimRace
}

func (g *workGroup) close() {
	for _, one := range g.subjects {
		one.fleet.close()
	}
}

func (g *workGroup) add(name, what string, clients fleet) *subject {
	s := &subject{name: name, what: what, fleet: clients, cpu: g.server.cpu}
	g.subjects = append(g.subjects, s)
	return s
}

// puts adds what claims and checkpoints are compared with.
func (g *workGroup) puts(ctx context.Context, config *Config) error {
	projects, err := g.server.createProjects(ctx, config.Projects+1)
	if err != nil {
		return err
	}
	clients, err := g.server.writersTo(projects[1:], config.Connections)
	if err != nil {
		return err
	}
	g.many = g.add("puts-many", fmt.Sprintf("durable PUT of %d B, %d projects, as in %s",
		contentBytes, config.Projects, RunWritesMany), clients)
	if !config.wants(RunClaims) {
		return nil
	}
	if clients, err = g.server.writersTo(projects[:1], config.Connections); err != nil {
		return err
	}
	g.one = g.add("puts-one", "the same into one project, as in "+RunWritesOne, clients)
	return nil
}

// probeMax bounds the run that finds how many tasks are needed.
const probeMax = 2 * time.Second

// claiming adds the race for tasks, with as many of them as PUTs into one project let expect.
func (g *workGroup) claiming(ctx context.Context, config *Config) error {
	race, clients, err := g.server.newRace(ctx, config)
	if err != nil {
		return err
	}
	g.race = race
	g.claims = g.add(RunClaims, fmt.Sprintf("claim-next by %d agents in one PUBLIC project of %d "+
		"tasks after another", config.Connections, config.ClaimTasks), clients)
	probe := config.load()
	probe.duration = min(probe.duration, probeMax)
	sample, err := g.one.fleet.drive(ctx, probe)
	if err != nil {
		return err
	}
	if err := race.provide(ctx, config.Rounds, sample.PerSecond(), config.load()); err != nil {
		return err
	}
	g.claims.prepare = func(ctx context.Context) error {
		fastest := 0.0
		for _, one := range []*subject{g.many, g.one, g.claims} {
			for round := range one.rounds {
				fastest = max(fastest, one.rate(round))
			}
		}
		return race.provide(ctx, 1, fastest, config.load())
	}
	return nil
}

func (g *workGroup) report(ctx context.Context, report *Report) error {
	if g.claims != nil {
		report.compareRates(g.claims, g.many, claimsTarget)
		report.compareRates(g.claims, g.one, claimsTarget)
		var err error
		if report.Claims, err = g.race.check(ctx); err != nil {
			return err
		}
	}
	if g.checkpoints != nil {
		report.compareRates(g.checkpoints, g.many, 0)
	}
	return nil
}
