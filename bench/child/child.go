// Package child runs other programs as child processes that never outlive this one, and reads their
// resource usage.
package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// logTailLines is how much of a child's standard error is kept to explain a failure.
const logTailLines = 20

// Announcement is the prefix of the line on standard output in which a child gives its address.
const Announcement = "listening on "

// Process is a running child.
type Process struct {
	// URL is the rest of the line that announces the server.
	URL string
	// Ready is the time from the start to the announcement.
	Ready time.Duration

	command *exec.Cmd
	done    chan struct{}
	mu      struct {
		sync.Mutex
		log  []string
		exit error
	}
}

// Program is a program to run. Env is added to the environment of this process.
type Program struct {
	Path string
	Args []string
	Env  []string
	// Line is called with each line of standard error, unless it is nil.
	Line func(text string)
}

// Start runs a program and returns when it has announced its address. The child is killed when the
// context ends, when the announcement takes longer than the patience, and by the kernel when this
// process dies.
func Start(ctx context.Context, patience time.Duration, program Program) (*Process, error) {
	begun := time.Now()
	p, announced, err := spawn(ctx, program)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case url := <-announced:
		p.URL, p.Ready = url, time.Since(begun)
		return p, nil
	case <-p.done:
		select {
		case url := <-announced:
			return nil, fmt.Errorf("%s announced %s and ended: %w", program.Path, url, p.failure())
		default:
			return nil, fmt.Errorf("%s ended before it served: %w", program.Path, p.failure())
		}
	case <-timer.C:
		p.Kill()
		return nil, fmt.Errorf("%s did not serve within %v: %w", program.Path, patience, p.failure())
	}
}

// StartQuiet runs a program that announces nothing; the caller checks when it is ready.
func StartQuiet(ctx context.Context, program Program) (*Process, error) {
	p, _, err := spawn(ctx, program)
	return p, err
}

// Output runs a program to its end and returns its standard output.
func Output(ctx context.Context, program Program) ([]byte, error) {
	command := exec.CommandContext(ctx, program.Path, program.Args...)
	command.Env = append(command.Environ(), program.Env...)
	command.SysProcAttr = attributes()
	out, err := command.Output()
	failed := new(exec.ExitError)
	if errors.As(err, &failed) {
		err = fmt.Errorf("%w\n%s", err, failed.Stderr)
	}
	return out, err
}

func spawn(ctx context.Context, program Program) (*Process, <-chan string, error) {
	command := exec.CommandContext(ctx, program.Path, program.Args...)
	command.Env = append(command.Environ(), program.Env...)
	command.SysProcAttr = attributes()
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	stderr, err := command.StderrPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := command.Start(); err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", program.Path, err)
	}
	p := &Process{command: command, done: make(chan struct{})}
	announced := make(chan string, 1)
	go p.watch(stdout, stderr, announced, program.Line)
	return p, announced, nil
}

// watch reads both streams to the end BEFORE it waits for the process, as package exec requires.
func (p *Process) watch(
	stdout, stderr io.Reader, announced chan<- string, line func(text string),
) {
	var readers sync.WaitGroup
	readers.Go(func() { p.read(stderr, nil, line) })
	readers.Go(func() { p.read(stdout, announced, nil) })
	readers.Wait()
	err := p.command.Wait()
	p.mu.Lock()
	p.mu.exit = err
	p.mu.Unlock()
	close(p.done)
}

func (p *Process) read(
	stream io.Reader, announced chan<- string, line func(text string),
) {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text := lines.Text()
		if url, found := strings.CutPrefix(text, Announcement); found && announced != nil {
			announced <- strings.TrimSpace(url)
			announced = nil
			continue
		}
		if line != nil {
			line(text)
		}
		p.mu.Lock()
		p.mu.log = append(p.mu.log, text)
		if len(p.mu.log) > logTailLines {
			p.mu.log = p.mu.log[1:]
		}
		p.mu.Unlock()
	}
	// A line that is larger than the buffer ends the scanner; the pipe must not fill up.
	_, _ = io.Copy(io.Discard, stream)
}

func (p *Process) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := strings.Join(p.mu.log, "\n")
	if p.mu.exit != nil {
		return fmt.Errorf("%w\n%s", p.mu.exit, text)
	}
	return errors.New(text)
}

// PID is the process id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Kill ends the child with SIGKILL and returns AFTER it has ended.
func (p *Process) Kill() {
	// An error means that the process has already ended.
	_ = p.command.Process.Kill()
	<-p.done
}

// Stop sends SIGTERM, waits up to the patience, and returns the exit error of the child.
func (p *Process) Stop(patience time.Duration) error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil &&
		!errors.Is(err, os.ErrProcessDone) {
		return err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.Kill()
		return fmt.Errorf("did not stop within %v", patience)
	}
	p.mu.Lock()
	exit := p.mu.exit
	p.mu.Unlock()
	if exit != nil {
		return p.failure()
	}
	return nil
}

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }
