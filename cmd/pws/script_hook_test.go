package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sync/errgroup"
)

// atOnce runs processes of the program at one time, each with a file as its input. All must end
// with exit code 0.
//
//	at-once NUMBER FILE ARG...
func (s *script) atOnce(ts *testscript.TestScript, args []string) error {
	if len(args) < 3 {
		return errors.New("usage: at-once NUMBER FILE ARG...")
	}
	number, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	name, err := programFor(ts.Name())
	if err != nil {
		return err
	}
	var environment []string
	for _, variable := range []string{"HOME", "PATH", "PWS_SERVER", "GORACE"} {
		environment = append(environment, variable+"="+ts.Getenv(variable))
	}
	var group errgroup.Group
	for range number {
		group.Go(func() error {
			input, err := os.Open(ts.MkAbs(args[1]))
			if err != nil {
				return err
			}
			command := exec.Command(name)
			command.Args = append([]string{"pws"}, args[2:]...)
			command.Dir, command.Env, command.Stdin = ts.MkAbs("."), environment, input
			return errors.Join(command.Run(), input.Close())
		})
	}
	return group.Wait()
}
