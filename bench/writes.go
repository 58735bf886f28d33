package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// The parts of the rates that writes are to reach.
const (
	writesRedisTarget = 0.5
	writesEtcdTarget  = 2.5
	writesOneTarget   = 0.6
	// halfLoadTarget is how many syncs the p99 of writes may take at half of the peak load.
	halfLoadTarget = 5
)

// writersTo opens writers to some projects.
func (s *server) writersTo(projects []string, n int) (connections, error) {
	return dialHTTP(s.host, n, func(at int) func() []byte {
		w := &writer{
			host: s.host, credential: s.api.Credential, paths: writerPaths(projects, at, n),
			filler: newFiller(at, contentBytes),
		}
		return w.next
	})
}

// runWrites compares durable writes to many projects and to one, with others' durable writes.
func runWrites(ctx context.Context, config *Config, report *Report) error {
	srv, err := startServer(ctx, config)
	if err != nil {
		return err
	}
	defer srv.close()
	group := &writeGroup{}
	defer group.close()
	if err := group.service(ctx, config, srv); err != nil {
		return err
	}
	if err := group.others(ctx, config, report); err != nil {
		return err
	}
	if err := driveRounds(ctx, config, report, group.subjects); err != nil {
		return err
	}
	return group.report(ctx, config, report)
}

// writeGroup holds what takes turns in the rounds of the write runs.
type writeGroup struct {
	subjects []*subject
	many     *subject
	one      *subject
	half     *subject
	redis    *subject
	// redisHalf is redis at the rate of half.
	redisHalf *subject
	etcd      *subject
	log       *subject
	redisOwn  *redis
	// syncs are the times of one sync, measured in front of each round's paced run.
	syncs   []float64
	closers []func()
}

func (g *writeGroup) close() {
	for _, one := range g.subjects {
		one.fleet.close()
	}
	for _, one := range g.closers {
		one()
	}
}

func (g *writeGroup) add(name, what string, clients fleet) *subject {
	s := &subject{name: name, what: what, fleet: clients}
	g.subjects = append(g.subjects, s)
	return s
}

// service adds the runs against the service.
func (g *writeGroup) service(ctx context.Context, config *Config, srv *server) error {
	projects, err := srv.createProjects(ctx, config.Projects+1)
	if err != nil {
		return err
	}
	hot, many := projects[:1], projects[1:]
	clients, err := srv.writersTo(many, config.Connections)
	if err != nil {
		return err
	}
	g.many = g.add(RunWritesMany, fmt.Sprintf("durable PUT of %d B, %d projects", contentBytes,
		config.Projects), clients)
	g.many.cpu = srv.cpu
	if config.wants(RunWritesOne) {
		if clients, err = srv.writersTo(hot, config.Connections); err != nil {
			return err
		}
		g.one = g.add(RunWritesOne, "the same into one project", clients)
		g.one.cpu = srv.cpu
	}
	if config.wants(RunWritesHalf) {
		if clients, err = srv.writersTo(many, config.Connections); err != nil {
			return err
		}
		g.half = g.add(RunWritesHalf, "writes-many at half of its rate, sent at fixed times", clients)
		g.half.cpu = srv.cpu
		g.half.perSecond = func(round int) (float64, error) {
			times, err := probeSync(config.Dir, syncProbes)
			if err != nil {
				return 0, err
			}
			g.syncs = append(g.syncs, float64(times[len(times)/2].Microseconds()))
			return max(g.many.rate(round)/2, 1), nil
		}
	}
	return nil
}

// others adds what the service is compared with, where it is on the machine.
func (g *writeGroup) others(ctx context.Context, config *Config, report *Report) error {
	own, err := startRedis(ctx, config)
	if err == nil {
		g.closers = append(g.closers, own.close)
		g.redisOwn = own
		clients, err := own.dial(config.Connections)
		if err != nil {
			return err
		}
		g.redis = g.add("redis", fmt.Sprintf("SET of %d B, appendfsync always", contentBytes),
			clients)
		g.redis.cpu = processCPU(own.process)
		if g.half != nil {
			if clients, err = own.dial(config.Connections); err != nil {
				return err
			}
			g.redisHalf = g.add("redis-half", "redis at the rate of writes-half", clients)
			g.redisHalf.cpu = g.redis.cpu
			g.redisHalf.perSecond = func(round int) (float64, error) {
				return max(g.many.rate(round)/2, 1), nil
			}
		}
	} else if err = report.absent(err); err != nil {
		return err
	}
	member, err := startEtcd(ctx, config)
	if err == nil {
		g.closers = append(g.closers, member.close)
		clients, err := member.dial(config.Connections)
		if err != nil {
			return err
		}
		g.etcd = g.add("etcd", fmt.Sprintf(
			"put of %d B through the JSON gateway, which is slower than its gRPC", contentBytes),
			clients)
		g.etcd.cpu = processCPU(member.process)
	} else if err = report.absent(err); err != nil {
		return err
	}
	log, err := startBareLog(config)
	if err != nil {
		return err
	}
	g.closers = append(g.closers, log.close)
	g.log = g.add("bare-log", fmt.Sprintf("append of %d B to the log alone, in process",
		contentBytes), log.callers(config.Connections))
	return nil
}

func (g *writeGroup) report(ctx context.Context, config *Config, report *Report) error {
	if g.redis != nil {
		report.compareRates(g.many, g.redis, writesRedisTarget)
		rate, err := g.redisOwn.redisBenchmark(
			ctx, config.Connections, g.redis.rate(0), config.Duration)
		if err == nil {
			report.Measurements = append(report.Measurements, Measurement{
				Name: "redis-benchmark", PerSecond: rate, Rounds: []float64{rate},
				What: "the same redis-server, driven by redis-benchmark, outside of the rounds",
			})
		} else if err = report.absent(err); err != nil {
			return err
		}
	}
	if g.etcd != nil {
		report.compareRates(g.many, g.etcd, writesEtcdTarget)
	}
	report.compareRates(g.many, g.log, 0)
	if g.one != nil {
		report.compareRates(g.one, g.many, writesOneTarget)
	}
	if g.half != nil {
		report.compareTimes("writes-half p99 / one fsync", g.half.quantile(99), halfLoadTarget,
			g.syncs)
	}
	if g.redisHalf != nil {
		report.compareTimes("writes-half p99 / redis-half p99", g.half.quantile(99), 0,
			g.redisHalf.quantile(99))
	}
	return nil
}

// mixedWritePercent is the part of writes in the mixed run.
const mixedWritePercent = 10

// runMixed reads and writes the same projects, nine reads to a write.
func runMixed(ctx context.Context, config *Config, report *Report) error {
	srv, err := startServer(ctx, config)
	if err != nil {
		return err
	}
	defer srv.close()
	paths, err := srv.readPaths(ctx)
	if err != nil {
		return err
	}
	clients, err := dialHTTP(srv.host, config.Connections, func(at int) func() []byte {
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
	})
	if err != nil {
		return err
	}
	defer clients.close()
	return driveRounds(ctx, config, report, []*subject{{
		name: RunMixed, what: "90 % GET, 10 % durable PUT of the same files", fleet: clients,
		cpu: srv.cpu,
	}})
}
