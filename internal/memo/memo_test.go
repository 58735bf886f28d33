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
			got, err := m.Get(1, func() (int, int, error) {
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
		_, _ = m.Get(key, func() (int, int, error) {
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

func TestMemoForgetsWhatPanics(t *testing.T) {
	m := New[int, int](100)
	func() {
		defer func() { _ = recover() }()
		_, _ = m.Get(1, func() (int, int, error) { panic("broken") })
	}()
	if got, err := m.Get(1, func() (int, int, error) { return 7, 1, nil }); got != 7 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}
