package disk_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"pws/internal/disk"
	"pws/internal/disk/disktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNames(t *testing.T) {
	for _, n := range []uint32{0, 10, 0xdeadbeef, 1<<32 - 1} {
		if got, ok := disk.ParseName(disk.NumberedName("pack-", n), "pack-"); !ok || got != n {
			t.Errorf("%d comes back as %d, %v", n, got, ok)
		}
	}
	for _, name := range []string{"", "pack-", "pack-1", "pack-0000000A", "pack-       a",
		"pack-+000000a", "pack-0000000a.tmp", "pick-0000000a", "pack-000000000"} {
		if n, ok := disk.ParseName(name, "pack-"); ok {
			t.Errorf("%q is taken for %d", name, n)
		}
	}
}

func TestContent(t *testing.T) {
	for _, data := range []string{"", "a", strings.Repeat("compressible ", 100)} {
		stored, codec := disk.Encode([]byte("front"), []byte(data))
		c := disk.Content{Codec: codec, Raw: uint32(len(data)), Stored: stored[5:]}
		for _, dst := range [][]byte{nil, make([]byte, 3), make([]byte, 0, 5000)} {
			got, err := c.Decode("f", 0, dst)
			if err != nil || string(got) != data || !c.Fits() {
				t.Errorf("%q comes back as %q, %v", data, got, err)
			}
		}
	}
	stored, _ := disk.Encode(nil, bytes.Repeat([]byte("x"), 1000))
	for _, c := range []disk.Content{
		{Codec: disk.CodecZstd, Raw: 999, Stored: stored},
		{Codec: disk.CodecZstd, Raw: 1001, Stored: stored},
		{Codec: disk.CodecZstd, Raw: 1000, Stored: stored[1:]},
	} {
		if _, err := c.Decode("f", 7, nil); !errors.Is(err, disk.ErrCorrupt) {
			t.Errorf("%d bytes: %v", c.Raw, err)
		}
	}
	for _, c := range []disk.Content{{Codec: 2}, {Raw: 1}, {Codec: 1, Raw: 1<<28 + 1}} {
		if c.Fits() {
			t.Errorf("%+v passes", c)
		}
	}
}

func TestFileRefs(t *testing.T) {
	head := []byte("PWSTEST1\x01\x00\x00\x00")
	bytesOf := func(numbers ...uint32) []byte {
		var files []disk.FileRef
		for _, n := range numbers {
			files = append(files, disk.FileRef{Number: n, FooterCRC: n + 1, Size: int64(n) << 33})
		}
		return disk.AppendFileRefs(bytes.Clone(head), 0, files)
	}
	parse := func(b []byte) ([]disk.FileRef, error) {
		if err := disk.CheckManifest("m", b, "PWSTEST1", 1, len(head)+4); err != nil {
			return nil, err
		}
		return disk.ParseFileRefs("m", b, len(head)+4, 8)
	}
	got, err := parse(bytesOf(2, 7))
	last := disk.FileRef{Number: 7, FooterCRC: 8, Size: 7 << 33}
	if err != nil || len(got) != 2 || got[1] != last {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, b := range [][]byte{bytesOf(2, 8), bytesOf(7, 2), bytesOf(2, 2), bytesOf(2)[1:], nil} {
		if _, err := parse(b); !errors.Is(err, disk.ErrCorrupt) {
			t.Errorf("%x: %v", b, err)
		}
	}
	long := disktest.New()
	long.Put("m", make([]byte, 16+disk.FileRefsMax*disk.FileRefBytes+5))
	f, err := long.Open("m")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := disk.ReadManifest(f, "m", 16); !errors.Is(err, disk.ErrCorrupt) {
		t.Errorf("a manifest that is too long: %v", err)
	}
}

func TestDamageList(t *testing.T) {
	var l disk.DamageList
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	if err := l.Note(os.ErrClosed); err != os.ErrClosed {
		t.Errorf("another error comes back as %v", err)
	}
	for i := range int64(2000) {
		if err := l.Note(disk.Corrupt("f", i, "reason")); err != nil {
			t.Fatal(err)
		}
	}
	var c *disk.CorruptError
	if err := l.Err(); len(l) != 1000 || !errors.As(err, &c) || *c != l[0] || c.Offset != 0 ||
		err.Error() != "corrupt: f at offset 0: reason" {
		t.Errorf("%d places, the first is %v", len(l), err)
	}
}

func TestOS(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	lock, err := disk.Claim(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []disk.LockMode{disk.Exclusive, disk.Shared} {
		if _, err := (disk.OS{}).Lock(dir, mode); !errors.Is(err, disk.ErrLocked) {
			t.Errorf("a second lock: %v", err)
		}
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "file")
	if err := disk.WriteSynced(disk.OS{}, path, []byte("content")); err != nil {
		t.Fatal(err)
	}
	f, err := disk.OS{}.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 4)
	if err := disk.ReadRange(f, path, 3, b); err != nil || string(b) != "tent" {
		t.Errorf("%q, %v", b, err)
	}
	var c *disk.CorruptError
	if err := disk.ReadRange(f, path, 4, b); !errors.As(err, &c) || c.Offset != 7 {
		t.Errorf("past the end: %v", err)
	}
	if err := disk.RemoveNames(disk.OS{}, dir, []string{"gone", "file"}); err != nil {
		t.Fatal(err)
	}
	if names, err := (disk.OS{}).List(dir); err != nil || len(names) > 0 {
		t.Errorf("%q is left, %v", names, err)
	}
}

// TestUnknownVersions checks files whose checksums are right and whose version is not the known
// one: a higher one is that of a newer program, and only a lower one is damage.
func TestUnknownVersions(t *testing.T) {
	const magic, known, number = "PWSTEST1", 2, 7
	manifest := func(version uint32) []byte {
		b := binary.LittleEndian.AppendUint32([]byte(magic), version)
		return binary.LittleEndian.AppendUint32(b, disk.Checksum(b))
	}
	for version, want := range map[uint32]error{1: disk.ErrCorrupt, known: nil, 3: disk.ErrNewer} {
		header := disk.AppendHeader(nil, magic, version, number)
		for what, err := range map[string]error{
			"header":   disk.CheckHeader("f", header, magic, known, number),
			"manifest": disk.CheckManifest("f", manifest(version), magic, known, 12),
		} {
			if !errors.Is(err, want) || errors.Is(err, disk.ErrCorrupt) && errors.Is(err, disk.ErrNewer) {
				t.Errorf("%s of version %d: %v, want %v", what, version, err, want)
			}
		}
	}
}
