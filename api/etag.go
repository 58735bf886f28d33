package api

import (
	"strings"

	"pws/internal/fault"
)

// MatchETag reports whether a list of entity tags, as sent in If-Match and If-None-Match,
// matches the current tag, which is empty if the resource does not exist. Weak tags match only
// with weak comparison.
func MatchETag(list, current string, weak bool) bool {
	for _, tag := range strings.Split(list, ",") {
		tag = strings.Trim(tag, " \t")
		if tag == "*" {
			return current != ""
		}
		if weak {
			tag = strings.TrimPrefix(tag, "W/")
		}
		if tag != "" && tag == current {
			return true
		}
	}
	return false
}

// requireMatch checks both conditions of a write against the current tag, which is empty if the
// resource does not exist: PRECONDITION_FAILED.
func (c *Call) requireMatch(current string) error {
	fails := c.IfMatch != "" && !MatchETag(c.IfMatch, current, false) ||
		c.IfNoneMatch != "" && MatchETag(c.IfNoneMatch, current, true)
	if !fails {
		return nil
	}
	refusal := fault.New(fault.PreconditionFailed, "The precondition failed.")
	if current == "" {
		return refusal.With("current_etag", nil)
	}
	return refusal.With("current_etag", current)
}
