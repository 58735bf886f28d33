package main

import (
	"math"
	"testing"
)

const mib = 1 << 20

func TestMemoryWithinCeiling(t *testing.T) {
	asked := memory{
		headroom: 256 * mib, cache: 256 * mib, contents: 256 * mib, bodies: 256 * mib,
		log: 128 * mib, queue: 64 * mib, connections: 16384,
	}
	unbounded := asked
	unbounded.ceiling = math.MaxInt64
	for _, c := range []struct {
		name    string
		asked   memory
		ceiling int64
		want    memory
		runtime int64
	}{
		{"none", asked, math.MaxInt64, unbounded, math.MaxInt64},
		{
			"1000 MiB", asked, 1000 * mib,
			memory{
				ceiling: 1000 * mib, headroom: 250 * mib, cache: 100 * mib, contents: 125 * mib / 2,
				bodies: 125 * mib / 2, log: 125 * mib, queue: 125 * mib / 2, projects: 250 * mib,
				recent: 125 * mib, connections: 4000,
			}, 800 * mib,
		},
		{
			"one large body fits", memory{bodies: 256 * mib}, 160 * mib,
			memory{
				ceiling: 160 * mib, bodies: bodiesLeast, projects: 40 * mib, recent: 20 * mib,
			}, 128 * mib,
		},
		{
			"room for all", asked, 8000 * mib,
			memory{
				ceiling: 8000 * mib, headroom: 256 * mib, cache: 256 * mib, contents: 256 * mib,
				bodies: 256 * mib, log: 128 * mib, queue: 64 * mib, projects: 2000 * mib,
				recent: 1000 * mib, connections: 16384,
			}, 6400 * mib,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.asked.within(c.ceiling)
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if limit := got.runtimeLimit(); limit != c.runtime {
				t.Errorf("the runtime's limit is %d, not %d", limit, c.runtime)
			}
		})
	}
}

func TestConnectionsWithinOpenFiles(t *testing.T) {
	for descriptors, want := range map[int64]int64{
		1: 1, 48: 24, 1000: 500, 1024: 512, 1025: 513, 20000: 19488, math.MaxInt64: math.MaxInt64 - 512,
	} {
		if got := connectionsWithin(descriptors); got != want {
			t.Errorf("%d of %d, want %d", got, descriptors, want)
		}
	}
}

func TestParseMemory(t *testing.T) {
	for text, want := range map[string]int64{
		"536870912": 512 * mib, "536870912B": 512 * mib, "524288KiB": 512 * mib, "512MiB": 512 * mib,
		"2GiB": 2048 * mib, "1TiB": 1 << 40, "off": math.MaxInt64,
		"": 0, "MiB": 0, "512MB": 0, "-1GiB": 0, "63MiB": 0, "1.5GiB": 0, "9000000000GiB": 0,
		"512MiBMiB": 0, "512KiBMiB": 0,
	} {
		got, err := parseMemory(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
}
