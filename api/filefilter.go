package api

import (
	"fmt"
	"strings"

	"pws/internal/fault"
	"pws/work/glob"
)

// globStepsMax is how much one page matches paths against a glob. It takes some milliseconds.
const globStepsMax = 1 << 20

var globParam = Param{
	Name: "glob", Check: fmt.Sprintf("chars=0..%d", glob.LengthBytesMax),
	Doc: "Only paths that match, for example src/**/*.go. * and ? stay within a segment, ** takes " +
		"any number of segments; [a-z] and {a,b} have their usual meaning.",
}

// fileFilter selects paths, which it gets in their order.
type fileFilter struct {
	// prefix is what all paths begin with, also those that match the glob.
	prefix string
	// glob is nil if there is none.
	glob *glob.Glob
	// nothing says that no path has the prefixes of both.
	nothing bool
	steps   int
}

// fileFilter reads the parameters prefix and glob: VALIDATION_FAILED.
func (c *Call) fileFilter() (*fileFilter, error) {
	f := &fileFilter{prefix: c.Query["prefix"]}
	pattern := c.Query[globParam.Name]
	if pattern == "" {
		return f, nil
	}
	var problem string
	if f.glob, problem = glob.Compile(pattern); problem != "" {
		return nil, fault.Invalid(fault.Field{Field: globParam.Name, Problem: problem})
	}
	of := f.glob.Prefix()
	f.nothing = !strings.HasPrefix(of, f.prefix) && !strings.HasPrefix(f.prefix, of)
	if len(of) > len(f.prefix) {
		f.prefix = of
	}
	return f, nil
}

// ends reports whether a path is behind all that are selected.
func (f *fileFilter) ends(path string) bool {
	return f.nothing || !strings.HasPrefix(path, f.prefix)
}

// takes reports whether a path is selected.
func (f *fileFilter) takes(path string) bool {
	if f.glob == nil {
		return true
	}
	matches, steps := f.glob.Match(path)
	f.steps += steps
	return matches
}

// exhausted reports whether a page has to end although it has room.
func (f *fileFilter) exhausted() bool { return f.steps >= globStepsMax }
