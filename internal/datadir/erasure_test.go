package datadir

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"pws/internal/id"
)

// TestErasure writes what is due and reads it again, also from a file that is not understood.
func TestErasure(t *testing.T) {
	dir := t.TempDir()
	if note, err := ReadErasure(dir); err != nil || note.Due || note.Dropped != nil {
		t.Errorf("a directory without the file: %v, %v", note, err)
	}
	for _, want := range []Erasure{
		{Due: true}, {Dropped: []id.ID{{1}, {2}}}, {GivenUp: []byte{1, 2}}, {},
	} {
		if err := want.Write(dir); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadErasure(dir); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ErasureName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadErasure(dir); err == nil {
		t.Error("half a file is understood")
	}
}
