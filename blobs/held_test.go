package blobs

import (
	"fmt"
	"testing"
)

// TestHoldsDoesNotKeepABlob lists what is in packs, and asks for it without keeping it from being
// dropped.
func TestHoldsDoesNotKeepABlob(t *testing.T) {
	s := mustOpen(t, Options{Dir: t.TempDir()})
	defer s.Close()
	want := map[Hash]bool{}
	for i := range 3 * packedStep / 2 {
		content := fmt.Appendf(nil, "content %d", i)
		s.Add(1, Sum(content), content)
		want[Sum(content)] = true
	}
	some := Sum([]byte("content 7"))
	if is, err := s.Holds(some); !is || err != nil {
		t.Errorf("a recent one: %v, %v", is, err)
	}
	if err := s.Pack(1); err != nil {
		t.Fatal(err)
	}
	err := s.Packed(func(hashes []Hash) error {
		for _, h := range hashes {
			delete(want, h)
		}
		return nil
	})
	if err != nil || len(want) > 0 {
		t.Errorf("%d are not listed, %v", len(want), err)
	}
	err = s.Drop(func() ([]Hash, error) {
		is, err := s.Holds(some)
		if !is {
			t.Error("one in a pack is not there")
		}
		return []Hash{some}, err
	})
	if is, herr := s.Holds(some); is || err != nil || herr != nil {
		t.Errorf("AFTER it was dropped: %v, %v, %v", is, err, herr)
	}
}
