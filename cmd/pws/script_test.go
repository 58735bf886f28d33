package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite the expected parts of the scripts")

// scriptsDir holds one script per noun. script_client_test.go says what a line of them can be.
const scriptsDir = "../../testdata/scripts"

// TestMain lets this binary be the program: scripts run it under the name pws, so that a run with
// the race detector has it in the server too.
func TestMain(m *testing.M) {
	testscript.Main(leakTested{m}, map[string]func(){"pws": main})
}

// leakTested fails a run that leaves goroutines behind.
type leakTested struct{ *testing.M }

func (m leakTested) Run() int {
	// A process that ignores SIGHUP, as nohup has it do, passes that on to the servers it starts. One
	// that catches the signal does not.
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	code := m.M.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// TestScripts runs the scripts against the program, and fails when they leave an operation of the
// table or an error code that it declares untried.
func TestScripts(t *testing.T) {
	tried := newCoverage()
	passed := t.Run("script", func(t *testing.T) {
		testscript.Run(t, scriptParams(scriptsDir, tried))
	})
	files, err := filepath.Glob(scriptsDir + "/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if !passed || tried.scripts() < len(files) {
		t.Log("some scripts failed or were left out: what they cover is not checked")
		return
	}
	for _, missing := range tried.missing() {
		t.Error(missing)
	}
}

// scriptParams are how the scripts of a folder run.
func scriptParams(dir string, tried *coverage) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                commands(),
		Condition:           conditions,
		Setup: func(env *testscript.Env) error {
			tried.begin()
			s := &script{tried: tried, work: env.WorkDir, vars: map[string]string{}}
			s.client = newClient()
			env.Values[scriptKey{}] = s
			// A script has a small environment; how the race detector reports belongs to it.
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Defer(s.end)
			return nil
		},
	}
}

// scriptKey is where a test script carries its state.
type scriptKey struct{}

// script is the state of one running script.
type script struct {
	tried  *coverage
	work   string
	server *server
	flags  []string
	client *client
	// caller is the name of the agent whose credential is sent, empty for nobody.
	caller string
	agents map[string]*agent
	keys   map[string]*keyPair
	// vars are the variables of the script's own commands, which may be too large for the
	// environment of a process.
	vars map[string]string
	last *reply
	// sent is what was last sent by the command api, examples what is recorded of it.
	sent     *request
	examples *recorder
	// schemas are those of the tools, once one was called.
	schemas map[string]*toolSchemas
	// repeating is set while times is about to do the same once more.
	repeating bool
	// acked are the files whose writes flood saw acknowledged, by project.
	acked map[string][]string
	kept  map[string]string
	// streams are the open event streams, pending the requests without a response yet, by name.
	streams map[string]*eventStream
	pending map[string]*pending
	names   normalizer
	serial  int
	// mounted are small file systems of the script.
	mounted []string
}

// command is one word that a line of a script can begin with.
type command = func(ts *testscript.TestScript, neg bool, args []string)

// commands are what scripts can do beyond the commands of testscript.
func commands() map[string]command {
	all := serviceCommands()
	maps.Copy(all, diskCommands())
	return all
}

func serviceCommands() map[string]command {
	return map[string]command{
		"serve":    wrap((*script).serve),
		"shutdown": wrap((*script).shutdown),
		"crash":    wrap((*script).crash),
		"exits":    wrap((*script).exits),
		"damage":   wrap((*script).damage),
		"advance":  wrap((*script).advance),
		"tour":     wrap((*script).tour),
		"snippet":  wrap((*script).snippet),
		"says":     wrap((*script).says),
		"proxy":    wrap((*script).proxy),

		"mcp":       wrap((*script).mcp),
		"step":      wrap((*script).step),
		"mcphidden": wrap((*script).mcphidden),

		"keypair":        wrap((*script).keypair),
		"agent":          wrap((*script).register),
		"login":          wrap((*script).login),
		"addmembers":     wrap((*script).addMembers),
		"watch-projects": wrap((*script).watchProjects),
		"addkey":         wrap((*script).addKey),
		"as":             wrap((*script).as),
		"invalid":        wrap((*script).invalidCredential),
		"sign":           wrap((*script).sign),

		"api":      wrap((*script).api),
		"example":  wrap((*script).example),
		"recorded": wrap((*script).recorded),
		"raw":      wrap((*script).raw),
		"times":    wrap((*script).times),
		"together": wrap((*script).together),
		"until":    wrap((*script).until),
		"repeat":   wrap((*script).repeat),
		"list":     wrap((*script).list),
		"walk":     wrap((*script).walk),
		"events":   wrap((*script).events),

		"open-stream":       wrap((*script).openStream),
		"expect-event":      wrap((*script).expectEvent),
		"expect-stream-end": wrap((*script).expectStreamEnd),
		"close-stream":      wrap((*script).closeStream),
		"start-request":     wrap((*script).startRequest),
		"expect-response":   wrap((*script).expectResponse),

		"get":    wrap((*script).get),
		"text":   wrap((*script).text),
		"match":  wrap((*script).match),
		"like":   wrap((*script).like),
		"count":  wrap((*script).count),
		"has":    wrap((*script).has),
		"header": wrap((*script).header),
		"tag":    wrap((*script).tag),
		"keep":   wrap((*script).keep),
		"same":   wrap((*script).same),
		"normal": wrap((*script).normal),

		"checkout": wrap((*script).checkout),
		"compare":  wrap((*script).compare),
		"flood":    wrap((*script).flood),
		"acked":    wrap((*script).acknowledged),
		"revise":   wrap((*script).revise),

		"permissions": wrap((*script).permissions),
		"privacy":     wrap((*script).privacy),
		"quota":       wrap((*script).quota),
	}
}

// wrap makes a command of a method. A command that is negated must fail.
func wrap(do func(*script, *testscript.TestScript, []string) error) command {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		s, ok := ts.Value(scriptKey{}).(*script)
		if !ok {
			ts.Fatalf("no script state")
		}
		err := do(s, ts, args)
		var wrong mismatch
		switch {
		case err == nil && neg:
			ts.Fatalf("holds, but should not")
		case err != nil && neg && errors.As(err, &wrong):
		case err != nil:
			ts.Fatalf("%v%s", err, s.context())
		}
	}
}

// mismatch is an assertion that does not hold, as distinct from a command that cannot be done.
type mismatch string

func (m mismatch) Error() string { return string(m) }

func mismatchf(format string, args ...any) error { return mismatch(fmt.Sprintf(format, args...)) }

// context is what a failure shows of the last answer.
func (s *script) context() string {
	if s.last == nil {
		return ""
	}
	const most = 2000
	body := s.last.body
	if len(body) > most {
		body = append(body[:most:most], "…"...)
	}
	return fmt.Sprintf("\nlast answer: %s %s: %d\n%s", s.last.method, s.last.target,
		s.last.status, body)
}

func (s *script) end() {
	if s.server != nil {
		s.server.kill()
	}
	s.unmount()
	s.closeStreams()
	s.client.close()
}
