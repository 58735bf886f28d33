package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// named is an entry whose result goes into a list with its name.
type named struct {
	name string
	to   *results
}

type results struct {
	mu        sync.Mutex
	names     []string
	positions []uint64
	failed    int
	each      chan struct{}
}

func newResults() *results { return &results{each: make(chan struct{}, 1<<12)} }

func (n named) Committed(position uint64, err error) {
	n.to.mu.Lock()
	if err == nil {
		n.to.names = append(n.to.names, n.name)
		n.to.positions = append(n.to.positions, position)
	} else {
		n.to.failed++
	}
	n.to.mu.Unlock()
	n.to.each <- struct{}{}
}

func (r *results) wait(n int) {
	for range n {
		<-r.each
	}
}

func (r *results) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.names, " ")
}

// TestSmallEntriesOvertakeLargeOnes queues entries while another one is synced.
func TestSmallEntriesOvertakeLargeOnes(t *testing.T) {
	small, large := 100, largeBytes+1
	type one struct {
		name string
		key  byte // zero for none
		size int
	}
	for _, c := range []struct {
		queue []one
		want  string
		syncs int
	}{
		{[]one{{"A", 1, large}, {"b", 2, small}, {"c", 3, small}}, "b c A", 2},
		{[]one{{"A", 1, large}, {"a", 1, small}, {"b", 2, small}}, "b A a", 3},
		{[]one{{"A", 1, large}, {"B", 2, large}, {"a", 1, small}, {"c", 3, small}}, "c A a B", 4},
		{[]one{{"a", 1, small}, {"A", 1, large}, {"A2", 1, large}, {"b", 2, small}}, "a b A A2", 3},
		{[]one{{"A", 1, large}, {"u", 0, small}, {"b", 2, small}}, "A u b", 2},
		{[]one{{"u", 0, large}, {"A", 1, large}, {"v", 0, large}, {"b", 2, small}}, "u A v b", 3},
		{[]one{{"a", 1, small}, {"b", 2, small}, {"u", 0, small}}, "a b u", 1},
	} {
		d := newGateDisk()
		l, _ := mustOpen(t, Options{Dir: t.TempDir(), disk: d})
		got := newResults()
		if err := l.AppendKeyed(Key{9}, []byte("first"), named{"first", got}); err != nil {
			t.Fatal(err)
		}
		<-d.entered
		for _, e := range c.queue {
			payload := bytes.Repeat([]byte(e.name[:1]), e.size)
			var err error
			if e.key == 0 {
				_, err = l.Append(payload, named{e.name, got})
			} else {
				err = l.AppendKeyed(Key{e.key}, payload, named{e.name, got})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		d.release <- struct{}{}
		for range c.syncs {
			<-d.entered
			d.release <- struct{}{}
		}
		got.wait(1 + len(c.queue))
		if text := got.text(); text != "first "+c.want {
			t.Errorf("%v: %s", c.queue, text)
		}
		if stats := l.Stats(); stats.Batches != uint64(c.syncs)+1 || stats.QueueBytes != 0 {
			t.Errorf("%v: %d syncs, %d bytes are queued", c.queue, stats.Batches, stats.QueueBytes)
		}
		mustClose(t, l)
	}
}

// TestNewSmallEntriesGoBeforeTheNextLargeOne appends a small entry while a large one is synced and
// another one waits.
func TestNewSmallEntriesGoBeforeTheNextLargeOne(t *testing.T) {
	d := newGateDisk()
	l, _ := mustOpen(t, Options{Dir: t.TempDir(), disk: d})
	got := newResults()
	put := func(name string, key byte, size int) {
		t.Helper()
		if err := l.AppendKeyed(Key{key}, make([]byte, size), named{name, got}); err != nil {
			t.Fatal(err)
		}
	}
	put("first", 9, 1)
	<-d.entered
	put("A", 1, largeBytes+1)
	put("B", 2, largeBytes+1)
	d.release <- struct{}{}
	<-d.entered
	put("c", 3, 1)
	put("b", 2, 1)
	for range 4 {
		d.release <- struct{}{}
	}
	got.wait(5)
	if text := got.text(); text != "first A c B b" {
		t.Error(text)
	}
	mustClose(t, l)
}

// TestEntriesOfAKeyKeepTheirOrder appends random entries from several goroutines, in some rounds to
// a disk that fails, and compares what was reported with what the log has afterwards.
func TestEntriesOfAKeyKeepTheirOrder(t *testing.T) {
	for seed := range uint64(30) {
		const writers, each = 5, 40
		d := &faultDisk{}
		if seed%2 == 1 {
			d.failAt = 20 + int(seed)*3
		}
		dir, all := t.TempDir(), newResults()
		l, _, err := Open(Options{
			Dir: dir, disk: d, batchBytesMax: 3 * largeBytes, SegmentBytes: 1 << 20,
		})
		if errors.Is(err, errFault) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		accepted := make([]int, writers)
		var group sync.WaitGroup
		for w := range writers {
			dice := rand.New(rand.NewPCG(seed, uint64(w)))
			group.Go(func() {
				for n := range each {
					payload := make([]byte, 9+dice.IntN(500))
					if dice.IntN(6) == 0 {
						payload = make([]byte, largeBytes+1+dice.IntN(largeBytes))
					}
					payload[0] = byte(w)
					binary.LittleEndian.PutUint64(payload[1:], uint64(n))
					var err error
					// The last writer uses no key.
					if result := (named{string(payload[:9]), all}); w == writers-1 {
						_, err = l.Append(payload, result)
					} else {
						err = l.AppendKeyed(Key{byte(w)}, payload, result)
					}
					if err != nil {
						return
					}
					accepted[w]++
				}
			})
		}
		group.Wait()
		closed := l.Close()
		sum := 0
		for _, n := range accepted {
			sum += n
		}
		all.wait(sum)
		if closed == nil && all.failed > 0 || closed != nil && d.failed == "" {
			t.Fatalf("seed %d: %v with %d failed entries", seed, closed, all.failed)
		}
		checkOrder(t, seed, dir, all, writers)
	}
}

// checkOrder checks that the log has all that was reported as durable, in that order, and what
// follows it in the order of each writer.
func checkOrder(t *testing.T, seed uint64, dir string, all *results, writers int) {
	t.Helper()
	next := make([]uint64, writers)
	var stored []string
	err := Read(dir, 0, func(position uint64, payload []byte) error {
		w, n := payload[0], binary.LittleEndian.Uint64(payload[1:])
		if n != next[w] || position != uint64(len(stored))+1 {
			t.Errorf("seed %d: position %d has entry %d of writer %d instead of %d", seed, position,
				n, w, next[w])
		}
		next[w]++
		stored = append(stored, string(payload[:9]))
		return nil
	})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if len(stored) < len(all.names) || !slices.Equal(stored[:len(all.names)], all.names) {
		t.Errorf("seed %d: %d entries are durable, %d are stored, or their order differs", seed,
			len(all.names), len(stored))
	}
	for i, position := range all.positions {
		if position != uint64(i)+1 {
			t.Errorf("seed %d: the entry %d has position %d", seed, i+1, position)
		}
	}
}
