package work_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/fieldtest"
	"pws/work"
)

// frozenResults are stored results as entries of the log have them.
var frozenResults = map[string]*work.StoredResult{
	"rendered-again": {
		Key: [16]byte{1, 2}, Fingerprint: [16]byte{3}, ExpiresAt: testNow,
		Result: work.Result{
			Created: true, Changeset: agent("changeset"), Subject: agent("subject"),
		},
	},
	"rendered": {
		Key: [16]byte{15: 1}, Fingerprint: [16]byte{15: 3}, ExpiresAt: testNow, Status: 201,
		Body: []byte("compressed"), LeftOut: true, Guest: true, Tasks: []work.TaskTexts{
			{},
			{
				Spec: &work.SpecAway{
					Description: frozenRef("d"), Output: frozenRef("o"),
					Conditions: frozenRef("c"), Files: frozenRef("f"),
				},
				Blocked: frozenRef("r"), Result: frozenRef("s"),
			},
		},
	},
}

// notInResults are the fields of shared records that no stored result sets.
var notInResults = map[string]string{"Away.Notes": "of handoffs alone"}

// TestFrozenResults reads stored results of earlier versions. The samples up to now were written
// with the defaults of package cbor, as programs did that had no EncodeResult.
func TestFrozenResults(t *testing.T) {
	walk := fieldtest.New(notInResults)
	for name, want := range frozenResults {
		walk.Leaves(want)
		again, err := work.EncodeResult(want)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata/results/v1", name+".cbor")
		old := frozen(t, file, func() []byte { return again })
		for _, data := range [][]byte{old, again} {
			if got, err := work.DecodeResult(data); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if diff := cmp.Diff(want, &got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
	for _, field := range walk.Unset() {
		t.Errorf("no frozen result sets %s: add a sample to frozenResults", field)
	}
}

// TestDamagedResults: bytes that no version has written are refused.
func TestDamagedResults(t *testing.T) {
	whole, err := work.EncodeResult(frozenResults["rendered"])
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"nothing": nil, "cut": whole[:len(whole)-1], "more": append(whole[:len(whole):len(whole)], 0),
		"a key twice": {0xa2, 0x05, 0x18, 0xc8, 0x05, 0x18, 0xc9},
		"no map":      {0x05},
	} {
		if got, err := work.DecodeResult(data); err == nil || got.Status != 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
