package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"pws/bench/child"
	"pws/bench/client"
)

// startPatience bounds how long a server may take to start.
const startPatience = 10 * time.Minute

// server is the service: a child with its own folder, or one that was started elsewhere.
type server struct {
	config  *Config
	process *child.Process
	dataDir string
	env     []string
	// listen is where it serves; empty means a free port. arguments are added to those of all servers.
	listen    string
	arguments []string
	// host is its current address.
	host string
	api  *client.API
	// admin receives the address of the metrics, which its log names.
	admin     chan string
	adminHost string
	// acknowledged has the last writes of each connection.
	acknowledged []*acknowledged
}

// startServer starts the service with an empty folder and registers an agent.
func startServer(ctx context.Context, config *Config, env ...string) (*server, error) {
	s := &server{config: config, env: env}
	var err error
	if config.Server != "" {
		if s.host, err = client.HostOf(config.Server); err != nil {
			return nil, err
		}
	} else {
		if s.dataDir, err = os.MkdirTemp(config.Dir, "pws-bench-"); err != nil {
			return nil, err
		}
		if err = s.start(ctx); err != nil {
			return nil, errors.Join(err, os.RemoveAll(s.dataDir))
		}
	}
	s.api = &client.API{Host: s.host}
	if err := s.api.Register(newHandle()); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// start starts the child; it may be called again AFTER the child has ended.
func (s *server) start(ctx context.Context) error {
	listen := s.listen
	if listen == "" {
		listen = net.JoinHostPort(loopbackHost, "0")
	}
	program := child.Program{
		Path: s.config.Program,
		Args: slices.Concat([]string{"serve", "--listen", listen, "--data", s.dataDir}, limitsOff,
			s.arguments),
		Env: s.env,
	}
	if s.config.metrics {
		program.Args = append(program.Args, adminArguments...)
		s.admin, s.adminHost = make(chan string, 1), ""
		program.Line = noteAdmin(s.admin)
	}
	process, err := child.Start(ctx, startPatience, program)
	if err != nil {
		return err
	}
	s.process = process
	if s.host, err = client.HostOf(process.URL); err != nil {
		return err
	}
	if s.api != nil {
		s.api.Close()
		s.api.Host = s.host
	}
	return nil
}

// cpu is the processor time of the server so far, zero if the server is not a child.
func (s *server) cpu() time.Duration {
	if s.process == nil {
		return 0
	}
	return processCPU(s.process)()
}

// processCPU is the processor time of a child, zero AFTER it has ended.
func processCPU(process *child.Process) func() time.Duration {
	return func() time.Duration {
		usage, err := child.ReadUsage(process.PID())
		if err != nil {
			return 0
		}
		return usage.CPU
	}
}

// close ends the child and removes its folder.
func (s *server) close() {
	if s.api != nil {
		s.api.Close()
	}
	if s.process != nil {
		s.process.Kill()
	}
	if s.dataDir != "" {
		// A folder that cannot be removed stays in the temporary folder of the system.
		_ = os.RemoveAll(s.dataDir)
	}
}

// setupConnections bounds the connections that prepare a run.
const setupConnections = 32

// each calls the function for the numbers below n, on several connections of the same agent.
func (s *server) each(ctx context.Context, n int, call func(api *client.API, at int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	numbers := make(chan int)
	go func() {
		defer close(numbers)
		for i := range n {
			select {
			case numbers <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	var group sync.WaitGroup
	failures := make([]error, min(n, setupConnections))
	for slot := range failures {
		group.Go(func() {
			api := &client.API{Host: s.host, Credential: s.api.Credential}
			defer api.Close()
			for i := range numbers {
				if err := call(api, i); err != nil {
					failures[slot] = err
					cancel()
					return
				}
			}
		})
	}
	group.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return ctx.Err()
}

// createProjects creates projects and returns their IDs.
func (s *server) createProjects(ctx context.Context, n int) ([]string, error) {
	return s.create(ctx, n, (*client.API).CreateProject)
}

func (s *server) createPublicProjects(ctx context.Context, n int) ([]string, error) {
	return s.create(ctx, n, (*client.API).CreatePublicProject)
}

func (s *server) create(
	ctx context.Context, n int, create func(api *client.API, name string) (client.Project, error),
) ([]string, error) {
	ids := make([]string, n)
	err := s.each(ctx, n, func(api *client.API, at int) error {
		project, err := create(api, fmt.Sprintf("Benchmark %d", at))
		ids[at] = project.ID
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create projects: %w", err)
	}
	return ids, nil
}

// publish publishes a changeset on a base, and returns its ID.
func publish(api *client.API, project, base string, operations []fillOperation) (string, error) {
	var data struct {
		Changeset struct {
			ID string `json:"id"`
		} `json:"changeset"`
	}
	_, err := api.Post(projectPath(project)+"/changesets", client.RandomKey(),
		map[string]any{"base_changeset_id": base, "operations": operations}, &data)
	return data.Changeset.ID, err
}

// putFile writes one file.
func putFile(api *client.API, path string, content []byte) error {
	body, err := client.EncodeJSON(map[string]string{"content": string(content)})
	if err != nil {
		return err
	}
	if _, err = api.Call(client.Request{Method: "PUT", Path: path, Body: body}, nil); err != nil {
		return fmt.Errorf("PUT %s: %w", path, err)
	}
	return nil
}

// newHandle is a handle that no agent has.
func newHandle() string { return "bench-" + client.RandomKey()[:16] }

// agent is one agent with an open session.
type agent struct{ handle, credential string }

// registerAgents registers n agents. Runs in which many agents work at once need them, because some
// limits are for each agent.
func (s *server) registerAgents(ctx context.Context, n int) ([]agent, error) {
	agents := make([]agent, n)
	err := s.each(ctx, n, func(_ *client.API, at int) error {
		api := &client.API{Host: s.host}
		defer api.Close()
		handle := newHandle()
		err := api.Register(handle)
		agents[at] = agent{handle, api.Credential}
		return err
	})
	return agents, err
}
