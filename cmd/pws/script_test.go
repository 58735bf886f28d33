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

// scriptsDir contains the scripts, one for each noun. script_client_test.go explains their
// commands.
const scriptsDir = "../../testdata/scripts"

// TestMain lets the test binary act as the program. Scripts run it under the name pws, so the
// server runs with the race detector when the tests do.
func TestMain(m *testing.M) {
	testscript.Main(leakTested{m}, map[string]func(){"pws": main})
}

// leakTested fails a run that leaks goroutines.
type leakTested struct{ *testing.M }

func (m leakTested) Run() int {
	// A process that ignores SIGHUP, as under nohup, passes this on to the servers that it starts.
	// A process that catches the signal does not.
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

// TestScripts runs the scripts against the program. It fails unless they cover every operation of
// the table and every error code that an operation declares.
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

// scriptParams are the parameters for the scripts of a folder.
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
			// Scripts run with a small environment; the race detector's options must be part of it.
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Defer(s.end)
			return nil
		},
	}
}

// scriptKey is the key under which a test script stores its state.
type scriptKey struct{}

// script is the state of one running script.
type script struct {
	tried  *coverage
	work   string
	server *server
	// members are the servers of a group, by number; server is one of them then.
	members map[uint64]*groupMember
	flags   []string
	client  *client
	// caller is the name of the agent whose credential is sent, empty for an anonymous caller.
	caller string
	agents map[string]*agent
	keys   map[string]*keyPair
	// vars are the variables of the script's own commands, which may be too large for the
	// environment of a process.
	vars map[string]string
	last *reply
	// sent is the last request of the command api; examples records requests.
	sent     *request
	examples *recorder
	// called is the last tool that the command mcp has called, day what measured has recorded, by
	// protocol.
	called toolMessage
	day    map[string]dayCalls
	// follows is how many calls of refusals were made.
	follows int
	// schemas are those of the tools, loaded on the first call of a tool.
	schemas map[string]*toolSchemas
	// repeating is set while times has further repetitions to run.
	repeating bool
	// acked are the files whose writes were acknowledged to flood, by project.
	acked map[string][]string
	kept  map[string]string
	// streams are the open event streams, pending the requests without a response yet, by name.
	streams map[string]*eventStream
	pending map[string]*pending
	names   normalizer
	serial  int
	// mounted are the small file systems of the script.
	mounted []string
	// front is the address of the client's commands, nil until the command front.
	front *front
	// relay is a hostile server, nil until the command relay.
	relay *relay
	// reserved release the addresses that were reserved for programs.
	reserved []func()
	// bridges are the running processes of pws mcp, by name.
	bridges map[string]*bridgeProcess
	// browsers are those of the web page, by name; browsing is the current one.
	browsers map[string]*browser
	browsing string
}

// command implements a command of the scripts.
type command = func(ts *testscript.TestScript, neg bool, args []string)

// commands are the commands that scripts have in addition to those of testscript.
func commands() map[string]command {
	all := serviceCommands()
	maps.Copy(all, diskCommands())
	maps.Copy(all, modeCommands())
	maps.Copy(all, adminScriptCommands())
	maps.Copy(all, quotaCommands())
	maps.Copy(all, dayCommands())
	maps.Copy(all, clientCommands())
	all["parts"] = wrap((*script).parts)
	maps.Copy(all, followCommands())
	maps.Copy(all, bridgeCommands())
	maps.Copy(all, webCommands())
	maps.Copy(all, groupCommands())
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
		"blockmembers":   wrap((*script).blockMembers),
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
		"body":   wrap((*script).body),
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
	}
}

// wrap makes a command of a method. A negated command must fail with a mismatch.
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

// mismatch is a failed assertion, as distinct from a command that could not be run.
type mismatch string

func (m mismatch) Error() string { return string(m) }

func mismatchf(format string, args ...any) error { return mismatch(fmt.Sprintf(format, args...)) }

// context is the part of the last answer that a failure prints.
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
	s.killBridges()
	if s.server != nil && s.members == nil {
		s.server.kill()
	}
	s.killMembers()
	s.unmount()
	s.closeStreams()
	if s.front != nil {
		s.front.close()
	}
	for _, release := range s.reserved {
		release()
	}
	s.client.close()
}
