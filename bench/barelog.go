package bench

import (
	"context"
	"errors"
	"os"
	"time"

	"pws/wal"
)

// bareLog is the log of the service alone: entries of the same size, group commit and fsync, and
// nothing in front of it. It shows what is left for everything else.
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
	// The log is thrown away, so it does not matter how its end went.
	_ = b.log.Close()
	_ = os.RemoveAll(b.dir)
}

func (b *bareLog) workers(_ context.Context, n int) []worker {
	out := make([]worker, n)
	for at := range out {
		out[at] = &logWorker{
			log: b.log, filler: newFiller(at, contentBytes), done: make(chan error, 1),
		}
	}
	return out
}

// logWorker appends one entry and waits until it is durable.
type logWorker struct {
	log    *wal.Log
	filler *filler
	done   chan error
}

// Committed is called by the committer of the log.
func (w *logWorker) Committed(_ uint64, err error) { w.done <- err }

func (w *logWorker) step() (string, error) {
	if _, err := w.log.Append(w.filler.next(), w); err != nil {
		return "", err
	}
	return "", <-w.done
}

// deadline has nothing to bound: the log tells the fate of every entry.
func (w *logWorker) deadline(time.Time) error { return nil }

func (w *logWorker) close() {}
