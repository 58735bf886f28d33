package actors

import (
	"testing"

	"pgregory.net/rapid"

	"pws/index/feed"
	"pws/internal/id"
)

func TestEventIDsDecodeToPositions(t *testing.T) {
	ids, others := newEventIDs([]byte("secret")), newEventIDs([]byte("another secret"))
	rapid.Check(t, func(t *rapid.T) {
		at := feed.Position{
			Entry: rapid.Uint64Range(0, 1<<48-1).Draw(t, "entry"),
			Nth:   rapid.Uint16().Draw(t, "nth"),
		}
		millis := rapid.Int64Range(0, 1<<48-1).Draw(t, "millis")
		evt := ids.make(at, millis)
		if back, when, ok := ids.read(evt); !ok || back != at || when != millis {
			t.Fatalf("%v of %d comes back as %v of %d, %v", at, millis, back, when, ok)
		}
		if evt.Millis() != millis {
			t.Fatalf("an ID of %d says %d", millis, evt.Millis())
		}
		if evt == others.make(at, millis) {
			t.Fatal("another secret makes the same ID")
		}
	})
}

// TestEventIDsRevealNoNumbers counts the bits in which the IDs of neighbours differ: of 80
// unrelated bits, 40 do.
func TestEventIDsRevealNoNumbers(t *testing.T) {
	ids := newEventIDs([]byte("secret"))
	const pairs = 2000
	differ, refused := 0, 0
	before := ids.make(feed.Position{Entry: 1}, 1)
	for entry := uint64(2); entry < pairs+2; entry++ {
		next := ids.make(feed.Position{Entry: entry}, 1)
		for i := range next {
			for bits := next[i] ^ before[i]; bits != 0; bits &= bits - 1 {
				differ++
			}
		}
		before = next
		forged := next
		forged[len(forged)-1]++
		if _, _, ok := ids.read(forged); !ok {
			refused++
		}
	}
	if mean := float64(differ) / pairs; mean < 39 || mean > 41 {
		t.Errorf("neighbours differ in %.1f bits", mean)
	}
	if refused < pairs-5 {
		t.Errorf("%d of %d forged IDs were refused", refused, pairs)
	}
	if _, _, ok := ids.read(id.ID{}); ok {
		t.Error("the zero ID is taken for one of an event")
	}
}

// TestFrozenEventIDs reads IDs that clients have seen.
func TestFrozenEventIDs(t *testing.T) {
	ids := newEventIDs([]byte("secret"))
	for text, made := range map[string][3]uint64{
		"evt_01kafc0s00f7pa6cy7f0s6ms4b": {1, 0, 1763600000000},
		"evt_01kafc151srqsx26n4c8axvqvd": {1099511640121, 321, 1763600012345},
		"evt_4000000000hhk0j3gypc0s0t94": {281474976710655, 65535, 140737488355328},
	} {
		want, millis := feed.Position{Entry: made[0], Nth: uint16(made[1])}, int64(made[2])
		evt, _ := id.Parse(id.ActivityEvent, text)
		if at, when, ok := ids.read(evt); !ok || at != want || when != millis {
			t.Errorf("%s is %v of %d, %v", text, at, when, ok)
		}
		if again := ids.make(want, millis).Format(id.ActivityEvent); again != text {
			t.Errorf("%v of %d is %s now, and was %s", want, millis, again, text)
		}
	}
}

// TestEventIDsOfOtherPartitions refuses IDs of parts of the log that there are not.
func TestEventIDsOfOtherPartitions(t *testing.T) {
	ids := newEventIDs([]byte("secret"))
	for partition := range uint64(256) {
		evt := ids.seal(1, 2<<32|3<<16|partition<<8, 4)
		if at, _, ok := ids.read(evt); ok != (partition == 0) || ok && at.Entry != 1<<8|2 {
			t.Errorf("partition %d: %v, %v", partition, at, ok)
		}
	}
}
