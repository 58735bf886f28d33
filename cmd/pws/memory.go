package main

import (
	"log/slog"
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memory is how much the server keeps in memory, in bytes.
type memory struct {
	// limit is what the whole process may use; math.MaxInt64 means no limit.
	limit int64
	// headroom counts as used for the garbage collector but occupies no memory.
	headroom int64
	// cache bounds contents read from disk, contents those that are not yet in packs, and bodies
	// the large request bodies and answers.
	cache, contents, bodies int64
}

// The share of the memory limit that each use may take. The rest is for projects, indexes and
// running requests.
const (
	headroomPart = 4
	cachePart    = 4
	contentsPart = 4
	bodiesPart   = 8
)

// bodiesBytes is the memory for large request bodies and answers without a memory limit.
const bodiesBytes = 256 << 20

// within lowers each size to its share of the limit. A smaller size stays as it is.
func (m memory) within(limit int64) memory {
	m.limit = limit
	if limit == math.MaxInt64 {
		return m
	}
	m.headroom = min(m.headroom, limit/headroomPart)
	m.cache = min(m.cache, limit/cachePart)
	m.contents = min(m.contents, limit/contentsPart)
	m.bodies = min(m.bodies, limit/bodiesPart)
	return m
}

// runtimeLimit is the limit to set in the runtime. It includes the headroom, which the runtime
// counts as used although its pages are never touched.
func (m memory) runtimeLimit() int64 {
	if m.limit > math.MaxInt64-m.headroom {
		return math.MaxInt64
	}
	return m.limit + m.headroom
}

// memoryLimit is GOMEMLIMIT where it is set, else 90 percent of the cgroup's limit, else
// math.MaxInt64.
func memoryLimit(log *slog.Logger) int64 {
	limit, err := memlimit.Set()
	if err != nil {
		log.Debug("no cgroup memory limit", "reason", err)
	}
	return limit
}

// fitMemory lowers the settings to the memory limit and sets the limit in the runtime. The caller
// keeps the returned headroom alive.
func (c *ServeCommand) fitMemory(log *slog.Logger) (fitted memory, headroom []byte) {
	asked := memory{
		limit: math.MaxInt64, headroom: max(0, c.GCHeadroom), cache: c.CacheBytes,
		contents: c.SnapshotBlobBytes, bodies: bodiesBytes,
	}
	fitted = asked.within(memoryLimit(log))
	if fitted.limit != math.MaxInt64 {
		debug.SetMemoryLimit(fitted.runtimeLimit())
		log.Info("memory limit", "bytes", fitted.limit, "gc-headroom", fitted.headroom,
			"cache-bytes", fitted.cache, "snapshot-blob-bytes", fitted.contents)
	}
	c.GCHeadroom, c.CacheBytes, c.SnapshotBlobBytes = fitted.headroom, fitted.cache, fitted.contents
	// Its pages are never touched, so it uses address space but no memory.
	return fitted, make([]byte, fitted.headroom)
}
