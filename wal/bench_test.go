package wal

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// benchEntry returns 300 bytes that resemble an event: repeated names and unique IDs.
func benchEntry(r *rand.Rand) []byte {
	var id [48]byte
	for i := range id {
		id[i] = byte(r.Uint32())
	}
	b := fmt.Appendf(nil, `{"project":"prj_%s","changeset":"chg_%s","agent":"agt_%s",`+
		`"path":"src/module%02d/file%03d.go","base":%d,"message":"change a file of the project",`,
		hex.EncodeToString(id[:16]), hex.EncodeToString(id[16:32]), hex.EncodeToString(id[32:]),
		r.IntN(20), r.IntN(300), r.IntN(100000))
	return append(b, bytes.Repeat([]byte("."), max(0, 300-len(b)))...)
}

// waiter is one blocked writer.
type waiter struct{ c chan error }

func (w *waiter) Committed(_ uint64, err error) { w.c <- err }

func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			l, _ := mustOpen(b, Options{Dir: b.TempDir()})
			r := rand.New(rand.NewPCG(1, 2))
			samples := make([][]byte, 4096)
			for i := range samples {
				samples[i] = benchEntry(r)
			}
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for w := range writers {
				n := b.N / writers
				if w < b.N%writers {
					n++
				}
				wg.Go(func() {
					me := &waiter{c: make(chan error, 1)}
					for i := range n {
						if _, err := l.Append(samples[(i*31+w)%len(samples)], me); err != nil {
							b.Error(err)
							return
						}
						if err := <-me.c; err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			st := l.Stats()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
			b.ReportMetric(float64(st.Entries)/float64(st.Batches), "entries/batch")
			b.ReportMetric(float64(st.SyncTotal.Microseconds())/float64(st.Batches), "µs/fsync")
			b.ReportMetric(float64(st.Bytes)/float64(st.Entries), "disk-B/entry")
			mustClose(b, l)
		})
	}
}

// countdown signals one channel when the last of many entries is durable.
type countdown struct {
	last uint64
	done chan error
}

func (c *countdown) Committed(pos uint64, err error) {
	if pos == c.last || err != nil {
		c.done <- err
	}
}

// BenchmarkAppendQueue measures an Append that does not wait for durability: all work of the log,
// with the time of the fsync spread over large batches.
func BenchmarkAppendQueue(b *testing.B) {
	l, _ := mustOpen(b, Options{Dir: b.TempDir()})
	r := rand.New(rand.NewPCG(1, 2))
	samples := make([][]byte, 4096)
	for i := range samples {
		samples[i] = benchEntry(r)
	}
	c := &countdown{last: uint64(b.N), done: make(chan error, 1)}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		for {
			_, err := l.Append(samples[i%len(samples)], c)
			if err == nil {
				break
			}
			runtime.Gosched()
		}
	}
	if err := <-c.done; err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
	mustClose(b, l)
}

func BenchmarkReplay(b *testing.B) {
	for _, batch := range []int{16, 64, 1024} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			dir := b.TempDir()
			const entries = 200_000
			fillBatches(b, dir, entries, batch)
			var opened, replayed time.Duration
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				l, _ := mustOpen(b, Options{Dir: dir})
				opened += time.Since(start)
				start = time.Now()
				n := 0
				err := l.Replay(1, func(uint64, []byte) error { n++; return nil })
				if err != nil || n != entries {
					b.Fatal(n, err)
				}
				replayed += time.Since(start)
				mustClose(b, l)
			}
			n := float64(b.N) * entries
			b.ReportMetric(n/replayed.Seconds(), "entries/s")
			b.ReportMetric(n/(opened+replayed).Seconds(), "entries/s-with-open")
		})
	}
}

// fillBatches writes a log whose records hold the given number of entries each.
func fillBatches(b *testing.B, dir string, entries, batch int) {
	b.Helper()
	sample := sampleSegments{dir: dir, limit: 8 << 20}
	r := rand.New(rand.NewPCG(1, 2))
	var w frameWriter
	index := uint64(1)
	for n := 0; n < entries; n += batch {
		w.begin(batch * 310)
		for range min(batch, entries-n) {
			w.add(benchEntry(r))
		}
		sample.write(b, index, w.encode(7, index, uint64(n)+1))
		index++
	}
	sample.write(b, 0, nil)
}
