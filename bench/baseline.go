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

// baseline is another server that the service is compared with, a child on a folder of its own.
type baseline struct {
	process *child.Process
	dir     string
	address string
}

// errAbsent says that a program to compare with is not on the machine.
var errAbsent = errors.New("is not on this machine")

// servePatience bounds how long another program may take to serve.
const servePatience = 30 * time.Second

// startBaseline runs a program that keeps its data in the folder and serves on the loopback, its
// clients on the first of two free ports. It returns errAbsent where there is no such program.
func startBaseline(
	ctx context.Context, config *Config, program string,
	args func(dir string, ports []string) []string,
) (*baseline, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%s %w", program, errAbsent)
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	b := &baseline{address: "127.0.0.1:" + ports[0]}
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

// subject is one that drives the server, skipped where that is nil.
func (b *baseline) subject(name, what string, connect func() connect) *subject {
	if b == nil {
		return &subject{name: name, what: what, skip: true}
	}
	return &subject{name: name, what: what, cpu: b.cpu, connect: connect()}
}

// cpu is its processor time so far.
func (b *baseline) cpu() time.Duration { return processCPU(b.process)() }

// close ends the child and removes its folder; a nil baseline has none.
func (b *baseline) close() {
	if b == nil {
		return
	}
	if b.process != nil {
		b.process.Kill()
	}
	// What cannot be removed stays in the temporary folder of the system.
	_ = os.RemoveAll(b.dir)
}

// freePorts finds ports of the loopback that are not in use.
func freePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		// All stay open until all are found, so that they differ.
		defer listener.Close()
		_, port, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// awaitPort returns once a process listens there or the child has ended.
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
