package bench

import (
	"errors"
	"fmt"
	"os"
	"time"

	"pws/wal"
)

// bareLog is the log of the service alone: entries of the same size, group commit and fsync. The
// difference to the service is the cost of everything else.
type bareLog struct {
	dir string
	log *wal.Log
}

func startBareLog(config *Config) (*bareLog, error) {
	dir, err := os.MkdirTemp(config.Dir, "log-bench-")
	if err != nil {
		return nil, err
	}
	log, _, err := wal.Open(wal.Options{Dir: dir})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &bareLog{dir: dir, log: log}, nil
}

func (b *bareLog) close() {
	// The log is thrown away, so an error at its end does not matter.
	_ = b.log.Close()
	_ = os.RemoveAll(b.dir)
}

func (b *bareLog) callers(config *Config) *subject {
	return &subject{
		name: "bare-log", cpu: func() time.Duration { return 0 },
		what: fmt.Sprintf("append of %d B to the log alone, in process", contentBytes),
		connect: func() (fleet, error) {
			out := make(callers, config.Connections)
			for i := range out {
				out[i] = &logCaller{
					log: b.log, filler: newFiller(i, contentBytes), done: make(chan error, 1),
				}
			}
			return out, nil
		},
	}
}

// logCaller appends one entry and waits until it is durable.
type logCaller struct {
	log    *wal.Log
	filler *filler
	done   chan error
}

// Committed is called by the committer of the log.
func (l *logCaller) Committed(_ uint64, err error) { l.done <- err }

func (l *logCaller) call() error {
	if _, err := l.log.Append(l.filler.next(), l); err != nil {
		return err
	}
	return <-l.done
}
