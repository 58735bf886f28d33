package api

import (
	"strings"

	"pws/internal/fault"
)

// A comparison of entity tags is strong, in which weak tags never match, or weak: RFC 9110, section
// 8.8.3.2.
type comparison bool

const (
	strong comparison = false
	weak   comparison = true
)

// matches reports whether a list of entity tags, as sent in If-Match and If-None-Match, matches the
// current tag, which is empty if the resource does not exist.
func (by comparison) matches(list, current string) bool {
	for _, tag := range strings.Split(list, ",") {
		tag = strings.Trim(tag, " \t")
		if tag == "*" {
			return current != ""
		}
		if by == weak {
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
	fails := c.IfMatch != "" && !strong.matches(c.IfMatch, current) ||
		c.IfNoneMatch != "" && weak.matches(c.IfNoneMatch, current)
	if !fails {
		return nil
	}
	refusal := fault.New(fault.PreconditionFailed, "The precondition failed.")
	if current == "" {
		return refusal.With("current_etag", nil)
	}
	return refusal.With("current_etag", current)
}
