package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"

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
