package main

import (
	"errors"
	"os"
)

// freeze and thaw have nothing to call there; the server does not run there either.
func freeze(*os.Process) error { return errors.ErrUnsupported }
func thaw(*os.Process) error   { return errors.ErrUnsupported }
