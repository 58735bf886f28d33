package api_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// fakeUpload is the one upload of a fakeEngine.
type fakeUpload struct {
	engine *fakeEngine
	state  api.UploadState
	text   string
	// at is how much was read, and reads how often.
	at, reads int
	staged    map[work.Hash][]byte
	result    error
}

// CreateUpload implements api.Uploads.
func (d *fakeEngine) CreateUpload(record api.UploadRecord) (api.UploadState, bool, error) {
	d.upload = &fakeUpload{engine: d, staged: map[work.Hash][]byte{}}
	d.upload.state = api.UploadState{UploadRecord: record, Status: api.UploadOpen}
	return d.upload.state, false, nil
}

// Upload implements api.Uploads.
func (d *fakeEngine) Upload(id.ID, id.ID) (api.UploadState, error) { return d.upload.state, nil }

// BeginImport implements api.Uploads.
func (d *fakeEngine) BeginImport(id.ID, id.ID) (api.UploadImport, error) { return d.upload, nil }

func (u *fakeUpload) State() *api.UploadState { return &u.state }

// Read reads a few bytes.
func (u *fakeUpload) Read(p []byte) (int, error) {
	if u.at == len(u.text) {
		return 0, io.EOF
	}
	u.reads++
	n := copy(p[:min(len(p), 1+u.reads*7919%3001)], u.text[u.at:])
	u.at += n
	return n, nil
}

func (u *fakeUpload) Store(hash work.Hash, content []byte) error {
	u.staged[hash] = []byte(string(content))
	return nil
}

func (u *fakeUpload) Commit() error {
	for hash, content := range u.staged {
		u.engine.blobs[hash] = content
	}
	return nil
}

func (u *fakeUpload) End(result error) { u.result = result }

// uploads is imports by an upload.
func uploads(text, who string) (*fakeEngine, api.ImportedData, error) {
	d := newFakeEngine()
	d.join("ann", "ann")
	d.join("bob", "bob")
	d.now = testNow + 1_000_000_000
	run := func(name, body string, params ...string) (api.Reply, error) {
		c := d.asks(name, who)
		c.Params = params
		request := c.Operation.NewRequest()
		if err := jsonschema.Decode([]byte(body), request); err != nil {
			return api.Reply{}, err
		}
		return c.Operation.Run(c, request)
	}
	made, err := run("upload.create", `{"visibility":"PRIVATE"}`)
	if err != nil {
		return nil, api.ImportedData{}, err
	}
	d.upload.text = text
	d.upload.state.Parts = []api.UploadPart{{Number: 1, Size: len(text)}}
	reply, err := run("upload.finish", `{}`, made.Data.(api.UploadData).Upload.ID)
	if d.upload.result != err {
		panic(fmt.Sprint("the import ended with ", d.upload.result))
	}
	if err != nil {
		return nil, api.ImportedData{}, err
	}
	data, ok := reply.Data.(api.ImportedData)
	if !ok {
		// The answer is stored for a repeat.
		if err := jsonschema.Decode([]byte(reply.Data.(api.Raw)), &data); err != nil {
			panic(err)
		}
	}
	return d, data, nil
}

// sameAsUpload panics unless the import of an upload has the same result as one of a request.
func sameAsUpload(data []byte, who string, plain *fakeEngine, plainErr error) {
	for _, text := range []string{
		string(data), `{"ok":true,"data":` + string(data) + `,"meta":{"request_id":"x"}}`,
	} {
		d, _, err := uploads(text, who)
		if fault.CodeOf(err) != fault.CodeOf(plainErr) ||
			fault.CodeOf(err) == fault.ValidationFailed && faultsOf(err) != faultsOf(plainErr) {
			panic(fmt.Sprintf("uploaded: %v %s\nrequest: %v %s\n%.2000s", err, faultsOf(err),
				plainErr, faultsOf(plainErr), data))
		}
		if err != nil {
			continue
		}
		t := panicking{}
		diff := cmp.Diff(sameForm(t, plain.export(t, who, true), true),
			sameForm(t, d.export(t, who, true), true))
		if diff != "" {
			panic("uploaded: " + diff)
		}
	}
}

// panicking fails by a panic.
type panicking struct{}

func (panicking) Helper()                           {}
func (panicking) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (panicking) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (panicking) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// TestUploadRefusals refuses texts that are no bundle, or hold too much at once.
func TestUploadRefusals(t *testing.T) {
	long := strings.Repeat("x", 17<<20)
	for text, want := range map[string]string{
		``:                         "INVALID_JSON",
		`{`:                        "INVALID_JSON",
		`{"bundle":{}} {}`:         "INVALID_JSON",
		`{"bundle":{},"a":"\xff"}`: "INVALID_JSON",
		leastBundle + `]`:          "INVALID_JSON",
		leastBundle[:100]:          "INVALID_JSON",
		`{"bundle":{"files":[{"content":"a","content":"b"}]}}`: "INVALID_JSON",
		`{"format":"x","format":"y"}`:                          "INVALID_JSON",
		`{"bundle":{},"bundle":{}}`:                            "INVALID_JSON",
		`null`:                                                 "bundle: ",
		`{"ok":true}`:                                          "bundle: is required",
		`{"ok":true,"data":{"other":1}}`:                       "bundle.other: unknown member",
		`{"bundle":[]}`:                                        "bundle: ",
		`{"bundle":{"blobs":{"x":"y"}}}`:                       "bundle: has too many records",
		`{"bundle":{"files":[{"content":"` + long + `"}]}}`:    "bundle: has a value of more than",
		`{"other":"` + long + `"}`:                             "bundle: has a value of more than",
	} {
		_, _, err := uploads(text, "bob")
		got := string(fault.CodeOf(err))
		if got == string(fault.ValidationFailed) {
			got = faultsOf(err)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%.60s: %v %s, want %s", text, err, got, want)
		}
	}
}

// TestUploadOfManyRecords bounds the records and not the contents.
func TestUploadOfManyRecords(t *testing.T) {
	record := `{"id":"` + strings.Repeat("x", 1000) + `"},`
	text := `{"bundle":{"tasks":[` + strings.Repeat(record, 33<<10) + `{}]}}`
	_, _, err := uploads(text, "bob")
	if got := faultsOf(err); !strings.Contains(got, "bytes of records beside its contents") {
		t.Errorf("%v", got)
	}
}

// TestUploadReadFails passes an error of the parts on.
func TestUploadReadFails(t *testing.T) {
	d := newFakeEngine()
	d.join("bob", "bob")
	errGone := errors.New("gone")
	for _, want := range []error{errGone, fault.New(fault.StorageUnavailable, "Full.")} {
		c := d.asks("upload.finish", "bob")
		c.Params = []string{agent("x").Format(id.Upload)}
		if _, _, err := d.CreateUpload(api.UploadRecord{Body: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
		d.upload.state.Parts = []api.UploadPart{{Number: 1, Size: 10}}
		c.Service = api.NewService(&failing{d, want}, api.Config{})
		if _, err := c.Operation.Run(c, c.Operation.NewRequest()); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// failing is an engine whose parts cannot be read.
type failing struct {
	*fakeEngine
	err error
}

func (f *failing) BeginImport(id.ID, id.ID) (api.UploadImport, error) {
	return &failingParts{f.upload, f.err}, nil
}

type failingParts struct {
	*fakeUpload
	err error
}

func (f *failingParts) Read([]byte) (int, error) { return 0, f.err }
