package snapshot

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pws/internal/disk/disktest"

	"pws/internal/disk"
)

var freeze = flag.Bool("freeze", false, "write the sample of the current format version")

// frozenRuns writes the sample: two files, a deletion, raw and compressed sections.
func frozenRuns(t *testing.T, s *Store) map[string]string {
	long := string(bytes.Repeat([]byte("compressible "), 100))
	mustRun(t, s, 10, map[string]string{"p\x01one": "1", "p\x02two": long, "p\x03three": "3"})
	mustRun(t, s, 25, map[string]string{"p\x01one": "one again", "empty": ""}, "p\x03three")
	return map[string]string{"p\x01one": "one again", "p\x02two": long, "empty": ""}
}

// TestFrozenSamples reads what earlier versions have written.
func TestFrozenSamples(t *testing.T) {
	want := frozenRuns(t, mustOpen(t, Options{Dir: t.TempDir()}))
	if *freeze {
		dir := filepath.Join("testdata", fmt.Sprintf("v%d", formatVersion))
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, Options{Dir: dir})
		frozenRuns(t, s)
		s.Close()
	}
	samples, err := filepath.Glob("testdata/v*")
	if err != nil || len(samples) != formatVersion {
		t.Fatalf("%d samples for version %d, %v", len(samples), formatVersion, err)
	}
	for _, sample := range samples {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(sample)); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(dir); err != nil {
			t.Fatalf("%s: %v", sample, err)
		}
		s := mustOpen(t, Options{Dir: dir})
		if s.Position() != 25 || s.Generation() != 2 {
			t.Fatalf("%s: position %d, generation %d", sample, s.Position(), s.Generation())
		}
		wantContents(t, s, want)
	}
}

// sectionFileOf wraps arbitrary sections and index bytes so that all checksums hold, and the
// parsers behind them see what a hostile file could say.
func sectionFileOf(sections, index []byte, keys uint64) []byte {
	b := append(appendHeader(nil, 1), sections...)
	f := footer{indexOffset: uint64(len(b)), indexLen: uint64(len(index)), keys: keys, number: 1,
		indexCRC: disk.Checksum(index)}
	return appendFooter(append(b, index...), f)
}

// readAll opens bytes as a section file and reads every section; only damage may come of it.
func readAll(t *testing.T, b []byte) {
	d := disktest.New()
	d.Put("d/"+sectionsName(1), b)
	sf, table, err := openSections(d, "d", disk.FileRef{Number: 1, Size: int64(len(b)),
		FooterCRC: tailCRC(b)})
	if err != nil {
		if !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		return
	}
	for i, e := range table.entries {
		if e.gone {
			continue
		}
		if _, err := sf.read(string(table.key(i)), e); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
	}
}

func tailCRC(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return le.Uint32(b[len(b)-4:])
}

func FuzzSectionFile(f *testing.F) {
	seed := seedOf(formatVersion, 1, 0)
	section := appendSection(nil, seed, "key", 7, bytes.Repeat([]byte("x"), 100))
	entries := appendIndexEntry(nil, []byte("key"),
		entry{offset: headerBytes, size: uint32(len(section)), position: 7})
	f.Add(section, entries, uint64(1))
	f.Add([]byte{}, []byte{}, uint64(0))
	f.Add(section, appendIndexEntry(entries, []byte("z"), entry{gone: true}), uint64(2))
	f.Fuzz(func(t *testing.T, sections, index []byte, keys uint64) {
		readAll(t, sectionFileOf(sections, index, keys))
		readAll(t, sections)
		if len(sections) >= sectionHeadBytes {
			// A section whose own checksum holds, so that its lengths are believed.
			s := bytes.Clone(sections)
			checksumSection(s, seedOf(formatVersion, 1, 0))
			keyLen := min(int(s[21]), len(s)-sectionHeadBytes, KeyBytesMax)
			e := entry{offset: headerBytes, size: uint32(len(s)), position: le.Uint64(s[12:])}
			key := s[sectionHeadBytes : sectionHeadBytes+keyLen]
			readAll(t, sectionFileOf(s, appendIndexEntry(nil, key, e), 1))
		}
	})
}

func FuzzManifest(f *testing.F) {
	m := manifest{generation: 3, position: 9, files: []disk.FileRef{{Number: 1, Size: 100}}}
	good := appendManifest(nil, m)
	f.Add(good[:len(good)-4])
	f.Add([]byte(manifestMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, le.AppendUint32(bytes.Clone(b), disk.Checksum(b))} {
			m, err := parseManifest("manifest", b, 3)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			if !bytes.Equal(appendManifest(nil, m), b) {
				t.Fatalf("%x does not encode to itself", b)
			}
		}
	})
}
