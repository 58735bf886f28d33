package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
)

// The day of an agent is measured: each call with the characters that are sent and received. Over
// MCP these are the arguments and the result of tools/call as they are on the wire, over REST the
// target and the body of the request, and the body of the answer. The README has the tables.

// dayCall is one call of a day.
type dayCall struct {
	what, call     string
	sent, received int
}

// dayCalls are those of one protocol.
type dayCalls []dayCall

func dayCommands() map[string]command {
	return map[string]command{
		"measured": wrap((*script).measured),
		"day-ends": wrap((*script).dayEnds),
	}
}

// measured is like mcp or api, and records the call for a step of the day.
//
//	measured STEP mcp|api ARG...
func (s *script) measured(ts *testscript.TestScript, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: measured STEP mcp|api ARG...")
	}
	if s.day == nil {
		s.day = map[string]dayCalls{}
	}
	one := dayCall{what: args[0]}
	switch args[1] {
	case "mcp":
		if err := s.mcp(ts, args[2:]); err != nil {
			return err
		}
		tool := toolOf(s.called.name)
		if !tool.Operation.Core {
			return fmt.Errorf("%s is no tool of the core", tool.Name)
		}
		var answer struct {
			Result json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal(s.called.answer, &answer); err != nil {
			return err
		}
		one.call = "`" + tool.Name + "`"
		one.sent = utf8.RuneCount(s.called.arguments)
		one.received = utf8.RuneCount(answer.Result)
	case "api":
		if err := s.api(ts, args[2:]); err != nil {
			return err
		}
		op := operationOf(s.sent.method, s.sent.target)
		one.call = "`" + op.Method + " " + strings.TrimPrefix(op.Path, "/api/v1") + "`"
		one.sent = utf8.RuneCountInString(s.sent.target) + utf8.RuneCount(s.sent.body)
		one.received = utf8.RuneCount(s.last.body)
	default:
		return fmt.Errorf("no protocol %s", args[1])
	}
	s.day[args[1]] = append(s.day[args[1]], one)
	return nil
}

// dayEnds compares the recorded day of a protocol with its table in the README; -update writes it.
// The day must have at most CALLS calls and CHARACTERS characters.
//
//	day-ends mcp|api CALLS CHARACTERS
func (s *script) dayEnds(_ *testscript.TestScript, args []string) error {
	var calls, characters int
	if len(args) != 3 {
		return errors.New("usage: day-ends mcp|api CALLS CHARACTERS")
	}
	if _, err := fmt.Sscan(args[1]+" "+args[2], &calls, &characters); err != nil {
		return err
	}
	table, total := s.day[args[0]].table()
	if count := len(s.day[args[0]]); count > calls || total > characters {
		return mismatchf("the day has %d calls and %d characters:\n%s", count, total, table)
	}
	const readme = "../../README.md"
	text, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	begin, end := []byte("<!-- day "+args[0]+" -->\n"), []byte("<!-- end -->\n")
	before, rest, found := bytes.Cut(text, begin)
	old, after, ends := bytes.Cut(rest, end)
	switch {
	case !found || !ends:
		return fmt.Errorf("the README has no place for the day over %s", args[0])
	case string(old) == table:
		return nil
	case !*update:
		return mismatchf("the README says otherwise; make golden writes:\n%s", table)
	}
	return os.WriteFile(readme, bytes.Join([][]byte{before, begin, []byte(table), end, after}, nil),
		0o644)
}

// table renders a day, and returns the number of its characters.
func (d dayCalls) table() (text string, total int) {
	var out strings.Builder
	out.WriteString("| step | call | sent | received |\n|---|---|---:|---:|\n")
	sent, received := 0, 0
	for _, one := range d {
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", one.what, one.call, thousands(one.sent),
			thousands(one.received))
		sent, received = sent+one.sent, received+one.received
	}
	total = sent + received
	fmt.Fprintf(&out, "| **%s characters** | %d calls | %s | %s |\n", thousands(total), len(d),
		thousands(sent), thousands(received))
	return out.String(), total
}

// thousands writes a number below a million with a comma.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
