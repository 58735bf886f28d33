//go:build !linux

package main

import (
	"errors"
	"os"
)

// errNoMount skips the tests that need a small file system.
var errNoMount = errors.New("small file systems are mounted on Linux only")

func mountSmall(string, string) error { return errNoMount }

func unmountSmall(string) error { return errNoMount }

func allocate(*os.File, int64) error { return errNoMount }
