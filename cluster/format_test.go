package cluster

import (
	"encoding/binary"
	"net"
	"testing"
)

func TestFormatsAreAnnounced(t *testing.T) {
	f := newFixture(t, true)
	boxes := make([]*inbox, len(f.networks))
	for i, n := range f.networks {
		boxes[i] = &inbox{understands: uint64(i + 5), announced: make(chan [2]uint64, 100)}
		n.Serve(boxes[i])
	}
	heard := map[uint64]uint64{}
	for len(heard) < 2 {
		said := <-boxes[0].announced
		heard[said[0]] = said[1]
	}
	if heard[2] != 6 || heard[3] != 7 {
		t.Errorf("heard %v", heard)
	}
}

// TestFormatsOfOtherVersions checks what is noted of answers to a clock that programs of other
// versions give.
func TestFormatsOfOtherVersions(t *testing.T) {
	f := newFixture(t, true)
	box := &inbox{announced: make(chan [2]uint64, 1)}
	f.networks[0].Serve(box)
	clock := binary.AppendUvarint(nil, 1_700_000_000_000)
	for _, one := range []struct {
		name   string
		answer []byte
		format uint64
	}{
		{"a program that knows the first format", clock, 1},
		{"this program", binary.AppendUvarint(clock[:len(clock):len(clock)], 2), 2},
		{"a program of the future", append(clock[:len(clock):len(clock)], 3, 99, 99), 3},
		{"no clock", nil, 0},
	} {
		here, there := net.Pipe()
		ended := make(chan struct{})
		go func() {
			f.networks[0].peer(2).watch(here)
			close(ended)
		}()
		if _, err := there.Write(appendFrame(nil, frameClock, one.answer)); err != nil {
			t.Fatal(err)
		}
		if one.format != 0 {
			if said := <-box.announced; said != [2]uint64{2, one.format} {
				t.Errorf("%s: %v was noted", one.name, said)
			}
			if err := there.Close(); err != nil {
				t.Fatal(err)
			}
		}
		<-ended
	}
}
