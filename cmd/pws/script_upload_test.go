package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// parts cuts the body of the last answer into equal parts, which become the files part1, part2 and
// so on. It sets the variable whole to the SHA-256 of the body.
//
//	parts COUNT
func (s *script) parts(ts *testscript.TestScript, args []string) error {
	if len(args) != 1 || s.last == nil {
		return errors.New("usage: parts COUNT")
	}
	count, err := strconv.Atoi(args[0])
	if err != nil || count < 1 {
		return errors.New("the number of parts must be positive")
	}
	body := s.last.body
	for nth := range count {
		part := body[len(body)*nth/count : len(body)*(nth+1)/count]
		name := filepath.Join(s.work, fmt.Sprintf("part%d", nth+1))
		if err := os.WriteFile(name, part, 0o600); err != nil {
			return err
		}
	}
	sum := sha256.Sum256(s.last.body)
	s.set(ts, "whole", hex.EncodeToString(sum[:]))
	return nil
}
