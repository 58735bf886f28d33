package work

import "testing"

func TestRemovedMark(t *testing.T) {
	removed := Hash{1, 2, 3}
	mark := RemovedMark(removed)
	if of, ok := RemovedContent(mark.Content); !ok || of != removed || mark.Hash == removed {
		t.Errorf("the mark of %x is of %x, %v", removed, of, ok)
	}
	tree := newTree(nil, nil)
	for _, other := range [][]byte{
		nil, mark.Content[1:], append(mark.Content[:34:34], 0), tree.Manifest()[0].Content,
		make([]byte, 34),
	} {
		if _, ok := RemovedContent(other); ok {
			t.Errorf("%x is a mark", other)
		}
	}
}
