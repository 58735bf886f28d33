package journal

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// recorder is a Machine and a Committed that notes what it learns.
type recorder struct {
	heard chan string
}

func (r *recorder) Follow(pos uint64, payload []byte) error {
	r.heard <- fmt.Sprintf("follow %d %s", pos, payload)
	return nil
}

func (r *recorder) Lead(reign Reign) { r.heard <- fmt.Sprint("lead ", reign) }

func (r *recorder) Yield() { r.heard <- "yield" }

func (r *recorder) Committed(pos uint64, err error) {
	r.heard <- fmt.Sprintf("committed %d %v", pos, err)
}

func TestLocal(t *testing.T) {
	dir := t.TempDir()
	options := Options{Dir: dir, ReserveBytes: -1}
	j, found, err := OpenLocal(options)
	if err != nil || found.Last != 0 {
		t.Fatal(found, err)
	}
	r := &recorder{heard: make(chan string, 100)}
	if err := j.Append(0, Entry{Payload: []byte("early")}, r); !errors.Is(err, ErrNotLeading) {
		t.Errorf("BEFORE the reign: %v", err)
	}
	j.Start(r)
	if got := <-r.heard; got != "lead 1" {
		t.Fatal(got)
	}
	for i, e := range []Entry{
		{Payload: []byte("a")}, {Payload: []byte("b"), Key: Key{1}},
		{Payload: []byte("c"), Reserved: true},
	} {
		if err := j.Append(1, e, r); err != nil {
			t.Fatal(err)
		}
		if got, want := <-r.heard, fmt.Sprintf("committed %d <nil>", i+1); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	large := Entry{Payload: make([]byte, EntryBytesMax+1)}
	if err := j.Append(1, large, r); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("an entry that a group does not take: %v", err)
	}
	if err := j.Append(2, Entry{Payload: []byte("d")}, r); !errors.Is(err, ErrNotLeading) {
		t.Errorf("in another reign: %v", err)
	}
	begun, err := j.BeginRead()
	if err != nil || j.EndRead(begun) != nil {
		t.Errorf("a read: %v", err)
	}
	var read []string
	err = j.Read(2, func(pos uint64, payload []byte) error {
		read = append(read, fmt.Sprintf("%d%s", pos, payload))
		return nil
	})
	if err != nil || !slices.Equal(read, []string{"2b", "3c"}) {
		t.Errorf("read %q, %v", read, err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if report, err := Verify(dir); err != nil || report.Entries != 3 {
		t.Errorf("%+v, %v", report, err)
	}
	j, _, err = OpenLocal(options)
	if err != nil {
		t.Fatal(err)
	}
	read = nil
	err = j.Replay(0, func(pos uint64, payload []byte) error {
		read = append(read, fmt.Sprintf("%d%s", pos, payload))
		return nil
	})
	if err != nil || !slices.Equal(read, []string{"1a", "2b", "3c"}) {
		t.Errorf("replayed %q, %v", read, err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if len(r.heard) > 0 {
		t.Errorf("heard %s", <-r.heard)
	}
}

// TestBatchesThatTakeEffectFormOneLog lets servers make batches on what they believe, and expects
// that those which take effect form one log: each rests on all in front of it, and on the newest
// reign.
func TestBatchesThatTakeEffectFormOneLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var gate Gate
		effective, newest := uint64(0), Reign(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			reign := Reign(rapid.Uint64Range(0, 5).Draw(t, "reign"))
			if rapid.Bool().Draw(t, "begins") {
				if began := gate.Begin(reign); began != (reign > newest) {
					t.Fatalf("reign %d AFTER %d: %v", reign, newest, began)
				}
				newest = max(newest, reign)
				continue
			}
			first := rapid.Uint64Range(effective, effective+2).Draw(t, "first")
			entries := rapid.Uint64Range(1, 3).Draw(t, "entries")
			want := reign == newest && newest > 0 && first == effective+1
			if gate.Admit(reign, first, entries) != want {
				t.Fatalf("a batch of reign %d from %d on, AFTER entry %d in reign %d: %v", reign,
					first, effective, newest, !want)
			}
			if want {
				effective += entries
			}
		}
		if gate != (Gate{Reign: newest, Position: effective}) {
			t.Fatalf("%+v, want %d and %d", gate, newest, effective)
		}
	})
}
