package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"pws/bench/child"
)

// baseline is another server to compare the service with, a child process with a folder of its own.
type baseline struct {
	process *child.Process
	dir     string
	address string
}

// errAbsent means that a program to compare with is not installed.
var errAbsent = errors.New("is not on this machine")

// servePatience bounds how long another program may take to start.
const servePatience = 30 * time.Second

// startBaseline starts a program that keeps its data in the folder and listens for clients on the
// first of two free loopback ports. It returns errAbsent if there is no such program.
func startBaseline(
	ctx context.Context, config *Config, program string,
	args func(dir string, ports []string) []string,
) (*baseline, error) {
	ports, err := freePorts(loopbackHost, 2)
	if err != nil {
		return nil, err
	}
	return startBaselineAt(ctx, config, program, ports, args)
}

// startBaselineAt is startBaseline with ports that the caller has chosen.
func startBaselineAt(
	ctx context.Context, config *Config, program string, ports []string,
	args func(dir string, ports []string) []string,
) (*baseline, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%s %w", program, errAbsent)
	}
	b := &baseline{address: net.JoinHostPort(loopbackHost, ports[0])}
	if b.dir, err = os.MkdirTemp(config.Dir, "baseline-bench-"); err != nil {
		return nil, err
	}
	b.process, err = child.StartQuiet(ctx, child.Program{Path: path, Args: args(b.dir, ports)})
	if err == nil {
		err = awaitPort(ctx, b.process, b.address)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// subject returns a workload for the server. It is skipped if there is no server.
func (b *baseline) subject(name, what string, connect func() connect) *subject {
	if b == nil {
		return &subject{name: name, what: what, skip: true}
	}
	return &subject{name: name, what: what, cpu: b.cpu, connect: connect()}
}

// cpu is the processor time used so far.
func (b *baseline) cpu() time.Duration { return processCPU(b.process)() }

// close ends the child and removes its folder; a nil baseline has none.
func (b *baseline) close() {
	if b == nil {
		return
	}
	if b.process != nil {
		b.process.Kill()
	}
	// A folder that cannot be removed stays in the temporary folder of the system.
	_ = os.RemoveAll(b.dir)
}

// loopbackHost is where servers listen, unless several of them have addresses of their own.
const loopbackHost = "127.0.0.1"

// freePorts finds ports of a loopback address that are not in use.
func freePorts(host string, n int) ([]string, error) {
	var ports []string
	for range n {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			return nil, err
		}
		// All listeners stay open until the last port is found, so that the ports differ.
		defer listener.Close()
		_, port, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// awaitPort returns when a process listens on the port, or the child has ended.
func awaitPort(ctx context.Context, process *child.Process, address string) error {
	ctx, cancel := context.WithTimeout(ctx, servePatience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ticker.C:
		case <-process.Done():
			return fmt.Errorf("the server for %s ended before it served", address)
		case <-ctx.Done():
			return fmt.Errorf("no server at %s: %w", address, ctx.Err())
		}
	}
}
