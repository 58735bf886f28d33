package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// tour writes the blocks of commands of a name in the README, unchanged, to the file NAME.sh of the
// script.
//
//	tour NAME
func (s *script) tour(_ *testscript.TestScript, args []string) error {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		return err
	}
	var lines []byte
	block := regexp.MustCompile("(?s)```sh " + regexp.QuoteMeta(args[0]) + "\n(.*?)```")
	for _, found := range block.FindAllSubmatch(text, -1) {
		lines = append(lines, found[1]...)
	}
	if len(lines) == 0 {
		return errors.New("the README has no such commands")
	}
	return os.WriteFile(filepath.Join(s.work, args[0]+".sh"), lines, 0o600)
}

// freeAddress has pws serve listen on a port that no other script uses, and commands ask there.
//
//	free-address
func (s *script) freeAddress(ts *testscript.TestScript, _ []string) error {
	address, err := s.reserveAddress()
	if err != nil {
		return err
	}
	ts.Setenv("PWS_LISTEN", address)
	ts.Setenv("PWS_SERVER", "http://"+address)
	return nil
}

// makeInstall checks what make install and make dist would do, without building the program again.
//
//	make-install
func (s *script) makeInstall(_ *testscript.TestScript, _ []string) error {
	for target, want := range map[string]string{
		"install": "'" + s.work + "/bin/pws'",
		"dist":    "linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64 windows-arm64",
		"build":   "-X main.version=7.8.9",
	} {
		command := exec.Command("make", "-n", target, "PREFIX="+s.work, "VERSION=7.8.9")
		command.Dir = "../.."
		out, err := command.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		if !strings.Contains(string(out), want) {
			return mismatchf("make %s has no %s:\n%s", target, want, out)
		}
	}
	return nil
}
