package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func quotaCommands() map[string]command {
	return map[string]command{
		"quota": wrap((*script).quota),
		"spend": wrap((*script).spend),
	}
}

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

// spend repeats a read until it is refused. The bodies of its answers are not checked.
//
//	spend TARGET STATUS CODE
func (s *script) spend(ts *testscript.TestScript, args []string) error {
	if len(args) != 3 {
		return errors.New("usage: spend TARGET STATUS CODE")
	}
	sent := &request{method: http.MethodGet, target: s.target(args[0])}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		made, err := s.made(sent)
		if err != nil {
			return err
		}
		made.Header.Set("Accept-Encoding", "gzip")
		answer, err := s.client.http.Do(made)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK {
			return s.api(ts, append([]string{http.MethodGet}, args...))
		}
	}
	return mismatchf("never refused")
}
