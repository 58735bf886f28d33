// Command pws is the persistent work service and its tools.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"pws/client/cli"
)

// version is the version of the program. The Makefile sets it to the tag of the commit, if there is
// one.
var version = "0.1.0"

// program is the command line. A flag of serve is also read from the environment (PWS_ and its name
// in upper case) and from the file that --config names.
type program struct {
	Serve   ServeCommand   `cmd:"" group:"server" help:"Serve the API."`
	Verify  VerifyCommand  `cmd:"" group:"server" help:"Check every checksum and reference of a data directory."`
	Backup  BackupCommand  `cmd:"" group:"server" help:"Copy a data directory, of a running server too."`
	Restore RestoreCommand `cmd:"" group:"server" help:"Create a data directory from a backup."`
	Reports ReportsCommand `cmd:"" group:"server" help:"List the reports of abuse, and mark them as handled."`
	Admin   AdminCommand   `cmd:"" group:"server" help:"Command the running server: suspend, restore, registration, …"`
	Cluster ClusterCommand `cmd:"" group:"server" help:"Serve from several machines as one service."`
	Reindex ReindexCommand `cmd:"" group:"server" help:"Rebuild the search index of a data directory."`
	OpenAPI OpenAPICommand `cmd:"" group:"server" name:"openapi" help:"Print the OpenAPI document of the interface."`
	Demo    DemoCommand    `cmd:"" group:"server" help:"Replay a git repository and compare the result with git."`
	Bench   BenchGroup     `cmd:"" group:"server" help:"Measure the service, its baselines, and what abuse does to it."`
	Version VersionCommand `cmd:"" help:"Print the version."`
	Help    HelpCommand    `cmd:"" help:"Print this help."`

	cli.Commands `embed:""`

	BenchBaseline BenchBaselineCommand `cmd:"" hidden:""`
	BenchUsers    BenchUsersCommand    `cmd:"" hidden:""`
	BenchAttack   BenchAttackCommand   `cmd:"" hidden:""`
}

// VersionCommand prints the version.
type VersionCommand struct{}

// Run prints one line.
func (*VersionCommand) Run(out io.Writer) error {
	_, err := fmt.Fprintln(out, "pws", version)
	return err
}

// HelpCommand prints the help of the program, or of one command.
type HelpCommand struct {
	Command []string `arg:"" optional:"" help:"The command to explain, or exit-codes."`
}

// Run prints the help as --help does.
func (h *HelpCommand) Run(ctx *kong.Context, out io.Writer) error {
	if len(h.Command) == 1 && h.Command[0] == "exit-codes" {
		return cli.PrintExitCodes(out)
	}
	about, err := kong.Trace(ctx.Kong, h.Command)
	if err != nil {
		return err
	}
	if about.Error != nil {
		return cli.UsageError{Err: about.Error}
	}
	return about.PrintUsage(false)
}

func main() {
	exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// options are those of every parser of the command line; file gives the flags that are not on it.
func options(file *settings) []kong.Option {
	return []kong.Option{
		kong.Name("pws"),
		kong.Description("Server and client for the persistent work of AI agents."),
		kong.ConfigureHelp(kong.HelpOptions{NoExpandSubcommands: true, Compact: true}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "client", Title: "Signing in:"},
			{Key: "work", Title: "Working in a project:"},
			{Key: "tree", Title: "A directory as working copy:"},
			{Key: "others", Title: "Working with others:"},
			{Key: "server", Title: "The server:"},
		}),
		kong.Resolvers(file),
	}
}

// run parses the command line, runs the command and returns the exit code.
func run(args []string, out, errs io.Writer) int {
	env, err := clientEnv(out, errs)
	if err != nil {
		fmt.Fprintln(errs, "pws:", err)
		return cli.ExitFailed
	}
	exited := -1
	file := new(settings)
	parser, err := kong.New(grammarOf(args), append(options(file),
		kong.Writers(out, errs),
		kong.Exit(func(code int) { exited = code }),
		kong.BindTo(out, (*io.Writer)(nil)))...)
	if err != nil {
		fmt.Fprintln(errs, "pws:", err)
		return cli.ExitFailed
	}
	if len(args) == 0 {
		args = []string{"help"}
	}
	if len(args) == 1 && args[0] == "--version" {
		args = []string{"version"}
	}
	ctx, err := parser.Parse(args)
	if exited >= 0 {
		return exited
	}
	if err == nil {
		err = file.fault
	}
	if err != nil {
		fmt.Fprintf(errs, "pws: %v\n", err)
		fmt.Fprintln(errs, helpAfter(err))
		return cli.ExitUsage
	}
	return execute(ctx, env)
}

// execute runs the command that was parsed, reports its error and returns the exit code. A command
// that takes a context is one of the client: an interrupt ends it. The others handle signals
// themselves.
func execute(ctx *kong.Context, env *cli.Env) int {
	stop := func() {}
	defer func() { stop() }()
	command := ctx.Selected().Target.Addr().Interface()
	err := ctx.BindToProvider(func() (interrupted context.Context, err error) {
		grace := graceUsually
		if other, ok := command.(interface{ Grace() time.Duration }); ok {
			grace = other.Grace()
		}
		interrupted, stop = interruptible(grace, env.Err)
		return interrupted, nil
	})
	if checked, ok := command.(interface{ CheckOutput() error }); ok && err == nil {
		err = checked.CheckOutput()
	}
	if err == nil {
		err = env.Checked(func() error { return ctx.Run(env) })
	}
	if err == nil {
		return cli.ExitOK
	}
	output, ok := command.(interface{ WantsJSON() bool })
	cli.Report(err, ok && output.WantsJSON(), env)
	return cli.ExitCode(err)
}

// exit ends the process. A hook never fails.
func exit(code int) {
	if cli.IsHook(os.Args[1:]) {
		code = cli.ExitOK
	}
	os.Exit(code)
}
