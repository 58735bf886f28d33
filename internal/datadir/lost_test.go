package datadir

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory with data has lost its FORMAT where there is none. It is not written anew, because
// the data may be of another version.
func TestLostFormat(t *testing.T) {
	for _, part := range []string{LogName, SnapshotName, BlobsName} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, part), 0o700); err != nil {
			t.Fatal(err)
		}
		secret := []byte(strings.Repeat("00", secretBytes))
		for _, err := range []error{Prepare(dir), Check(dir), AdoptSecret(dir, secret)} {
			if err == nil || !strings.Contains(err.Error(), "FORMAT is missing") {
				t.Fatalf("with %s: %v", part, err)
			}
			// The command of the advice is enough.
			command := "echo 'pws data 1' > '" + dir + "/FORMAT'"
			if !strings.Contains(err.Error(), command) {
				t.Errorf("%s is not in: %v", command, err)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, FormatName)); err == nil {
			t.Error("the file was written")
		}
		name, text := filepath.Join(dir, FormatName), []byte("pws data 1\n")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Prepare(dir); err != nil {
			t.Error(err)
		}
	}
}

// TestAdoptSecretOfCapitalDigits: the digits of a secret that an operator has written may be
// capital ones, also at the next start.
func TestAdoptSecretOfCapitalDigits(t *testing.T) {
	dir := t.TempDir()
	for start := range 2 {
		if err := AdoptSecret(dir, bytes.Repeat([]byte("AB"), 32)); err != nil {
			t.Fatalf("start %d: %v", start, err)
		}
	}
}
