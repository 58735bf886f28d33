package disktest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestHolding looks for texts in the bytes of a file, and in a frame between other bytes.
func TestHolding(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := encoder.EncodeAll([]byte(strings.Repeat("padding ", 100)+"Xylophone"), nil)
	noise := string(zstdMagic) + "\x00\xff no frame "
	for name, at := range map[string]struct {
		content, text string
		found         bool
	}{
		"alone":          {"xylophone", "xylophone", true},
		"other case":     {"a XyloPhone b", "xYLOPHONe", true},
		"at the end":     {"xyloxXYLOPHONE", "xylophone", true},
		"cut":            {"xylophon", "xylophone", false},
		"none":           {"", "xylophone", false},
		"beside signs":   {"\x00\xff{xylophone}\xff", "{xylophone}", true},
		"in a frame":     {noise + string(frame) + "after", "xylophone", true},
		"not in a frame": {noise + string(frame) + "after", "marimba", false},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, []byte(at.content), 0o600); err != nil {
			t.Fatal(err)
		}
		where, err := Holding(dir, at.text)
		if err != nil || (where == file) != at.found || (where == "") == at.found {
			t.Errorf("%s: %q, %v", name, where, err)
		}
	}
}
