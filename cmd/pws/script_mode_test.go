package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

func modeCommands() map[string]command {
	return map[string]command{
		"chmod":   wrap((*script).chmod),
		"private": wrap((*script).private),
	}
}

// chmod sets the mode of a file.
//
//	chmod MODE FILE
func (s *script) chmod(ts *testscript.TestScript, args []string) error {
	mode, err := strconv.ParseUint(args[0], 8, 16)
	if err != nil {
		return err
	}
	return os.Chmod(ts.MkAbs(args[1]), fs.FileMode(mode))
}

// private fails if other users may use the directory or anything in it.
//
//	private DIR
func (s *script) private(ts *testscript.TestScript, args []string) error {
	return filepath.WalkDir(ts.MkAbs(args[0]), func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode()&0o077 != 0 {
			err = fmt.Errorf("%s has the mode %v", name, info.Mode())
		}
		return err
	})
}
