package main

import (
	"errors"
	"fmt"

	"github.com/alecthomas/kong"
)

// helpAfter names the help to read after a command line that is not valid: that of the command that
// was meant, as far as it was understood.
func helpAfter(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) {
		for i := len(wrong.Context.Path) - 1; i >= 0; i-- {
			if command := wrong.Context.Path[i].Command; command != nil {
				return fmt.Sprintf("Run 'pws %s --help'.", command.Path())
			}
		}
	}
	return "Run 'pws help' for the commands and their flags."
}
