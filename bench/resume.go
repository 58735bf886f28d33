package bench

import (
	"context"
	"fmt"

	"pws/bench/client"
)

// resumeTargetMicros is the latency target for an agent that resumes work, the transport included,
// for half of the responses on one connection.
const resumeTargetMicros = 1000

// smallProject is measured beside the big one: the same kinds of records, but few.
var smallProject = projectSize{changesets: 20, tasks: 5, handoffs: 1}

// runResume measures the first reads of an agent that continues the work of others.
func runResume(ctx context.Context, srv *server, report *Report) error {
	config := srv.config
	size := projectSize{config.ResumeChangesets, config.ResumeTasks, config.ResumeHandoffs}
	config.say("resume: filling a project with %v", size)
	big, err := srv.fillProject(ctx, size)
	if err != nil {
		return fmt.Errorf("fill the big project: %w", err)
	}
	small, err := srv.fillProject(ctx, smallProject)
	if err != nil {
		return fmt.Errorf("fill the small project: %w", err)
	}
	agents, err := srv.registerAgents(ctx, config.Connections)
	if err != nil {
		return fmt.Errorf("register the agents: %w", err)
	}
	var kinds [][4]*subject
	var reads []*subject
	for _, name := range []string{RunResume, RunManifest} {
		one, skip := agents[:1], !config.wants(name)
		kind := [4]*subject{
			srv.reads(name, fmt.Sprintf("GET, %v", size), big, name, agents),
			srv.reads(name+"-small", fmt.Sprintf("GET, %v", smallProject), small, name, agents),
			srv.reads(name+"-alone", "the big project by one connection", big, name, one),
			srv.reads(name+"-small-alone", "the small project by one connection", small, name, one),
		}
		for _, one := range kind {
			one.skip = skip
		}
		kinds, reads = append(kinds, kind), append(reads, kind[:]...)
	}
	if err := report.drive(ctx, config, reads...); err != nil {
		return err
	}
	for _, kind := range kinds {
		big, small, bigAlone, smallAlone := kind[0], kind[1], kind[2], kind[3]
		report.compareWith(bigAlone, 50, "1 ms", resumeTargetMicros, 1)
		report.compareWith(bigAlone, 99, "1 ms", resumeTargetMicros, 0)
		report.compareTimes(bigAlone.name+" p50 / "+smallAlone.name+" p50", bigAlone.quantile(50), 0,
			smallAlone.quantile(50))
		report.compareRates(big, small, 0)
	}
	return nil
}

// reads returns a subject in which each agent reads one resource of a project.
func (s *server) reads(name, what, project, resource string, agents []agent) *subject {
	path := projectPath(project) + "/" + resource
	one := &subject{name: name, cpu: s.cpu}
	one.connect = func() (fleet, error) {
		request := client.Request{
			Method: "GET", Path: path, Host: s.host, Credential: agents[0].credential,
		}
		answer, err := record(request)
		if err != nil {
			return nil, err
		}
		one.what = fmt.Sprintf("%s; an answer of %.1f kB", what, float64(len(answer))/1000)
		return asked(s.host, request, agents)()
	}
	return one
}
