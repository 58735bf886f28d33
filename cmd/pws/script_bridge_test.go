package main

import (
	"bufio"
	"encoding/json"
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

// bridgeProcess is a running pws mcp, and what its host knows.
type bridgeProcess struct {
	command *exec.Cmd
	in      io.WriteCloser
	lines   chan string
	// kept are answers that arrived while another one was awaited.
	kept   []string
	serial int
	// sent is the id of the last call.
	sent int
	// resident is the memory after the last command bridge-many, in KiB.
	resident int
}

func bridgeCommands() map[string]command {
	return map[string]command{
		"bridge":         wrap((*script).startBridge),
		"bridge-line":    wrap((*script).bridgeLine),
		"bridge-call":    wrap((*script).bridgeCall),
		"bridge-send":    wrap((*script).bridgeSend),
		"bridge-answer":  wrap((*script).bridgeAnswer),
		"bridge-many":    wrap((*script).bridgeMany),
		"bridge-compare": wrap((*script).bridgeCompare),
		"bridge-first":   wrap((*script).bridgeFirst),
		"bridge-end":     wrap((*script).bridgeEnd),
	}
}

// bridgeVariables are those of the script that a bridge gets.
var bridgeVariables = []string{
	"HOME", "PATH", "GORACE", "PWS_SERVER", "PWS_PROFILE", "PWS_PROJECT", "PWS_TOKEN", "PWS_KEY_FILE",
}

// startBridge starts pws mcp. Its standard error is appended to the file bridge.log.
//
//	bridge NAME [FLAG...]
func (s *script) startBridge(ts *testscript.TestScript, args []string) error {
	if len(args) == 0 || s.bridges[args[0]] != nil {
		return errors.New("usage: bridge NAME [FLAG...], with another name")
	}
	name, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(s.work, "bridge.log"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	command := exec.Command(name)
	command.Args = append([]string{"pws", "mcp"}, args[1:]...)
	command.Dir, command.Stderr = ts.MkAbs("."), log
	for _, variable := range bridgeVariables {
		if value := ts.Getenv(variable); value != "" {
			command.Env = append(command.Env, variable+"="+value)
		}
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	b := &bridgeProcess{command: command, lines: make(chan string, 1<<12)}
	if b.in, err = command.StdinPipe(); err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	go b.read(out)
	if s.bridges == nil {
		s.bridges = map[string]*bridgeProcess{}
	}
	s.bridges[args[0]] = b
	return nil
}

// read passes on lines until the end of the output.
func (b *bridgeProcess) read(out io.Reader) {
	defer close(b.lines)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		b.lines <- strings.TrimSuffix(line, "\n")
	}
}

// send sends a line.
func (b *bridgeProcess) send(line string) error {
	_, err := io.WriteString(b.in, line+"\n")
	return err
}

// answer waits for the answer to an id, which is JSON.
func (b *bridgeProcess) answer(id string) (string, error) {
	begin := `{"jsonrpc":"2.0","id":` + id + `,`
	is := func(line string) bool { return strings.HasPrefix(line, begin) }
	if at := slices.IndexFunc(b.kept, is); at >= 0 {
		line := b.kept[at]
		b.kept = slices.Delete(b.kept, at, at+1)
		return line, nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case line, more := <-b.lines:
			if !more {
				return "", errors.New("the bridge has ended")
			}
			if is(line) {
				return line, nil
			}
			b.kept = append(b.kept, line)
		case <-timer.C:
			return "", fmt.Errorf("no answer to %s, but %q", id, b.kept)
		}
	}
}

func (b *bridgeProcess) call(tool, arguments string) (id string, err error) {
	b.serial++
	return fmt.Sprint(b.serial), b.send(fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
		b.serial, tool, arguments))
}

// bridgeLine sends a line and waits for the answer to an id, which is JSON.
//
//	bridge-line NAME ID LINE
func (s *script) bridgeLine(_ *testscript.TestScript, args []string) error {
	if len(args) != 3 || s.bridges[args[0]] == nil {
		return errors.New("usage, with a bridge that runs: bridge-line NAME ID LINE")
	}
	b := s.bridges[args[0]]
	if err := b.send(s.expand(args[2])); err != nil {
		return err
	}
	line, err := b.answer(args[1])
	if err != nil {
		return err
	}
	s.last = &reply{method: "POST", target: "/mcp", status: 200, body: []byte(line)}
	s.last.decode()
	return nil
}

// bridgeCall calls a tool. The answer is checked like that of the command mcp.
//
//	bridge-call NAME [-get NAME=PATH] TOOL ARGUMENTS ok|CODE
func (s *script) bridgeCall(ts *testscript.TestScript, args []string) error {
	_, keep, rest, err := s.options(args[1:])
	if err != nil {
		return err
	}
	if len(rest) != 3 {
		return errors.New("usage: bridge-call NAME [-get NAME=PATH] TOOL ARGUMENTS ok|CODE")
	}
	if err := s.bridgeSend(ts, []string{args[0], rest[0], rest[1]}); err != nil {
		return err
	}
	if err := s.bridgeAnswer(ts, []string{args[0], rest[2]}); err != nil {
		return err
	}
	for name, path := range keep {
		value, err := s.value(path)
		if err != nil {
			return err
		}
		s.set(ts, name, textOf(value))
	}
	return nil
}

// bridgeSend calls a tool and does not wait for its answer.
//
//	bridge-send NAME TOOL ARGUMENTS
func (s *script) bridgeSend(_ *testscript.TestScript, args []string) error {
	if len(args) != 3 || s.bridges[args[0]] == nil {
		return errors.New("usage, with a bridge that runs: bridge-send NAME TOOL ARGUMENTS")
	}
	b := s.bridges[args[0]]
	_, err := b.call(args[1], s.expand(args[2]))
	b.sent = b.serial
	return err
}

// bridgeAnswer waits for the answer to the last call.
//
//	bridge-answer NAME ok|CODE
func (s *script) bridgeAnswer(_ *testscript.TestScript, args []string) error {
	if len(args) != 2 || s.bridges[args[0]] == nil {
		return errors.New("usage, with a bridge that runs: bridge-answer NAME ok|CODE")
	}
	b := s.bridges[args[0]]
	line, err := b.answer(fmt.Sprint(b.sent))
	if err != nil {
		return err
	}
	got := &reply{method: "POST", target: "/mcp", status: 200, body: []byte(line)}
	s.last = got
	code, said, err := bridgeResult(line)
	if err != nil {
		return err
	}
	got.json = said
	if want := args[1]; code != want {
		return mismatchf("%s, not %s", code, want)
	}
	return nil
}

// bridgeResult returns the code of a call's answer, ok for success, and its parts: the data, also
// as error, and the texts.
func bridgeResult(line string) (code string, said map[string]any, err error) {
	var answer struct {
		Result struct {
			Content []struct{ Text string } `json:"content"`
			Data    map[string]any          `json:"structuredContent"`
			IsError bool                    `json:"isError"`
		} `json:"result"`
		Error map[string]any `json:"error"`
	}
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&answer); err != nil {
		return "", nil, err
	}
	said = map[string]any{"data": any(answer.Result.Data), "error": any(answer.Result.Data)}
	texts := []any{}
	for _, one := range answer.Result.Content {
		texts = append(texts, one.Text)
	}
	said["texts"] = texts
	switch {
	case answer.Error != nil:
		said["error"] = answer.Error
		return fmt.Sprint(answer.Error["code"]), said, nil
	case answer.Result.IsError:
		return fmt.Sprint(answer.Result.Data["code"]), said, nil
	}
	return "ok", said, nil
}

// bridgeMany calls a tool many times at once and expects an answer of success to each. The memory
// of the process may then be larger than after the last time by so many KiB.
//
//	bridge-many NAME COUNT TOOL ARGUMENTS [GROWTH]
func (s *script) bridgeMany(_ *testscript.TestScript, args []string) error {
	if len(args) < 4 || s.bridges[args[0]] == nil {
		return errors.New("usage: bridge-many NAME COUNT TOOL ARGUMENTS [GROWTH]")
	}
	b := s.bridges[args[0]]
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	first, sent := b.serial+1, make(chan error, 1)
	go func() {
		var failed error
		for range count {
			_, err := b.call(args[2], s.expand(args[3]))
			failed = errors.Join(failed, err)
		}
		sent <- failed
	}()
	for id := first; id < first+count; id++ {
		line, err := b.answer(strconv.Itoa(id))
		if err != nil {
			return err
		}
		if code, _, err := bridgeResult(line); err != nil || code != "ok" {
			return mismatchf("%s: %s, %v", code, line, err)
		}
	}
	before := b.resident
	b.resident = residentKiB(b.command.Process.Pid)
	if len(args) > 4 {
		growth, err := strconv.Atoi(args[4])
		if err != nil {
			return err
		}
		if b.resident > before+growth {
			return mismatchf("%d KiB of memory, after %d", b.resident, before)
		}
	}
	return <-sent
}

// residentKiB is the memory of a process in KiB, zero where the system does not say.
func residentKiB(pid int) (kib int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	_, _ = fmt.Sscan(after, &kib)
	return kib
}

// bridgeFirst starts bridges until the first answer of one comes within that time. A busy machine
// delays some.
//
//	bridge-first MILLISECONDS [FLAG...]
func (s *script) bridgeFirst(ts *testscript.TestScript, args []string) error {
	limit, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	const attempts, name = 30, "first"
	best := patience
	for range attempts {
		begun := time.Now()
		if err := s.startBridge(ts, append([]string{name}, args[1:]...)); err != nil {
			return err
		}
		if err := s.bridgeLine(ts, []string{name, "0", `{"jsonrpc":"2.0","id":0,` +
			`"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`}); err != nil {
			return err
		}
		best = min(best, time.Since(begun))
		if err := s.bridgeEnd(ts, []string{name}); err != nil {
			return err
		}
		if best <= time.Duration(limit)*time.Millisecond {
			return nil
		}
	}
	return mismatchf("the first answer takes %s", best)
}

// bridgeEnd ends a bridge by the end of its input, or by a signal, and expects exit code 0.
//
//	bridge-end NAME [TERM]
func (s *script) bridgeEnd(_ *testscript.TestScript, args []string) error {
	b := s.bridges[args[0]]
	if b == nil {
		return errors.New("no such bridge runs")
	}
	delete(s.bridges, args[0])
	if len(args) > 1 {
		if err := b.command.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
	} else if err := b.in.Close(); err != nil {
		return err
	}
	timer := time.AfterFunc(patience, func() { _ = b.command.Process.Kill() })
	defer timer.Stop()
	for range b.lines {
		// What is still said.
	}
	return b.command.Wait()
}

func (s *script) killBridges() {
	for _, b := range s.bridges {
		_ = b.command.Process.Kill()
		for range b.lines {
			// What was still said.
		}
		_ = b.command.Wait()
	}
}
