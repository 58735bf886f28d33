package main

import (
	"errors"
	"fmt"

	"github.com/rogpeppe/go-internal/testscript"
)

// quota checks one quota of the last answer, and that its numbers are consistent.
//
//	quota NAME SCOPE USED LIMIT
func (s *script) quota(_ *testscript.TestScript, args []string) error {
	if len(args) != 4 {
		return errors.New("usage: quota NAME SCOPE USED LIMIT")
	}
	list, err := s.value("data.quotas")
	if err != nil {
		return err
	}
	all, _ := list.([]any)
	for _, one := range all {
		of, _ := one.(map[string]any)
		if of["name"] != args[0] {
			continue
		}
		got := fmt.Sprint(of["scope"], " ", textOf(of["used"]), " ", textOf(of["limit"]))
		if want := args[1] + " " + args[2] + " " + args[3]; got != want {
			return mismatchf("%s is %s, not %s", args[0], got, want)
		}
		var used, limit, remaining int
		for name, number := range map[string]*int{
			"used": &used, "limit": &limit, "remaining": &remaining,
		} {
			if _, err := fmt.Sscan(textOf(of[name]), number); err != nil {
				return err
			}
		}
		if used+remaining != limit {
			return mismatchf("%s: %d and %d are not %d", args[0], used, remaining, limit)
		}
		return nil
	}
	return mismatchf("no quota %s", args[0])
}
