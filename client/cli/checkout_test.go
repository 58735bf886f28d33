package cli

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// TestCheckoutOfNothing has a server without the project.
func TestCheckoutOfNothing(t *testing.T) {
	p := newHookPlace(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"code":"PROJECT_NOT_FOUND","message":"No."}}`)
	}))
	defer server.Close()
	p.server = server.URL
	env, out := p.env(nil)
	dir := filepath.Join(p.home, "d")
	const project = "prj_11111111111111111111111111"
	err := (&CheckoutCommand{Project: project, Dir: dir}).Run(t.Context(), env)
	if ExitCode(err) != ExitNotFound || out.Len() > 0 {
		t.Errorf("error %v, output %s", err, out)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}
}
