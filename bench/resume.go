package bench

import (
	"context"
	"fmt"
)

// resumeTargetMicros is how long an agent that comes back may wait, the transport included: half of
// the answers on one connection are to be there by then.
const resumeTargetMicros = 1000

// smallProject is measured beside the big one: the same kind of state, and little of it.
var smallProject = projectSize{changesets: 20, tasks: 5, handoffs: 1}

// projectRead is a read of one project by some connections.
type projectRead struct {
	subject
	path        string
	connections int
}

// readKind is one operation: of the big and the small project, by many connections and by one.
type readKind struct{ big, small, bigAlone, smallAlone *projectRead }

// runResume measures what an agent reads first that takes up the work of others.
func runResume(ctx context.Context, config *Config, report *Report) error {
	srv, err := startServer(ctx, config)
	if err != nil {
		return err
	}
	defer srv.close()
	size := projectSize{config.ResumeChangesets, config.ResumeTasks, config.ResumeHandoffs}
	config.say("resume: filling a project with %v", size)
	big, err := srv.fillProject(ctx, config, size)
	if err != nil {
		return fmt.Errorf("fill the big project: %w", err)
	}
	small, err := srv.fillProject(ctx, config, smallProject)
	if err != nil {
		return fmt.Errorf("fill the small project: %w", err)
	}
	var kinds []readKind
	var reads []*projectRead
	for _, name := range []string{RunResume, RunManifest} {
		if !config.wants(name) {
			continue
		}
		read := func(suffix, project, what string, connections int) *projectRead {
			one := &projectRead{path: projectPath(project) + "/" + name, connections: connections}
			one.name, one.what = name+suffix, what
			reads = append(reads, one)
			return one
		}
		n := config.Connections
		kinds = append(kinds, readKind{
			big:        read("", big, fmt.Sprintf("GET, %v", size), n),
			small:      read("-small", small, fmt.Sprintf("GET, %v", smallProject), n),
			bigAlone:   read("-alone", big, "the big project by one connection", 1),
			smallAlone: read("-small-alone", small, "the small project by one connection", 1),
		})
	}
	if err := srv.driveReads(ctx, config, report, reads); err != nil {
		return err
	}
	for _, one := range kinds {
		one.report(report)
	}
	return nil
}

// driveReads connects the clients of the reads and drives them in turn.
func (s *server) driveReads(
	ctx context.Context, config *Config, report *Report, reads []*projectRead,
) error {
	var subjects []*subject
	defer func() {
		for _, one := range subjects {
			one.fleet.close()
		}
	}()
	for _, one := range reads {
		answer, err := record(s.host, s.api.Credential, one.path)
		if err != nil {
			return err
		}
		one.what += fmt.Sprintf("; an answer of %.1f kB", float64(len(answer))/1000)
		one.cpu = s.cpu
		one.fleet, err = dialHTTP(s.host, one.connections, func(at int) func() []byte {
			return reader(s.host, s.api.Credential, []string{one.path}, at)
		})
		if err != nil {
			return err
		}
		subjects = append(subjects, &one.subject)
	}
	return driveRounds(ctx, config, report, subjects)
}

// report adds how long the big project takes, and whether it takes longer than the small one.
func (k *readKind) report(report *Report) {
	target := make([]float64, len(k.bigAlone.rounds))
	for round := range target {
		target[round] = resumeTargetMicros
	}
	name := k.bigAlone.name
	report.compareTimes(name+" p50 / 1 ms", k.bigAlone.quantile(50), 1, target)
	report.compareTimes(name+" p99 / 1 ms", k.bigAlone.quantile(99), 0, target)
	report.compareTimes(name+" p50 / "+k.smallAlone.name+" p50", k.bigAlone.quantile(50), 0,
		k.smallAlone.quantile(50))
	report.compareRates(&k.big.subject, &k.small.subject, 0)
}
