package offline

import (
	"os"
	"path/filepath"
	"testing"

	"pws/internal/datadir"
)

// A log that was cut since the snapshot was taken does not belong to it.
func TestTakeNoticesACut(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, datadir.LogName), 0o700); err != nil {
		t.Fatal(err)
	}
	segment := filepath.Join(dir, datadir.LogName, "00000000000000000001")
	if err := os.WriteFile(segment, []byte("entries"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := &takenFiles{dir: dir}
	defer files.close()
	before, err := files.list(datadir.LogName, segmentNumber)
	if err != nil {
		t.Fatal(err)
	}
	if err := files.log(before); err != nil {
		t.Error(err)
	}
	longer := append([]numbered{{name: "00000000000000000000"}}, before...)
	if err := files.log(longer); err != errMoved {
		t.Errorf("not noticed: %v", err)
	}
}
