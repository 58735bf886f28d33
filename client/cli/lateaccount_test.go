package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pws/client"
)

// TestProfilesChangeDuringASignIn has a server that does not answer a sign-in, while another login
// writes the profiles: who asks for the caller does not wait.
func TestProfilesChangeDuringASignIn(t *testing.T) {
	before := goleak.IgnoreCurrent()
	p := newKeyPlace(t)
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		// Without its body the end of a request is not noticed.
		_, _ = io.Copy(io.Discard, r.Body)
		close(asked)
		<-r.Context().Done()
	}))
	change := func(handle string) {
		err := p.env.Folders.ChangeProfiles(t.Context(), func(all *client.Profiles) error {
			profile := all.ByName["default"]
			profile.Server, profile.Handle = server.URL, handle
			all.ByName["default"] = profile
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	change("ada")
	late := &lateAccount{env: p.env}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := late.Do(ctx, &client.Request{Method: http.MethodGet, Path: "/"})
		ended <- err
	}()
	<-asked
	change("a longer handle")
	callers := make(chan string, 1)
	go func() { callers <- late.Caller().Handle }()
	select {
	case handle := <-callers:
		if handle != "a longer handle" {
			t.Errorf("the caller is %s", handle)
		}
	case <-time.After(time.Minute):
		t.Error("the caller is not known while the sign-in hangs")
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("the request has an answer")
	}
	late.close()
	server.Close()
	p.Close()
	goleak.VerifyNone(t, before)
}
