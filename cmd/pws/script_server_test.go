package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// server is a running program. Its log is the file server.log of the script.
type server struct {
	command *exec.Cmd
	log     *os.File
	address string
	// pages is the address of the web page, which may be another one.
	pages   string
	limited bool
}

// patience bounds every wait for the program. A script that reaches it has failed.
const patience = 60 * time.Second

// serve starts the program on a free port and waits until it serves. Without flags it uses those of
// the previous start. The data directory is the folder "data" of the script, so that a restart
// finds the data.
//
//	serve [FLAG...]
func (s *script) serve(ts *testscript.TestScript, args []string) error {
	if s.server != nil {
		return errors.New("a server runs already")
	}
	if len(args) > 0 {
		s.flags = args
	}
	started, err := s.launch(ts, "server.log", append([]string{"--data", "data"}, s.flags...))
	if err != nil {
		return err
	}
	s.address(ts, started)
	return nil
}

// launch starts a server with flags and waits until it serves.
func (s *script) launch(
	ts *testscript.TestScript, logName string, flags []string,
) (*server, error) {
	name, err := programFor(ts.Name())
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(s.work, logName),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	command := exec.Command(name)
	command.Args = append([]string{"pws", "serve", "--listen", "127.0.0.1:0"}, flags...)
	command.Dir = s.work
	command.Env = os.Environ()
	for _, name := range []string{"PWS_RATE_LIMIT", "PWS_LOG_LEVEL", "PWS_CONFIG", "GOMEMLIMIT"} {
		if value := ts.Getenv(name); value != "" {
			command.Env = append(command.Env, name+"="+value)
		}
	}
	command.Stderr = log
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	timer := time.AfterFunc(patience, func() { _ = command.Process.Kill() })
	defer timer.Stop()
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	address, found := strings.CutPrefix(line, "listening on http://")
	if err != nil || !found {
		_ = command.Process.Kill()
		_ = command.Wait()
		return nil, fmt.Errorf("the server said %q: %v\n%s", line, err, ts.ReadFile(logName))
	}
	started := &server{
		command: command, log: log, address: strings.TrimSpace(address),
		limited: !strings.Contains(strings.Join(flags, " "), "--rate-limits off"),
	}
	started.pages = started.address
	if slices.Contains(flags, "--web-listen") {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, err
		}
		started.pages = strings.TrimPrefix(strings.TrimSpace(line), "web page on http://")
	}
	return started, nil
}

// address has the requests that follow go to a server.
func (s *script) address(ts *testscript.TestScript, to *server) {
	s.server = to
	ts.Setenv("address", to.address)
	s.set(ts, "pages", to.pages)
	s.set(ts, "main", to.address)
}

// programFor is the path of the program that a script starts: the test binary, or
// PWS_RACED_PROGRAM, which is built with the race detector, for the scripts in PWS_RACED_SCRIPTS,
// which are separated by |.
func programFor(script string) (string, error) {
	if slices.Contains(strings.Split(os.Getenv("PWS_RACED_SCRIPTS"), "|"), script) {
		return os.Getenv("PWS_RACED_PROGRAM"), nil
	}
	return os.Executable()
}

// shutdown stops the server by a signal, SIGTERM by default, and expects exit code 0, which also
// means that the race detector found nothing.
//
//	shutdown [HUP|INT]
func (s *script) shutdown(ts *testscript.TestScript, args []string) error {
	if s.server == nil {
		return errors.New("no server runs")
	}
	ask := syscall.SIGTERM
	switch strings.Join(args, " ") {
	case "":
	case "HUP":
		ask = syscall.SIGHUP
	case "INT":
		ask = syscall.SIGINT
	default:
		return errors.New("usage: shutdown [HUP|INT]")
	}
	s.client.idle()
	ended := s.server
	s.server = nil
	timer := time.AfterFunc(patience, func() { _ = ended.command.Process.Kill() })
	defer timer.Stop()
	if err := ended.command.Process.Signal(ask); err != nil {
		return err
	}
	err := ended.command.Wait()
	_ = ended.log.Close()
	if err != nil {
		return fmt.Errorf("the server ended with %w\n%s", err, ts.ReadFile("server.log"))
	}
	return nil
}

// crash kills the server.
func (s *script) crash(ts *testscript.TestScript, _ []string) error {
	if s.server == nil {
		return errors.New("no server runs")
	}
	s.client.idle()
	s.server.kill()
	s.server = nil
	if strings.Contains(ts.ReadFile("server.log"), "DATA RACE") {
		return errors.New("data race:\n" + ts.ReadFile("server.log"))
	}
	return nil
}

// killNow kills the process and does not wait for it.
func (v *server) killNow() { _ = v.command.Process.Kill() }

func (v *server) kill() {
	_ = v.command.Process.Kill()
	_ = v.command.Wait()
	_ = v.log.Close()
}

// exits runs the program to its end and expects an exit code; the commands stdout and stderr check
// the output.
//
//	exits CODE ARG...
func (s *script) exits(ts *testscript.TestScript, args []string) error {
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	got := 0
	if err := ts.Exec("pws", args[1:]...); err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			return err
		}
		got = ended.ExitCode()
	}
	if got != want {
		return mismatchf("exit code %d, not %d", got, want)
	}
	return nil
}

// damage changes the last file that matches a pattern: flip inverts the byte at an offset, from the
// end if it is negative; append adds bytes; cut removes bytes from the end.
//
//	damage PATTERN flip OFFSET | append TEXT | cut BYTES
func (s *script) damage(ts *testscript.TestScript, args []string) error {
	if len(args) != 3 {
		return errors.New("usage: damage PATTERN flip|append|cut VALUE")
	}
	names, err := filepath.Glob(ts.MkAbs(args[0]))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no file matches %s: %v", args[0], err)
	}
	name := names[len(names)-1]
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if args[1] == "append" {
		data = append(data, args[2]...)
		return os.WriteFile(name, data, 0o600)
	}
	at, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	switch args[1] {
	case "flip":
		if at < 0 {
			at += len(data)
		}
		data[at] ^= 0xff
	case "cut":
		data = data[:len(data)-at]
	default:
		return fmt.Errorf("unknown damage %q", args[1])
	}
	return os.WriteFile(name, data, 0o600)
}

// advance moves the clock of a server that runs with --test-clock.
//
//	advance SECONDS
func (s *script) advance(_ *testscript.TestScript, args []string) error {
	sent := &request{
		method: "POST", target: "/test/clock",
		body: []byte(`{"advance_seconds":` + args[0] + `}`),
	}
	return s.expect(sent, 200, "")
}

// copyOf reads all of r without a size limit; the server bounds its answers.
func copyOf(r io.Reader) ([]byte, error) {
	var all bytes.Buffer
	_, err := io.Copy(&all, r)
	return all.Bytes(), err
}
