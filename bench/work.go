package bench

import (
	"context"
	"fmt"
)

// claimsTarget is the part of the PUT rate that claims should reach.
const claimsTarget = 0.6

// runWork compares claims and checkpoints with durable PUTs on the same number of connections.
func runWork(ctx context.Context, srv *server, report *Report) error {
	config := srv.config
	projects, err := srv.createProjects(ctx, config.Projects+1)
	if err != nil {
		return err
	}
	many := srv.puts("puts-many", fmt.Sprintf("durable PUT of %d B, %d projects, as in %s",
		contentBytes, config.Projects, RunWritesMany), projects[1:])
	one := srv.puts("puts-one", "the same into one project, as in "+RunWritesOne, projects[:1])
	one.skip = !config.wants(RunClaims)
	race := &claimRace{server: srv, perProject: config.ClaimTasks}
	claims := &subject{
		name: RunClaims, what: fmt.Sprintf("claim-next by %d agents in one PUBLIC project of %d "+
			"tasks after another", config.Connections, config.ClaimTasks),
		skip: one.skip, cpu: srv.cpu, connect: race.connect(ctx),
	}
	claims.prepare = func(ctx context.Context) error {
		fastest := 0.0
		for _, one := range []*subject{many, one, claims} {
			for round := range one.rounds {
				fastest = max(fastest, one.rate(round))
			}
		}
		return race.provide(ctx, config.Rounds-len(claims.rounds), fastest, config.load())
	}
	checkpoints := &subject{
		name: RunCheckpoints, what: fmt.Sprintf("POST of a file of %d B, a state and a handoff of "+
			"1 kB each, one at a time to a project", contentBytes),
		skip: !config.wants(RunCheckpoints), cpu: srv.cpu, connect: srv.checkpointers(ctx),
	}
	if err := report.drive(ctx, config, many, one, claims, checkpoints); err != nil {
		return err
	}
	report.compareRates(claims, many, claimsTarget)
	report.compareRates(claims, one, claimsTarget)
	report.compareRates(checkpoints, many, 0)
	if !claims.skip {
		report.Claims, err = race.check(ctx)
	}
	return err
}
