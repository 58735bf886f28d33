package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// The parts of the baseline rates that writes should reach.
const (
	writesRedisTarget = 0.5
	writesEtcdTarget  = 2.5
	writesOneTarget   = 0.6
	// halfLoadTarget is the target for the p99 of writes at half of the peak load, in syncs.
	halfLoadTarget = 5
)

// puts returns a subject that writes files of some projects in turn.
func (s *server) puts(name, what string, projects []string) *subject {
	n := s.config.Connections
	return &subject{
		name: name, what: what, cpu: s.cpu,
		connect: s.writeClients(n, func(at int, kept *acknowledged) func() []byte {
			w := &writer{
				host: s.host, credential: s.api.Credential, paths: writerPaths(projects, at, n),
				filler: newFiller(at, contentBytes), kept: kept,
			}
			return w.next
		}),
	}
}

// runWrites compares durable writes, to many projects and to one, with durable writes of other
// servers.
func runWrites(ctx context.Context, srv *server, report *Report) error {
	config := srv.config
	projects, err := srv.createProjects(ctx, config.Projects+1)
	if err != nil {
		return err
	}
	many := srv.puts(RunWritesMany,
		fmt.Sprintf("durable PUT of %d B, %d projects", contentBytes, config.Projects), projects[1:])
	one := srv.puts(RunWritesOne, "the same into one project", projects[:1])
	one.skip = !config.wants(RunWritesOne)
	half := srv.puts(RunWritesHalf, "writes-many at half of its rate, sent at fixed times",
		projects[1:])
	half.skip = !config.wants(RunWritesHalf)
	halfRate := func(round int) (float64, error) { return max(many.rate(round)/2, 1), nil }
	// syncs are the sync times measured BEFORE each round's paced run.
	var syncs []float64
	half.perSecond = func(round int) (float64, error) {
		times, err := probeSync(config.Dir, syncProbes)
		if err != nil {
			return 0, err
		}
		syncs = append(syncs, float64(times[len(times)/2].Microseconds()))
		return halfRate(round)
	}
	redisServer, err := report.optional(startRedis(ctx, config))
	if err != nil {
		return err
	}
	defer redisServer.close()
	etcdServer, err := report.optional(startEtcd(ctx, config))
	if err != nil {
		return err
	}
	defer etcdServer.close()
	log, err := startBareLog(config)
	if err != nil {
		return err
	}
	defer log.close()
	redis, etcd := redisClients(redisServer, config), etcdClients(etcdServer, config)
	redisHalf := redisClients(redisServer, config)
	redisHalf.name, redisHalf.what = "redis-half", "redis at the rate of writes-half"
	redisHalf.skip, redisHalf.perSecond = redis.skip || half.skip, halfRate
	bareLog := log.callers(config)
	err = report.drive(ctx, config, many, one, half, redis, redisHalf, etcd, bareLog)
	if err != nil {
		return err
	}
	report.compareRates(many, redis, writesRedisTarget)
	if err := report.redisBenchmark(ctx, config, redisServer, redis); err != nil {
		return err
	}
	report.compareRates(many, etcd, writesEtcdTarget)
	report.compareRates(many, bareLog, 0)
	report.compareRates(one, many, writesOneTarget)
	report.compareTimes("writes-half p99 / one fsync", half.quantile(99), halfLoadTarget, syncs)
	report.compareTimes("writes-half p99 / redis-half p99", half.quantile(99), 0,
		redisHalf.quantile(99))
	return srv.checkAcknowledged(ctx, report)
}

// mixedWritePercent is the percentage of writes in the mixed run.
const mixedWritePercent = 10

// runMixed reads and writes the same projects, nine reads for each write.
func runMixed(ctx context.Context, srv *server, report *Report) error {
	paths, err := srv.readPaths(ctx)
	if err != nil {
		return err
	}
	requests := func(at int) func() []byte {
		read := reader(srv.host, srv.api.Credential, paths, at)
		write := &writer{host: srv.host, credential: srv.api.Credential, paths: paths, turn: at,
			filler: newFiller(at, contentBytes)}
		dice := rand.New(rand.NewPCG(uint64(at), 1))
		return func() []byte {
			if dice.IntN(100) < mixedWritePercent {
				return write.next()
			}
			return read()
		}
	}
	return report.drive(ctx, srv.config, &subject{
		name: RunMixed, what: "90 % GET, 10 % durable PUT of the same files", cpu: srv.cpu,
		connect: httpClients(srv.host, srv.config.Connections, requests),
	})
}
