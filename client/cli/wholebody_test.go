package cli

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pws/client"
)

// someBodies are bodies of each format, with the path that is asked for them.
func someBodies(t *testing.T) map[string][]byte {
	t.Helper()
	text := []byte(strings.Repeat("some text, ", 20))
	var packed, archive bytes.Buffer
	stream := gzip.NewWriter(&packed)
	_, err := stream.Write(text)
	err = errors.Join(err, stream.Close())
	files := zip.NewWriter(&archive)
	file, zipErr := files.Create("a.txt")
	if zipErr == nil {
		_, zipErr = file.Write(text)
	}
	if err = errors.Join(err, zipErr, files.Close()); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"export": []byte(`{"bundle":{"a":"}","b":[1,"\"]"]}}` + "\n"),
		"tar.gz": packed.Bytes(), "zip": archive.Bytes(),
	}
}

// TestCutDownloadsAreNoFiles cuts each body everywhere, as a proxy passes it on that does not know
// its length: with an end, in chunks or at the end of the connection; or that gives the length of
// what it has got.
func TestCutDownloadsAreNoFiles(t *testing.T) {
	var body []byte
	way := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		const chunked, measured = 0, 1
		switch way {
		case chunked:
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(body)
			return
		case measured:
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body)
			return
		}
		peer, out, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = out.WriteString("HTTP/1.0 200 OK\r\n\r\n" + string(body))
		_ = errors.Join(out.Flush(), peer.Close())
	}))
	defer server.Close()
	p := newHookPlace(t)
	p.server = server.URL
	in := InProject{Project: "prj_00000000000000000000000000"}
	for format, whole := range someBodies(t) {
		// The line end of a text is no part of it.
		least := len(bytes.TrimRight(whole, "\n"))
		for size := 0; size <= len(whole); size++ {
			body, way = whole[:size], size%3
			env, out := p.env(nil)
			name := filepath.Join(t.TempDir(), "file")
			run := func(name string) error {
				if format == "export" {
					return (&ProjectExportCommand{InProject: in, Output: name}).Run(t.Context(), env)
				}
				return (&ProjectDownloadCommand{
					InProject: in, Output: name, Format: format,
				}).Run(t.Context(), env)
			}
			err := run(name)
			got, _ := os.ReadFile(name)
			var lost *client.UnreachableError
			if size < least && (!errors.As(err, &lost) || got != nil) ||
				size >= least && (err != nil || !bytes.Equal(got, body)) {
				t.Fatalf("%s, %d of %d bytes: %v, a file of %d bytes", format, size, len(whole), err,
					len(got))
			}
			if left, _ := os.ReadDir(filepath.Dir(name)); len(left) > 1 || err != nil && len(left) > 0 {
				t.Errorf("%s, %d bytes: files are left", format, size)
			}
			out.Reset()
			err = run("-")
			if (err == nil) != (size >= least) || !bytes.Equal(out.Bytes(), body) {
				t.Errorf("%s, %d of %d bytes at standard output: %v", format, size, len(whole), err)
			}
		}
	}
}

// TestWholeBodies has bodies with something behind the end, and a damaged one.
func TestWholeBodies(t *testing.T) {
	bodies := someBodies(t)
	damaged := bytes.Clone(bodies["tar.gz"])
	damaged[len(damaged)-5] ^= 1
	for name, c := range map[string]struct {
		whole wholeBody
		body  []byte
	}{
		"JSON and more":  {wholeJSON, []byte(`{} {}`)},
		"no JSON":        {wholeJSON, []byte(`<html>`)},
		"gzip and more":  {wholeGzip, append(bodies["tar.gz"], '<')},
		"a bad checksum": {wholeGzip, damaged},
		"zip and more":   {wholeZip, append(bodies["zip"], '<')},
		"no zip":         {wholeZip, []byte(`<html>`)},
	} {
		var copied bytes.Buffer
		size, err := copyWhole(&copied, bytes.NewReader(c.body), c.whole, "s")
		if err == nil || int(size) != len(c.body) || !bytes.Equal(copied.Bytes(), c.body) {
			t.Errorf("%s: %d bytes, %v", name, size, err)
		}
	}
	large := io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), bytes.NewReader(bodies["zip"]))
	if _, err := copyWhole(io.Discard, large, wholeZip, "s"); err != nil {
		t.Errorf("the end of a large archive: %v", err)
	}
}
