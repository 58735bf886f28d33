package datadir

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pws/internal/id"
	"pws/work"
)

func TestEntry(t *testing.T) {
	for _, packed := range []int64{0, 1 << 40} {
		testEntry(t, packed)
	}
}

func testEntry(t *testing.T, packed int64) {
	want := Entry{
		Packed: packed,
		Target: TargetProject, ID: id.New(1, [10]byte{1}), Now: 1 << 41, Agent: id.New(2, [10]byte{2}),
		Events: []Event{{Kind: 1, Data: []byte("event")}, {Kind: 1<<16 - 1, Data: []byte{0}}},
		Result: []byte("result"),
		Blobs:  []Blob{{Hash: [32]byte{3}, Content: []byte("content")}},
	}
	if size := want.StoredBytes(); size != 5+1+32+7+packed {
		t.Errorf("%d bytes count in quotas", size)
	}
	data := want.Encode()
	if len(data) != cap(data) {
		t.Errorf("%d bytes are allocated for %d", cap(data), len(data))
	}
	if got, err := DecodeEntry(data); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for size := range data {
		if _, err := DecodeEntry(data[:size]); err == nil {
			t.Errorf("an entry of %d bytes was decoded from %d of them", len(data), size)
		}
	}
	if _, err := DecodeEntry(append(data, 0)); err == nil {
		t.Error("an entry was decoded with a byte after it")
	}
	for i, wrong := range []byte{3, 4} {
		changed := bytes.Clone(data)
		changed[i] = wrong
		if _, err := DecodeEntry(changed); err == nil || !strings.Contains(err.Error(), "unknown") {
			t.Errorf("byte %d: %v", i, err)
		}
	}
}

func TestKeys(t *testing.T) {
	one := id.New(1, [10]byte{1})
	for _, key := range []string{
		ProjectKey(one), CardKey(one), AgentKey(one), ReportKey(one), InboxKey(one),
	} {
		if len(key) != 17 || IDOf(key) != one {
			t.Errorf("%q", key)
		}
	}
	chunk := ChunkKey(one, work.Chunk{Kind: work.TaskChunk, Number: 258})
	if chunk != "t"+string(one[:])+"\x00\x00\x01\x02" {
		t.Errorf("%q", chunk)
	}
}

func TestPrepare(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := Prepare(dir); err != nil {
		t.Fatal(err)
	}
	made, err := LoadSecret(dir)
	if err != nil || len(made) != secretBytes {
		t.Fatalf("a secret of %d bytes, %v", len(made), err)
	}
	if err := Prepare(dir); err != nil {
		t.Error(err)
	}
	if again, err := LoadSecret(dir); err != nil || !bytes.Equal(again, made) {
		t.Errorf("another secret, %v", err)
	}
	if err := Check(t.TempDir()); err == nil || !strings.Contains(err.Error(), FormatName) {
		t.Errorf("an empty folder: %v", err)
	}
	later := []byte("pws data 2\n")
	if err := os.WriteFile(filepath.Join(dir, FormatName), later, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{Prepare(dir), Check(dir)} {
		if err == nil || !strings.Contains(err.Error(), "pws data 2") {
			t.Errorf("another format: %v", err)
		}
	}
}

func TestMakeRoom(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := MakeRoom(dir); err != nil {
		t.Errorf("where nothing is: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := MakeRoom(dir); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the empty folder stays: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "something"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := MakeRoom(dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a folder with something in it: %v", err)
	}
}

// renewalDir makes a data directory with old parts, and a renewal of new ones that was collected.
func renewalDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := Prepare(dir); err != nil {
		t.Fatal(err)
	}
	partial, err := BeginRenewal(dir)
	if err != nil {
		t.Fatal(err)
	}
	for place, text := range map[string]string{dir: "old", partial: "new"} {
		for _, name := range append([]string{SearchName, UploadsName}, renewedNames...) {
			if err := os.MkdirAll(filepath.Join(place, name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(place, name, "file"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// partsOf returns what the parts of a data directory have.
func partsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	parts := map[string]string{}
	for _, name := range append([]string{SearchName, UploadsName}, renewedNames...) {
		text, err := os.ReadFile(filepath.Join(dir, name, "file"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		parts[name] = string(text)
	}
	return parts
}

func TestRenewal(t *testing.T) {
	renewed := map[string]string{
		LogName: "new", SnapshotName: "new", BlobsName: "new", FeedName: "new", RaftName: "new",
		UploadsName: "old", SearchName: "",
	}
	// A crash may come between any two of its steps.
	for done := range len(renewedNames) + 1 {
		dir := renewalDir(t)
		if err := CommitRenewal(dir); err != nil {
			t.Fatal(err)
		}
		if err := Check(dir); err == nil {
			t.Error("a directory with an unfinished renewal is one as all others")
		}
		for i, name := range renewedNames[:done] {
			to := filepath.Join(dir, name)
			if err := os.RemoveAll(to); err != nil {
				t.Fatal(err)
			}
			if i+1 < done {
				if err := os.Rename(filepath.Join(dir, renewalName, name), to); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := FinishRenewal(dir); err != nil {
			t.Fatal(err)
		}
		if parts := partsOf(t, dir); !reflect.DeepEqual(parts, renewed) {
			t.Errorf("AFTER %d steps: %v", done, parts)
		}
		if err := Check(dir); err != nil {
			t.Error(err)
		}
	}
}

func TestRenewalThatIsNotComplete(t *testing.T) {
	dir := renewalDir(t)
	old := partsOf(t, dir)
	if err := os.RemoveAll(filepath.Join(dir, renewalPartialName, RaftName)); err != nil {
		t.Fatal(err)
	}
	if err := CommitRenewal(dir); err == nil {
		t.Error("a renewal without a part was complete")
	}
	for range 2 {
		if err := FinishRenewal(dir); err != nil {
			t.Fatal(err)
		}
		if parts := partsOf(t, dir); !reflect.DeepEqual(parts, old) {
			t.Errorf("%v", parts)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, renewalPartialName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is not complete stays: %v", err)
	}
}

type newerEvent uint64

func (e newerEvent) Format() uint64 { return uint64(e) }

func TestFormatOf(t *testing.T) {
	for _, one := range []struct {
		events []any
		want   uint64
	}{
		{nil, 0}, {[]any{"old", 1}, 0}, {[]any{newerEvent(3), "old", newerEvent(2)}, 3},
	} {
		if got := FormatOf(one.events); got != one.want {
			t.Errorf("%v need %d, not %d", one.events, got, one.want)
		}
	}
}

// TestEveryBitOfTheSecretIsGuarded flips each bit of the secret: it is refused. A directory of an
// earlier program has no checksum and gets one.
func TestEveryBitOfTheSecretIsGuarded(t *testing.T) {
	dir := t.TempDir()
	made, err := LoadSecret(dir)
	if err != nil {
		t.Fatal(err)
	}
	name, sum := filepath.Join(dir, SecretName), filepath.Join(dir, SecretSumName)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	load := func(text []byte) ([]byte, error) {
		t.Helper()
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSecret(dir); err != nil {
			return nil, err
		}
		return LoadSecret(dir)
	}
	for i := range 2 * secretBytes {
		for bit := range 8 {
			text[i] ^= 1 << bit
			// The other case of a digit is the same digit.
			if got, err := load(text); err == nil && !bytes.Equal(got, made) {
				t.Errorf("bit %d of byte %d: no error", bit, i)
			}
			text[i] ^= 1 << bit
		}
	}
	if err := os.Remove(sum); err != nil {
		t.Fatal(err)
	}
	another := bytes.Repeat([]byte("f0"), secretBytes)
	other, err := load(another)
	if err != nil || bytes.Equal(other, made) {
		t.Errorf("without a checksum: %v", err)
	}
	if _, err := load(text); err == nil || !strings.Contains(err.Error(), "remove the second") {
		t.Errorf("with the checksum of another secret: %v", err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	shared := []byte(strings.Repeat("0f", secretBytes))
	if err := AdoptSecret(dir, shared); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadSecret(dir); err != nil {
		t.Error(err)
	}
}
