package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

var shellBlock = regexp.MustCompile("(?sm)^```sh\n(.*?)^```$")

// snippet fetches a served document and writes one of its blocks of shell commands to a file,
// unchanged: the block with the given number, from 1, or all of them.
//
//	snippet PATH NUMBER|all FILE
func (s *script) snippet(ts *testscript.TestScript, args []string) error {
	if len(args) != 3 {
		return errors.New("usage: snippet PATH NUMBER|all FILE")
	}
	if err := s.expect(&request{method: "GET", target: args[0]}, 200, ""); err != nil {
		return err
	}
	var blocks []string
	for _, found := range shellBlock.FindAllSubmatch(s.last.body, -1) {
		blocks = append(blocks, string(found[1]))
	}
	if len(blocks) == 0 {
		return fmt.Errorf("%s has no block of shell commands", args[0])
	}
	text := strings.Join(blocks, "\n")
	if args[1] != "all" {
		number, err := strconv.Atoi(args[1])
		if err != nil || number < 1 || number > len(blocks) {
			return fmt.Errorf("%s has blocks 1 to %d", args[0], len(blocks))
		}
		text = blocks[number-1]
	}
	return os.WriteFile(ts.MkAbs(args[2]), []byte(text), 0o600)
}

// says matches the body of the last answer with a regular expression.
//
//	says PATTERN
func (s *script) says(_ *testscript.TestScript, args []string) error {
	if len(args) != 1 || s.last == nil {
		return errors.New("usage: says PATTERN, after an answer")
	}
	pattern, err := regexp.Compile("(?m)" + s.expand(args[0]))
	if err != nil {
		return err
	}
	if !pattern.Match(s.last.body) {
		return mismatchf("the answer does not say %s", args[0])
	}
	return nil
}
