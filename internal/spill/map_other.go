//go:build !linux

package spill

import (
	"errors"
	"os"
)

// supported says that files can be mapped here.
const supported = false

func mapPart(*os.File, int64, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) {}

func leave([]byte) {}

func writeParts(*os.File, [][]byte, int64) error { return errors.ErrUnsupported }

func punch(*os.File, int64, int64) {}
