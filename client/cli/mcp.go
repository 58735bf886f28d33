package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pws/client"
	"pws/client/bridge"
)

// MCPCommand is the bridge between an MCP host and the server.
type MCPCommand struct {
	Profile string `help:"Act as this profile ($PWS_PROFILE)." placeholder:"NAME"`
	Server  string `help:"Base URL of the server, or several with commas ($PWS_SERVER)." placeholder:"URL"`
	Project string `short:"p" help:"ID or name of the project of this directory ($PWS_PROJECT)." placeholder:"PROJECT"`
	Tools   string `default:"core" enum:"core,all" help:"core: the most common tools. all: every one."`
	Names   string `default:"underscore" enum:"underscore,dots" help:"Names of tools: task_claim or task.claim."`
	Read    bool   `name:"read-only" help:"Only the tools that change nothing."`
	Log     string `help:"Append a log to this file too, with more than standard error gets." placeholder:"FILE"`
}

// Requests of tools are repeated for retryTools, with pauses of up to 6 s.
const (
	retryTools    = 20 * time.Second
	attemptsTools = 20
)

// Grace is longer than the time that requests get which run at the end.
func (*MCPCommand) Grace() time.Duration { return 5 * time.Second }

// Run serves the host until its end of the input, or a signal. Only messages of the protocol are
// written to standard output.
func (c *MCPCommand) Run(ctx context.Context, env *Env) error {
	log, closeLog, err := c.logger(env)
	if err != nil {
		return err
	}
	project, err := c.project(ctx, env, log)
	if err != nil {
		return errors.Join(err, closeLog())
	}
	if bound, err := env.binding(); err != nil {
		log.Warn("the directory's project is not known", slog.String("error", err.Error()))
	} else if env.first(c.Project, varProject) == "" && projectID.MatchString(bound.Project) {
		// The file may come from others, and hosts take instructions for true.
		project = bound.Project
	}
	asked := &lateAccount{env: env, common: Common{Profile: c.Profile, Server: c.Server}}
	defer asked.close()
	log.Debug("started", slog.String("version", env.Program.Version),
		slog.String("server", asked.Caller().Server))
	err = bridge.New(bridge.Config{
		Service: asked, Offline: firstAddress(env.Offline), Query: c.query(), Project: project,
		ReadOnly: c.Read,
		Version:  env.Program.Version, Log: log, Catalogue: savedCatalogue{env.Folders.Cache},
		NextStep: asked.nextStep,
	}).Serve(ctx, env.In, env.Out)
	log.Debug("ended")
	return errors.Join(err, closeLog())
}

// project is the ID of the project that a flag or the environment names, empty for none. Hosts take
// instructions for true, so a name never gets there. A server that gives no answer now does not
// keep the bridge from starting.
func (c *MCPCommand) project(ctx context.Context, env *Env, log *slog.Logger) (string, error) {
	named := env.first(c.Project, varProject)
	if named == "" || projectID.MatchString(named) {
		return named, nil
	}
	id, err := c.resolve(ctx, env, named)
	code := ExitCode(err)
	if errors.Is(err, context.DeadlineExceeded) {
		code = ExitUnreachable
	}
	switch code {
	case ExitUnreachable, ExitRateLimited, ExitSignIn:
		log.Warn("the project is not known", slog.String("project", named),
			slog.String("error", err.Error()))
		return "", nil
	}
	return id, err
}

// resolvePatience is how long a host waits for the name of a project at most.
const resolvePatience = 3 * time.Second

func (c *MCPCommand) resolve(ctx context.Context, env *Env, named string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, resolvePatience)
	defer cancel()
	caller, err := (&Common{Profile: c.Profile, Server: c.Server, NoRetry: true}).account(env)
	if err != nil {
		return "", err
	}
	defer caller.close()
	if caller.session != nil {
		caller.session.NoRetry()
	}
	return caller.resolveProject(ctx, named)
}

// firstAddress lets the answers of an endpoint name one address of its service.
func firstAddress(
	offline func(server string) (bridge.Offline, error),
) func(server string) (bridge.Offline, error) {
	return func(server string) (bridge.Offline, error) {
		return offline(client.Addresses(server)[0])
	}
}

// query is that of the endpoint.
func (c *MCPCommand) query() string {
	var options []string
	if c.Tools == "core" {
		options = append(options, "profile=core")
	}
	if c.Names == "underscore" {
		options = append(options, "names=underscore")
	}
	return strings.Join(options, "&")
}

func (c *MCPCommand) logger(env *Env) (log *slog.Logger, end func() error, err error) {
	handler := slog.Handler(slog.NewTextHandler(env.Err, &slog.HandlerOptions{
		Level: slog.LevelWarn,
	}))
	if c.Log == "" {
		return slog.New(handler), func() error { return nil }, nil
	}
	const mine = 0o600
	file, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, mine)
	if err != nil {
		return nil, nil, err
	}
	all := slog.NewTextHandler(io.Writer(file), &slog.HandlerOptions{Level: slog.LevelDebug})
	return slog.New(slog.NewMultiHandler(handler, all)), file.Close, nil
}

// savedCatalogue keeps what servers say of themselves in files.
type savedCatalogue struct{ folder string }

func (c savedCatalogue) path(server string) string {
	const ofHash = 8
	hash := sha256.Sum256([]byte(server))
	return filepath.Join(c.folder, "catalogue-"+hex.EncodeToString(hash[:ofHash])+".json")
}

// Read implements bridge.Catalogue.
func (c savedCatalogue) Read(server string) []byte {
	content, err := os.ReadFile(c.path(server))
	if err != nil {
		return nil
	}
	return content
}

// Write implements bridge.Catalogue.
func (c savedCatalogue) Write(server string, content []byte) error {
	const mine = 0o600
	return client.ReplaceFile(c.path(server), content, mine)
}

// lateAccount is the account of a process that lives long: it is opened again when the profiles
// have changed, as by a login, a logout or another key. It stays with the first profile that it
// finds.
type lateAccount struct {
	env    *Env
	common Common
	// closing is what closes earlier accounts. That waits for their sign-ins, which may hang.
	closing sync.WaitGroup

	mu struct {
		sync.Mutex
		account *account
		err     error
		// mark is that of the profiles that the account is of.
		mark   string
		opened bool
	}
}

// current is the account of the present profiles. It waits for no server: the loop that reads what
// the host says asks for it.
func (l *lateAccount) current() (*account, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mark := l.env.Folders.ProfilesMark()
	if l.mu.opened && mark == l.mu.mark {
		return l.mu.account, l.mu.err
	}
	if l.mu.account != nil {
		l.closing.Go(l.mu.account.close)
	}
	l.mu.account, l.mu.err = l.common.account(l.env)
	l.mu.opened, l.mu.mark = true, mark
	if err := l.distrust(l.mu.account); err != nil {
		l.mu.account.close()
		l.mu.account, l.mu.err = nil, err
	}
	if found := l.mu.account; found != nil {
		found.RetryFor, found.Attempts = retryTools, attemptsTools
		if found.session != nil {
			found.session.NoRetry()
		}
		if found.profile.Name != "" {
			l.common.Profile = found.profile.Name
		}
	}
	return l.mu.account, l.mu.err
}

// distrust returns an error for a server that only the file of the directory names and no profile
// is of. The file may come from others, and hosts start the bridge in every directory: what an
// agent writes must not go to a server that nobody has chosen.
func (l *lateAccount) distrust(found *account) error {
	if found == nil || found.signedIn || found.Server == ServerDefault ||
		l.common.chosen(l.env) {
		return nil
	}
	return &advisedError{
		fmt.Errorf("only the file of this directory names the server %s, and no profile belongs to it",
			found.Server),
		"if that server is the right one: pws login " + found.Server,
	}
}

// close closes all accounts. It is called AFTER the last request has ended.
func (l *lateAccount) close() {
	defer l.closing.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.account != nil {
		l.mu.account.close()
	}
}

// Do implements bridge.Service.
func (l *lateAccount) Do(ctx context.Context, request *client.Request) (*client.Answer, error) {
	account, err := l.current()
	if err != nil {
		return nil, err
	}
	return account.Client.Do(ctx, request)
}

// nextStep is what the agent of a host can ask for after an error. The bridge keeps the environment
// that it was started with, and what it is asked for is no command.
func (l *lateAccount) nextStep(err error) string {
	step := nextStep(err, l.env)
	var failure *client.Failure
	switch {
	case step == otherToken:
		return "Ask for pws mcp to be started with another " + varToken + ", or without it."
	case errors.As(err, &failure) && failure.Redirect() != "":
		return "Ask for the address of the server to be corrected: " + l.Caller().Server +
			" redirects to " + failure.Redirect() + "."
	}
	return step
}

// Caller implements bridge.Service.
func (l *lateAccount) Caller() bridge.Caller {
	account, err := l.current()
	if err != nil {
		server, _ := l.common.server(l.env)
		return bridge.Caller{Server: orDefault(server)}
	}
	return bridge.Caller{
		Server: account.Server, SignedIn: account.signedIn, Handle: account.profile.Handle,
		Given: account.signedIn && account.session == nil,
	}
}
