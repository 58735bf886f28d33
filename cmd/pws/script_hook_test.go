package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sync/errgroup"
)

// atOnce runs processes of the program at one time, each with a file as its input. # in an argument
// is the number of the process, from 1. All must end with exit code 0.
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
	for i := range number {
		words := []string{"pws"}
		for _, arg := range args[2:] {
			words = append(words, strings.ReplaceAll(arg, "#", strconv.Itoa(i+1)))
		}
		group.Go(func() error {
			input, err := os.Open(ts.MkAbs(args[1]))
			if err != nil {
				return err
			}
			command := exec.Command(name)
			command.Args = words
			command.Dir, command.Env, command.Stdin = ts.MkAbs("."), environment, input
			out, err := command.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("process %d: %w\n%s", i+1, err, out)
			}
			return errors.Join(err, input.Close())
		})
	}
	return group.Wait()
}
