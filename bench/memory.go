package bench

import (
	"context"
	"fmt"
	"time"

	"pws/bench/child"
	"pws/bench/client"
)

// MemoryResult is the server's memory for each project and each operation. Contents do not count:
// they are always the same few, and the service stores each once.
type MemoryResult struct {
	EmptyBytes          int64   `json:"empty_bytes"`
	Projects            int     `json:"projects"`
	PassiveProjectBytes float64 `json:"passive_project_bytes"`
	ActiveProjectBytes  float64 `json:"active_project_bytes"`
	Operations          int     `json:"operations"`
	OperationBytes      float64 `json:"operation_bytes"`
}

// memoryEnv makes the garbage collector keep little more than the live heap, so that the resident
// memory is close to it. This costs time, but no rate is measured here.
var memoryEnv = []string{"GOGC=10", "PWS_GC_HEADROOM=0"}

// The pause between two readings of the memory, the number of readings without a drop by a
// percentage AFTER which it counts as settled, and the longest wait. A server collects what it does
// not need some 15 s AFTER its last request.
const (
	settlePause   = 4 * time.Second
	settleLooks   = 6
	settlePercent = 1
	settleMax     = 3 * time.Minute
	stopPatience  = 2 * time.Minute
)

// runMemory fills servers, restarts them with SIGTERM and measures their resident memory. After the
// restart all projects are passive; those that are read become active.
func runMemory(ctx context.Context, srv *server, report *Report) error {
	result := &MemoryResult{Projects: srv.config.MemoryProjects}
	if err := srv.memoryOfProjects(ctx, result); err != nil {
		return err
	}
	if err := memoryOfOperations(ctx, srv.config, result); err != nil {
		return err
	}
	report.Memory = result
	return nil
}

func (s *server) memoryOfProjects(ctx context.Context, result *MemoryResult) error {
	s.config.say("memory: filling %d projects", result.Projects)
	if err := s.restartInOrder(ctx); err != nil {
		return err
	}
	var err error
	if result.EmptyBytes, err = s.settledMemory(ctx); err != nil {
		return err
	}
	projects, err := s.createProjects(ctx, result.Projects)
	if err != nil {
		return err
	}
	content := newFiller(0, contentBytes).next()
	err = s.each(ctx, len(projects), func(api *client.API, at int) error {
		return putFile(api, filePath(projects[at], "notes.txt"), content)
	})
	if err != nil {
		return err
	}
	if err := s.restartInOrder(ctx); err != nil {
		return err
	}
	passive, err := s.settledMemory(ctx)
	if err != nil {
		return err
	}
	active, err := s.touch(ctx, projects, "notes.txt")
	if err != nil {
		return err
	}
	n := float64(len(projects))
	result.PassiveProjectBytes = float64(passive-result.EmptyBytes) / n
	result.ActiveProjectBytes = float64(active-result.EmptyBytes) / n
	return nil
}

// These operations are in few projects, so that the projects' own memory does not count.
const (
	operationProjects     = 8
	operationsPerRequest  = 100
	operationContentKinds = 16
)

func memoryOfOperations(ctx context.Context, config *Config, result *MemoryResult) error {
	config.say("memory: filling %d operations", config.MemoryOperations)
	srv, err := startServer(ctx, config, memoryEnv...)
	if err != nil {
		return err
	}
	defer srv.close()
	projects, err := srv.createProjects(ctx, operationProjects)
	if err != nil {
		return err
	}
	requests := config.MemoryOperations / operationsPerRequest / operationProjects
	err = srv.each(ctx, operationProjects, func(api *client.API, at int) error {
		return fillOperations(api, projects[at], requests)
	})
	if err != nil {
		return err
	}
	if err := srv.restartInOrder(ctx); err != nil {
		return err
	}
	active, err := srv.touch(ctx, projects, "src/file-0.txt")
	if err != nil {
		return err
	}
	result.Operations = requests * operationsPerRequest * operationProjects
	if result.Operations > 0 {
		result.OperationBytes = float64(active-result.EmptyBytes) / float64(result.Operations)
	}
	return nil
}

type fillOperation struct {
	Action  string `json:"action"`
	Path    string `json:"path"`
	Content string `json:"content"`
}

// fillOperations publishes changesets of 100 operations, each on the current head.
func fillOperations(api *client.API, project string, requests int) error {
	var head struct {
		Project client.Project `json:"project"`
	}
	if err := api.Get("/api/v1/projects/"+project, &head); err != nil {
		return err
	}
	base := head.Project.Head
	for request := range requests {
		operations := make([]fillOperation, operationsPerRequest)
		for i := range operations {
			operations[i] = fillOperation{
				Action: "MODIFY", Path: fmt.Sprintf("src/file-%d.txt", i),
				Content: fmt.Sprintf("kind %d\n", (request+i)%operationContentKinds),
			}
			if request == 0 {
				operations[i].Action = "CREATE"
			}
		}
		var err error
		if base, err = publish(api, project, base, operations); err != nil {
			return err
		}
	}
	return nil
}

// restartInOrder stops the server with SIGTERM and starts it again.
func (s *server) restartInOrder(ctx context.Context) error {
	if err := s.process.Stop(stopPatience); err != nil {
		return err
	}
	return s.start(ctx)
}

// touch reads one file of each project and returns the server's memory afterwards.
func (s *server) touch(ctx context.Context, projects []string, path string) (int64, error) {
	err := s.each(ctx, len(projects), func(api *client.API, at int) error {
		return api.Get(filePath(projects[at], path), nil)
	})
	if err != nil {
		return 0, err
	}
	return s.settledMemory(ctx)
}

// settledMemory waits until the memory has stopped falling, because the Go runtime returns freed
// memory to the system gradually.
func (s *server) settledMemory(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, settleMax)
	defer cancel()
	ticker := time.NewTicker(s.config.settlePause)
	defer ticker.Stop()
	lowest, looks := int64(-1), 0
	for {
		usage, err := child.ReadUsage(s.process.PID())
		if err != nil {
			return 0, err
		}
		looks++
		if lowest < 0 || usage.ResidentBytes < lowest-lowest*settlePercent/100 {
			lowest, looks = usage.ResidentBytes, 0
		}
		if looks == settleLooks {
			return min(lowest, usage.ResidentBytes), nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			if context.Cause(ctx) == context.DeadlineExceeded {
				return lowest, nil
			}
			return 0, ctx.Err()
		}
	}
}
