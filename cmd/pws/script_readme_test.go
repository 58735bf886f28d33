package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
)

var tourBlock = regexp.MustCompile("(?s)```sh tour\n(.*?)```")

// tour writes the tour in the README, unchanged, to the file tour.sh of the script.
//
//	tour
func (s *script) tour(*testscript.TestScript, []string) error {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		return err
	}
	var lines []byte
	for _, block := range tourBlock.FindAllSubmatch(text, -1) {
		lines = append(lines, block[1]...)
	}
	if len(lines) == 0 {
		return errors.New("the README has no tour")
	}
	return os.WriteFile(filepath.Join(s.work, "tour.sh"), lines, 0o600)
}
