package main

import (
	"math"
	"testing"
)

const mib = 1 << 20

func TestMemoryWithinLimit(t *testing.T) {
	asked := memory{headroom: 256 * mib, cache: 256 * mib, contents: 256 * mib, bodies: 256 * mib}
	for _, c := range []struct {
		name  string
		asked memory
		limit int64
		want  memory
		set   int64
	}{
		{
			"no limit", asked, math.MaxInt64,
			memory{math.MaxInt64, 256 * mib, 256 * mib, 256 * mib, 256 * mib}, math.MaxInt64,
		},
		{
			"256 MiB", asked, 256 * mib,
			memory{256 * mib, 64 * mib, 64 * mib, 64 * mib, 32 * mib}, 320 * mib,
		},
		{
			"room for all", asked, 8192 * mib,
			memory{8192 * mib, 256 * mib, 256 * mib, 256 * mib, 256 * mib}, 8448 * mib,
		},
		{
			"less asked than permitted",
			memory{headroom: 1 * mib, cache: 2 * mib, contents: 3 * mib, bodies: 4 * mib}, 64 * mib,
			memory{64 * mib, 1 * mib, 2 * mib, 3 * mib, 4 * mib}, 65 * mib,
		},
		{
			"next to the largest number", memory{headroom: 256 * mib}, math.MaxInt64 - 1,
			memory{limit: math.MaxInt64 - 1, headroom: 256 * mib}, math.MaxInt64,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.asked.within(c.limit)
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if set := got.runtimeLimit(); set != c.set {
				t.Errorf("the runtime's limit is %d, not %d", set, c.set)
			}
		})
	}
}
