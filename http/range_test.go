package http

import "testing"

func TestParseRange(t *testing.T) {
	for _, c := range []struct {
		text          string
		size          int
		first, behind int
		kind          rangeKind
	}{
		{"bytes=0-0", 10, 0, 1, rangeInside}, {"bytes=2-4", 10, 2, 5, rangeInside},
		{"bytes=2-", 10, 2, 10, rangeInside}, {"bytes=-3", 10, 7, 10, rangeInside},
		{"bytes=-30", 10, 0, 10, rangeInside}, {"bytes=9-99999999999999999999", 10, 9, 10, rangeInside},
		{"BYTES= 1-2 ", 10, 1, 3, rangeInside},
		{"bytes=10-", 10, 0, 0, rangeBehind}, {"bytes=-0", 10, 0, 0, rangeBehind},
		{"bytes=99999999999999999999-", 10, 0, 0, rangeBehind}, {"bytes=0-", 0, 0, 0, rangeBehind},
		{"bytes=-5", 0, 0, 0, rangeBehind},
		{"bytes=3-2", 10, 0, 0, rangeNone}, {"bytes=0-1,3-4", 10, 0, 0, rangeNone},
		{"bytes=-", 10, 0, 0, rangeNone}, {"bytes=1", 10, 0, 0, rangeNone},
		{"bytes=", 10, 0, 0, rangeNone}, {"bytes=a-2", 10, 0, 0, rangeNone},
		{"bytes=1-b", 10, 0, 0, rangeNone}, {"bytes=--1", 10, 0, 0, rangeNone},
		{"lines=1-2", 10, 0, 0, rangeNone}, {"bytes", 10, 0, 0, rangeNone},
	} {
		first, behind, kind := parseRange([]byte(c.text), c.size)
		if first != c.first || behind != c.behind || kind != c.kind {
			t.Errorf("%q of %d: %d %d %d", c.text, c.size, first, behind, kind)
		}
	}
}
