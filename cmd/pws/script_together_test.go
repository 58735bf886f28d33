package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// together sends N requests concurrently; $i is replaced by the number of the request. Headers are
// expanded twice, so that each request can carry the credential of another agent. Exactly FRESH of
// the answers must be original successes; the others are replays of these by their key, or refusals
// with one of the codes. Without -k and -h, each request that needs a key has its own.
//
//	together N FRESH [-k KEY] METHOD TARGET BODY CODE...
func (s *script) together(_ *testscript.TestScript, args []string) error {
	if len(args) < 5 {
		return errors.New("usage: together N FRESH [-k KEY] METHOD TARGET BODY CODE...")
	}
	count, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	s.serial++
	requests, codes := make([]*request, count), []string(nil)
	for i := range requests {
		s.vars["i"] = strconv.Itoa(i + 1)
		sent, _, rest, err := s.options(args[2:])
		if err != nil {
			return err
		}
		for header := range sent.headers {
			sent.headers[header] = s.expand(sent.headers[header])
		}
		if len(sent.headers) == 0 {
			sent.headers = []string{fmt.Sprintf("Idempotency-Key: together-%d-%d", s.serial, i)}
		}
		sent.method, sent.target, codes = rest[0], s.target(rest[1]), rest[3:]
		if sent.body, err = s.bodyOf(rest[2]); err != nil {
			return err
		}
		requests[i] = sent
	}
	replies, err := s.sendAll(requests)
	if err != nil {
		return err
	}
	fresh := 0
	for i, got := range replies {
		s.last = got
		if problem := s.check(requests[i], got); problem != "" {
			return errors.New(problem)
		}
		code, _ := got.at("error.code")
		switch {
		case got.status < 300 && got.header.Get("Idempotency-Replayed") == "":
			fresh++
		case got.status >= 300 && !slices.Contains(codes, textOf(code)):
			return mismatchf("answer %d has the code %s, not %s", i, code, strings.Join(codes, ", "))
		}
	}
	if strconv.Itoa(fresh) != args[1] {
		return mismatchf("%d requests took effect, not %s", fresh, args[1])
	}
	return nil
}

// sendAll sends requests concurrently.
func (s *script) sendAll(requests []*request) ([]*reply, error) {
	replies, problems := make([]*reply, len(requests)), make([]error, len(requests))
	var all sync.WaitGroup
	for i, sent := range requests {
		all.Add(1)
		go func() {
			defer all.Done()
			replies[i], problems[i] = s.send(sent)
		}()
	}
	all.Wait()
	return replies, errors.Join(problems...)
}
