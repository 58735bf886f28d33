package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"pws/bench/client"
)

const (
	// growthSpread is the number of projects that requests of the connections and of loads go to.
	growthSpread = 1000
	// growthPace is the rate of writes into one project. It is low, so that the project is still
	// about as large AFTER the rounds as before.
	growthPace = 200
	// growthPage is the number of records of the pages that are read of large and small projects.
	growthPage = 10
)

// openSizes starts a server for each size.
func openSizes(
	ctx context.Context, config *Config, sizes []int,
	fill func(s *server, size int) ([]*subject, error),
) (opened []grown, closeAll func(), err error) {
	var servers []*server
	closeAll = func() {
		for _, one := range servers {
			one.close()
		}
	}
	for _, size := range sizes {
		s, err := startServer(ctx, config)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		servers = append(servers, s)
		subjects, err := fill(s, size)
		if err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("%d: %w", size, err)
		}
		opened = append(opened, grown{size: size, server: s, subjects: subjects})
	}
	if err := awaitIdle(ctx, servers); err != nil {
		closeAll()
		return nil, nil, err
	}
	return opened, closeAll, nil
}

const (
	// idlePart is the part of one processor that idle servers take at most, measured over
	// idleEvery; idlePatience is how long servers may take until they are idle.
	idlePart     = 0.05
	idleEvery    = time.Second
	idlePatience = 5 * time.Minute
)

// awaitIdle waits until servers have done what they do AFTER requests, such as snapshots, so that
// they do not take the processor from one that is measured.
func awaitIdle(ctx context.Context, servers []*server) error {
	ctx, cancel := context.WithTimeoutCause(ctx, idlePatience,
		fmt.Errorf("the servers were not idle within %v", idlePatience))
	defer cancel()
	ticker := time.NewTicker(idleEvery)
	defer ticker.Stop()
	used := func() (sum time.Duration) {
		for _, one := range servers {
			sum += one.cpu()
		}
		return sum
	}
	for before := used(); ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		now := used()
		if (now - before).Seconds() <= idlePart*idleEvery.Seconds() {
			return nil
		}
		before = now
	}
}

// grow measures a part with a server for each size.
func (r *GrowthReport) grow(
	ctx context.Context, config *GrowthConfig, part string, sizes []int,
	fill func(s *server, size int) ([]*subject, error),
) error {
	rates := config.rates()
	opened, closeAll, err := openSizes(ctx, rates, sizes, func(s *server, size int) (
		[]*subject, error,
	) {
		rates.say("growth: %d %s", size, part)
		return fill(s, size)
	})
	if err != nil {
		return err
	}
	defer closeAll()
	if err := r.measure(ctx, rates, part, opened); err != nil {
		return err
	}
	for _, one := range opened {
		if err := one.server.checkAcknowledged(ctx, &r.Report); err != nil {
			return err
		}
	}
	return nil
}

// wanderer sends requests to projects by chance.
type wanderer struct {
	writer
	projects []string
	dice     *rand.Rand
	file     string
}

func (s *server) wanderer(projects []string, at int) *wanderer {
	return &wanderer{
		writer: writer{
			host: s.host, credential: s.api.Credential, filler: newFiller(at, contentBytes),
		},
		projects: projects, dice: rand.New(rand.NewPCG(uint64(at), 2)),
		file: fmt.Sprintf("src/w%d.txt", at),
	}
}

func (w *wanderer) project() string { return w.projects[w.dice.IntN(len(w.projects))] }

func (w *wanderer) write() []byte { return w.put(filePath(w.project(), w.file)) }

func (w *wanderer) read() []byte {
	w.out = (&client.Request{
		Method: "GET", Path: projectPath(w.project()), Host: w.host, Credential: w.credential,
	}).Append(w.out[:0])
	return w.out
}

// wander returns the subjects that write to and read projects by chance, on n connections.
func (s *server) wander(projects []string, n int) (writes, reads *subject) {
	writes = &subject{
		name: "writes", cpu: s.cpu,
		what: fmt.Sprintf("durable PUT of %d B into a project by chance", contentBytes),
		connect: s.writeClients(n, func(at int, kept *acknowledged) func() []byte {
			w := s.wanderer(projects, at)
			w.kept = kept
			return w.write
		}),
	}
	reads = &subject{
		name: "reads", what: "GET of a project by chance", cpu: s.cpu,
		connect: httpClients(s.host, n, func(at int) func() []byte {
			return s.wanderer(projects, at).read
		}),
	}
	return writes, reads
}

func (r *GrowthReport) projects(ctx context.Context, config *GrowthConfig) error {
	return r.grow(ctx, config, growthProjects, config.Projects, func(s *server, size int) (
		[]*subject, error,
	) {
		projects, err := s.createMany(ctx, size, "UNLISTED")
		writes, reads := s.wander(projects, config.Connections)
		return []*subject{writes, reads}, err
	})
}

// pacedWrites writes into one project at a fixed rate.
func (s *server) pacedWrites(project string) *subject {
	one := s.puts("writes", fmt.Sprintf("durable PUT of %d B into it, PUBLIC, %d a second",
		contentBytes, growthPace), []string{project})
	one.perSecond = func(int) (float64, error) { return growthPace, nil }
	return one
}

func (r *GrowthReport) changesets(ctx context.Context, config *GrowthConfig) error {
	return r.grow(ctx, config, growthChangesets, config.Changesets, func(s *server, size int) (
		[]*subject, error,
	) {
		project, err := s.api.CreatePublicProject("Growing history")
		if err != nil {
			return nil, err
		}
		if err := s.fillChangesets(ctx, project.ID, max(2, size)); err != nil {
			return nil, err
		}
		agents, err := s.registerAgents(ctx, config.Connections)
		return []*subject{
			{
				name: "reads", what: "GET of a file", cpu: s.cpu,
				connect: readers(s.host, s.api.Credential, config.Connections,
					[]string{filePath(project.ID, "src/w0/file-0.txt")}),
			},
			s.reads("history", "GET of changesets", project.ID,
				fmt.Sprintf("changesets?limit=%d", growthPage), agents),
			s.pacedWrites(project.ID),
		}, err
	})
}

func (r *GrowthReport) files(ctx context.Context, config *GrowthConfig) error {
	return r.grow(ctx, config, growthFiles, config.Files, func(s *server, size int) (
		[]*subject, error,
	) {
		project, err := s.api.CreatePublicProject("Growing files")
		if err != nil {
			return nil, err
		}
		paths, err := createFiles(s.api, project, size)
		if err != nil {
			return nil, err
		}
		agents, err := s.registerAgents(ctx, config.Connections)
		write := &subject{
			name: "writes", cpu: s.cpu, what: fmt.Sprintf("durable PUT of %d B into one of them, "+
				"PUBLIC, %d a second", contentBytes, growthPace),
			connect: httpClients(s.host, config.Connections, func(at int) func() []byte {
				return (&writer{
					host: s.host, credential: s.api.Credential, paths: paths, turn: at * 7,
					filler: newFiller(at, contentBytes),
				}).next
			}),
			perSecond: func(int) (float64, error) { return growthPace, nil },
		}
		return []*subject{
			{
				name: "reads", what: "GET of one of them", cpu: s.cpu,
				connect: readers(s.host, s.api.Credential, config.Connections, paths),
			},
			s.reads("pages", "GET of files", project.ID,
				fmt.Sprintf("files?limit=%d", growthPage), agents),
			write,
		}, err
	})
}

func (r *GrowthReport) tasks(ctx context.Context, config *GrowthConfig) error {
	return r.grow(ctx, config, growthTasks, config.Tasks, func(s *server, size int) (
		[]*subject, error,
	) {
		project, err := s.api.CreatePublicProject("Growing tasks")
		if err != nil {
			return nil, err
		}
		if err := createTasks(s.api, project.ID, size); err != nil {
			return nil, err
		}
		tasks, err := listTasks(s.api, project.ID)
		if err != nil {
			return nil, err
		}
		agents, err := s.registerAgents(ctx, config.Connections)
		paths := make([]string, len(tasks))
		for i, one := range tasks {
			paths[i] = "/api/v1/tasks/" + one.ID
		}
		return []*subject{
			{
				name: "reads", what: "GET of a task", cpu: s.cpu,
				connect: readers(s.host, s.api.Credential, config.Connections, paths),
			},
			s.reads("pages", "GET of open tasks", project.ID,
				fmt.Sprintf("tasks?status=OPEN&limit=%d", growthPage), agents),
			s.taskUpdates(paths, config.Connections),
		}, err
	})
}

// taskUpdates changes the priority of tasks at a fixed rate.
func (s *server) taskUpdates(paths []string, n int) *subject {
	return &subject{
		name: "writes", what: fmt.Sprintf("PATCH of a task, PUBLIC, %d a second", growthPace), cpu: s.cpu,
		connect: httpClients(s.host, n, func(at int) func() []byte {
			turn, out := at*7, []byte(nil)
			return func() []byte {
				turn++
				priority := []string{"LOW", "HIGH"}[turn/len(paths)%2]
				out = (&client.Request{
					Method: "PATCH", Path: paths[turn%len(paths)], Host: s.host,
					Credential: s.api.Credential, Lines: []string{"If-Match: *"},
					Body: []byte(`{"priority":"` + priority + `"}`),
				}).Append(out[:0])
				return out
			}
		}),
		perSecond: func(int) (float64, error) { return growthPace, nil },
	}
}

// connections measures one server with several numbers of connections, and with idle ones beside.
func (r *GrowthReport) connections(ctx context.Context, config *GrowthConfig) error {
	rates := config.rates()
	s, err := startServer(ctx, rates)
	if err != nil {
		return err
	}
	defer s.close()
	projects, err := s.createMany(ctx, growthSpread, "UNLISTED")
	if err != nil {
		return err
	}
	var sizes []grown
	for _, n := range config.Clients {
		writes, reads := s.wander(projects, n)
		sizes = append(sizes, grown{size: n, subjects: []*subject{writes, reads}})
	}
	if err := r.driveAll(ctx, rates, growthConnections, sizes); err != nil {
		return err
	}
	// A connection sends a request AFTER the answer to the last one, so latencies follow from the
	// number of connections, and rates are compared where the service has enough of them.
	for i := 2; i < len(sizes); i++ {
		for nth, s := range sizes[i].subjects {
			r.compareRates(s, sizes[1].subjects[nth], growthTarget)
		}
	}
	if config.Idle == 0 {
		return nil
	}
	idle := make([]int, config.Idle)
	connected, err := clients(s.host, config.Idle, func(at int) exchange {
		w := s.wanderer(projects, at)
		return httpExchange{func() []byte {
			if idle[at]--; idle[at] < 0 {
				return nil
			}
			return w.read()
		}}
	})()
	if err != nil {
		return err
	}
	defer connected.close()
	without, _ := s.wander(projects, config.Connections)
	with, _ := s.wander(projects, config.Connections)
	// Each idle connection sends one request BEFORE a round, so that the server keeps it.
	with.prepare = func(ctx context.Context) error {
		for i := range idle {
			idle[i] = 1
		}
		sample, err := connected.drive(ctx, load{duration: fillTimeMax})
		if err == nil && len(sample.Errors) > 0 {
			err = fmt.Errorf("idle connections: %v", sample.Errors)
		}
		return err
	}
	err = r.measure(ctx, rates, "idle", []grown{
		{size: 0, subjects: []*subject{without}}, {size: config.Idle, subjects: []*subject{with}},
	})
	if err != nil {
		return err
	}
	return s.checkAcknowledged(ctx, &r.Report)
}

// load measures the latency of writes at parts of the peak rate.
func (r *GrowthReport) load(ctx context.Context, config *GrowthConfig) error {
	rates := config.rates()
	s, err := startServer(ctx, rates)
	if err != nil {
		return err
	}
	defer s.close()
	projects, err := s.createMany(ctx, growthSpread, "UNLISTED")
	if err != nil {
		return err
	}
	peak, _ := s.wander(projects, config.Connections)
	peak.name = "load-peak"
	all := []*subject{peak}
	for _, part := range config.Loads {
		one, _ := s.wander(projects, config.Connections)
		one.name = fmt.Sprintf("load-%.0f", 100*part)
		one.what = fmt.Sprintf("the same at %.0f %% of that, sent at fixed times", 100*part)
		one.perSecond = func(round int) (float64, error) {
			return max(part*peak.rate(round), 1), nil
		}
		all = append(all, one)
	}
	if err := r.drive(ctx, rates, all...); err != nil {
		return err
	}
	for _, one := range all[1:] {
		r.Points = append(r.Points, r.point(growthLoad, "writes", medianRate(one), one))
	}
	return s.checkAcknowledged(ctx, &r.Report)
}
