package memo

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

func TestMemoMakesEqualResultsOnce(t *testing.T) {
	m := New[int, int](100)
	var made atomic.Int32
	release := make(chan struct{})
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			got, err := m.Get(0, 1, func() (int, int, error) {
				made.Add(1)
				<-release
				return 7, 10, nil
			})
			if got != 7 || err != nil {
				t.Errorf("got %d, %v", got, err)
			}
		})
	}
	close(release)
	wait.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
}

func TestMemoIsBounded(t *testing.T) {
	m := New[int, int](100)
	made := map[int]int{}
	get := func(key, size int, err error) {
		_, _ = m.Get(0, key, func() (int, int, error) {
			made[key]++
			return key, size, err
		})
	}
	for key := range 10 {
		get(key, 10, nil)
	}
	get(0, 10, nil)
	get(10, 20, nil) // drops 1 and 2, because 0 was used after them
	for _, key := range []int{0, 10, 1, 2} {
		get(key, 10, nil)
	}
	want := map[int]int{0: 1, 1: 2, 2: 2, 10: 1}
	for key, times := range want {
		if made[key] != times {
			t.Errorf("%d was made %d times, want %d", key, made[key], times)
		}
	}
	if m.mu.size > 100 || m.mu.used.Len() != len(m.mu.entries) {
		t.Errorf("%d bytes in %d of %d entries", m.mu.size, m.mu.used.Len(), len(m.mu.entries))
	}
	for _, key := range []int{100, 101, 102} {
		for range 2 {
			switch key {
			case 100:
				get(key, 51, nil)
			case 101:
				get(key, 0, nil)
			case 102:
				get(key, 10, errors.New("no"))
			}
		}
		if made[key] != 2 {
			t.Errorf("%d was kept", key)
		}
	}
}

// TestKnownCountsAsUse: a result is known once it is complete and kept, and then counts as used.
func TestKnownCountsAsUse(t *testing.T) {
	m := New[int, int](100)
	known := func(key int) bool {
		value, known := m.Known(key)
		return known && value == 7
	}
	for _, key := range []int{1, 2} {
		_, _ = m.Get(0, key, func() (int, int, error) {
			if known(key) {
				t.Errorf("%d is known BEFORE it is made", key)
			}
			return 7, 40, nil
		})
	}
	if !known(1) {
		t.Error("1 is not known")
	}
	_, _ = m.Get(0, 3, func() (int, int, error) { return 7, 40, nil })
	if !known(1) || known(2) || !known(3) {
		t.Error("2 was used least recently")
	}
	if _, known := (*Memo[int, int])(nil).Known(1); known {
		t.Error("a nil memo knows something")
	}
}

func TestMemoForgetsWhatPanics(t *testing.T) {
	m := New[int, int](100)
	func() {
		defer func() { _ = recover() }()
		_, _ = m.Get(0, 1, func() (int, int, error) { panic("broken") })
	}()
	if got, err := m.Get(0, 1, func() (int, int, error) { return 7, 1, nil }); got != 7 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestEditionForgets(t *testing.T) {
	m := New[string, int](100)
	get := func(edition uint64, value int) int {
		got, _ := m.Get(edition, "key", func() (int, int, error) { return value, 40, nil })
		return got
	}
	var during int
	got, _ := m.Get(0, "key", func() (int, int, error) {
		// It is forgotten while it is made.
		during = get(1, 2)
		return 1, 40, nil
	})
	if during != 2 || got != 1 || get(1, 3) != 2 || get(0, 4) != 4 || get(1, 5) != 2 {
		t.Errorf("%d, %d, then %d", during, got, get(1, 6))
	}
	if get(2, 7) != 7 || m.mu.size != 40 || m.mu.used.Len() != 1 {
		t.Errorf("%d bytes in %d entries", m.mu.size, m.mu.used.Len())
	}
}
