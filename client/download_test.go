package client

import (
	"errors"
	"io"
	"net/http"
	"testing"
)

func TestDownloadsAreRepeatedUntilTheyBegin(t *testing.T) {
	torn := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("begin"))
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	for name, c := range map[string]struct {
		handlers []http.HandlerFunc
		attempts int32
		code     string
		torn     bool
	}{
		"after a cut": {[]http.HandlerFunc{cut, answer(200, "whole")}, 2, "", false},
		"a torn body": {[]http.HandlerFunc{torn}, 1, "", true},
		"refused":     {[]http.HandlerFunc{refused(404, "FILE_NOT_FOUND")}, 1, "FILE_NOT_FOUND", false},
		"refused for now": {
			[]http.HandlerFunc{refused(503, "SHUTTING_DOWN")}, attemptsMax, "SHUTTING_DOWN", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, count := script(t, c.handlers...)
			client, _ := unwaiting(t, server.URL, nil)
			got, err := client.Download(t.Context(), &Request{Method: http.MethodGet, Path: "/"})
			if count.Load() != c.attempts || IsCode(err, c.code) == (c.code == "") {
				t.Fatalf("%d attempts: %v", count.Load(), err)
			}
			if err != nil {
				return
			}
			body, err := io.ReadAll(got.Body)
			var lost *UnreachableError
			if errors.As(err, &lost) != c.torn || !c.torn && (err != nil || string(body) != "whole") {
				t.Errorf("body %q, %v", body, err)
			}
			if err := got.Body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
