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
	for at, wrong := range []byte{3, 4} {
		changed := bytes.Clone(data)
		changed[at] = wrong
		if _, err := DecodeEntry(changed); err == nil || !strings.Contains(err.Error(), "unknown") {
			t.Errorf("byte %d: %v", at, err)
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
