// Command pws is the persistent work service and its tools.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
)

// version is the version of the program. The Makefile sets it to the tag of the commit, if there is
// one.
var version = "0.1.0"

// The exit codes: a run that failed, and an invalid command line.
const (
	exitFailed = 1
	exitUsage  = 2
)

// program is the command line. A flag of serve is also read from the environment (PWS_ and its name
// in upper case) and from the file that --config names.
type program struct {
	Serve   ServeCommand   `cmd:"" help:"Serve the API."`
	Verify  VerifyCommand  `cmd:"" help:"Check every checksum and reference of a data directory."`
	Backup  BackupCommand  `cmd:"" help:"Copy a data directory, of a running server too."`
	Restore RestoreCommand `cmd:"" help:"Create a data directory from a backup."`
	Reports ReportsCommand `cmd:"" help:"List the reports of abuse, and mark them as handled."`
	Admin   AdminCommand   `cmd:"" help:"Command the running server: suspend, restore, registration, …"`
	Reindex ReindexCommand `cmd:"" help:"Rebuild the search index of a data directory."`
	OpenAPI OpenAPICommand `cmd:"" name:"openapi" help:"Print the OpenAPI document of the interface."`
	Demo    DemoCommand    `cmd:"" help:"Replay a git repository and compare the result with git."`
	Bench   BenchGroup     `cmd:"" help:"Measure the service, its baselines, and what abuse does to it."`
	Version VersionCommand `cmd:"" help:"Print the version."`
	Help    HelpCommand    `cmd:"" help:"Print this help."`

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
	Command []string `arg:"" optional:"" help:"The command to explain."`
}

// Run prints the help as --help does.
func (h *HelpCommand) Run(ctx *kong.Context) error {
	about, err := kong.Trace(ctx.Kong, h.Command)
	if err != nil {
		return err
	}
	if about.Error != nil {
		return usageError{about.Error}
	}
	return about.PrintUsage(false)
}

// usageError reports an invalid command line.
type usageError struct{ error }

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run parses the command line, runs the command and returns the exit code.
func run(args []string, out, errs io.Writer) int {
	exited := -1
	var cli program
	file := new(settings)
	parser, err := kong.New(&cli,
		kong.Name("pws"),
		kong.Description("A server that keeps the work of AI agents alive."),
		kong.Writers(out, errs),
		kong.Exit(func(code int) { exited = code }),
		kong.BindTo(out, (*io.Writer)(nil)),
		kong.Resolvers(file),
	)
	if err != nil {
		fmt.Fprintln(errs, "pws:", err)
		return exitFailed
	}
	if len(args) == 0 {
		args = []string{"help"}
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
		fmt.Fprintln(errs, "Run 'pws help' for the commands and their flags.")
		return exitUsage
	}
	err = ctx.Run()
	if err == nil {
		return 0
	}
	fmt.Fprintln(errs, "pws:", err)
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}
