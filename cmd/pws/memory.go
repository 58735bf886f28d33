package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memory is how much the server keeps in memory, in bytes.
type memory struct {
	// ceiling is what the whole process may use; math.MaxInt64 means no ceiling.
	ceiling int64
	// headroom is for garbage: under full load it is not collected earlier.
	headroom int64
	// cache bounds contents read from disk, contents those that are not yet in packs when a snapshot
	// is due, and bodies the large request bodies and answers.
	cache, contents, bodies int64
	// log is the size of the log that makes a snapshot due, queue bounds the entries that wait for
	// the log.
	log, queue int64
	// connections is a number.
	connections int64
	// projects bounds the projects in memory, recent the contents that are not yet in packs. Zero
	// means no bound.
	projects, recent int64
}

// The share of the ceiling that each use may take. A large body takes three times its size while it
// is decoded. The Go runtime gets four fifths of the ceiling for all of these, for indexes and for
// running requests; the rest is for the program itself and for mapped files.
const (
	headroomPart           = 4
	cachePart              = 10
	contentsPart           = 16
	recentPart             = 8
	bodiesPart             = 16
	logPart                = 8
	queuePart              = 16
	projectsPart           = 4
	connectionsPart        = 8
	runtimeNum, runtimeDen = 4, 5
)

const (
	// bodiesBytes is the memory for large request bodies and answers, queueBytes that for entries
	// that wait for the log, without a ceiling.
	bodiesBytes = 256 << 20
	queueBytes  = 64 << 20
	// connectionBytes is about what a connection with a request takes: buffers, a stack, a small body.
	connectionBytes = 32 << 10
	// bodiesLeast is for one body of the largest size.
	bodiesLeast = 22 << 20
	// uploadRecordsLeast and uploadRecordsMost bound the records of an uploaded bundle.
	uploadRecordsLeast = 8 << 20
	uploadRecordsMost  = 64 << 20
	// memoryLeast is the smallest ceiling.
	memoryLeast = 64 << 20
	// machinePart is the part of the machine's memory that is the ceiling if nothing else is set.
	machinePart = 2
)

// within lowers each size to its share of the ceiling. A smaller size stays as it is.
func (m memory) within(ceiling int64) memory {
	m.ceiling = ceiling
	if ceiling == math.MaxInt64 {
		return m
	}
	m.headroom = min(m.headroom, ceiling/headroomPart)
	m.cache = min(m.cache, ceiling/cachePart)
	m.contents = min(m.contents, ceiling/contentsPart)
	m.bodies = min(m.bodies, max(bodiesLeast, ceiling/bodiesPart))
	m.log = min(m.log, ceiling/logPart)
	m.queue = min(m.queue, ceiling/queuePart)
	m.connections = min(m.connections, ceiling/connectionsPart/connectionBytes)
	m.projects = ceiling / projectsPart
	m.recent = ceiling / recentPart
	return m
}

// uploadRecords is the size of the records of an uploaded bundle. While it is imported they take
// about six times that, for one import at a time.
func (m memory) uploadRecords() int {
	return int(max(uploadRecordsLeast, min(m.bodies, uploadRecordsMost)))
}

// runtimeLimit is the limit to set in the runtime.
func (m memory) runtimeLimit() int64 {
	if m.ceiling == math.MaxInt64 {
		return math.MaxInt64
	}
	return m.ceiling / runtimeDen * runtimeNum
}

var errMemory = fmt.Errorf("a size such as 512MiB or 2GiB, at least %dMiB, or off", memoryLeast>>20)

// parseMemory reads a number of bytes, with a unit or without. The word off is math.MaxInt64.
func parseMemory(text string) (int64, error) {
	if text == "off" {
		return math.MaxInt64, nil
	}
	number, unit := text, int64(1)
	for i, name := range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
		digits, found := strings.CutSuffix(text, name)
		if found && !strings.ContainsAny(digits, "KMGTi") {
			number, unit = digits, 1<<(10*i)
		}
	}
	value, err := strconv.ParseInt(number, 10, 64)
	if err != nil || value < 0 || value > math.MaxInt64/unit || value*unit < memoryLeast {
		return 0, errMemory
	}
	return value * unit, nil
}

// memoryCeiling is --memory, else GOMEMLIMIT, else the limit of the control group (v2 or v1), else
// a part of the machine's memory. It says which of them.
func (c *ServeCommand) memoryCeiling() (ceiling int64, source string, err error) {
	if c.Memory != "" {
		if ceiling, err = parseMemory(c.Memory); err != nil {
			return 0, "", fmt.Errorf("--memory must be %w", err)
		}
		return ceiling, "--memory", nil
	}
	if text := os.Getenv("GOMEMLIMIT"); text != "" {
		if ceiling, err = parseMemory(text); err != nil {
			return 0, "", fmt.Errorf("GOMEMLIMIT must be %w", err)
		}
		return ceiling, "GOMEMLIMIT", nil
	}
	limit, err := memlimit.FromCgroup()
	if source = "control group"; err != nil {
		limit, err = memlimit.FromSystem()
		limit, source = limit/machinePart, "machine"
	}
	if err != nil || limit == 0 || limit > math.MaxInt64 {
		return math.MaxInt64, "", nil
	}
	return max(memoryLeast, int64(limit)), source, nil
}

// filesReserved are the descriptors that stay for files: of a small limit, half of them.
const filesReserved = 512

// connectionsWithin is how many connections fit into a limit of descriptors.
func connectionsWithin(descriptors int64) int64 {
	return max(1, descriptors-min(filesReserved, descriptors/2))
}

var errSizes = errors.New("sizes of memory must not be negative")

// fitMemory lowers the settings to the ceiling, and the connections to the limit of open files, and
// sets the limit of the runtime.
func (c *ServeCommand) fitMemory(log *slog.Logger) (fitted memory, err error) {
	if min(c.CacheBytes, c.SnapshotBlobBytes, c.SnapshotLogBytes) < 0 {
		return fitted, errSizes
	}
	ceiling, source, err := c.memoryCeiling()
	if err != nil {
		return fitted, err
	}
	asked := memory{
		headroom: max(0, c.GCHeadroom), cache: c.CacheBytes, contents: c.SnapshotBlobBytes,
		bodies: bodiesBytes, log: c.SnapshotLogBytes, queue: queueBytes,
		connections: int64(c.Connections),
	}
	fitted = asked.within(ceiling)
	if files := openFilesMax(); connectionsWithin(files) < fitted.connections {
		fitted.connections = connectionsWithin(files)
		log.Warn("the limit of open files (RLIMIT_NOFILE) bounds the connections",
			"open-files", files, "connections", fitted.connections)
	}
	if fitted.ceiling != math.MaxInt64 {
		debug.SetMemoryLimit(fitted.runtimeLimit())
		log.Info("memory ceiling", "bytes", fitted.ceiling, "from", source,
			"gc-headroom", fitted.headroom, "cache-bytes", fitted.cache,
			"snapshot-blob-bytes", fitted.contents, "projects", fitted.projects,
			"connections", fitted.connections)
	}
	c.GCHeadroom, c.CacheBytes = fitted.headroom, fitted.cache
	c.SnapshotBlobBytes, c.SnapshotLogBytes = fitted.contents, fitted.log
	return fitted, nil
}
