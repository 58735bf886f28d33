package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// events polls to the end, starting at the variable NAME if it is set, and writes the types and
// actors to the file NAME. No event may occur twice. Then it stores the cursor in the variable.
//
//	events NAME [QUERY]
func (s *script) events(ts *testscript.TestScript, args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return errors.New("usage: events NAME [QUERY]")
	}
	name, query := args[0], ""
	if len(args) == 2 {
		query = "&" + s.expand(args[1])
	}
	seen, lines := "seen by "+name, ""
	for more := true; more; {
		target := "/api/v1/events?" + strings.TrimPrefix(query, "&")
		if cursor := s.vars[name]; cursor != "" {
			target = "/api/v1/events?after=" + url.QueryEscape(cursor) + query
		}
		if err := s.expect(&request{method: "GET", target: target}, 200, ""); err != nil {
			return err
		}
		found, _ := s.last.at("data.events")
		list, ok := found.([]any)
		if !ok {
			return errors.New("data.events is not a list")
		}
		for _, one := range list {
			event, ok := one.(map[string]any)
			if !ok {
				return errors.New("an event is not an object")
			}
			id := textOf(event["id"])
			if strings.Contains(s.vars[seen], id) {
				return mismatchf("%s comes twice", id)
			}
			s.vars[seen] += id + " "
			actor, _ := event["actor"].(map[string]any)
			lines += fmt.Sprintf("%s by %s\n", textOf(event["type"]), textOf(actor["handle"]))
		}
		next, _ := s.last.at("data.next_cursor")
		has, _ := s.last.at("data.has_more")
		if textOf(next) == "" {
			return mismatchf("data.next_cursor is %v", next)
		}
		s.set(ts, name, textOf(next))
		more = has == true
	}
	return os.WriteFile(ts.MkAbs(name), []byte(lines), 0o644)
}
