package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestCheckoutOfNothing has a server without the project.
func TestCheckoutOfNothing(t *testing.T) {
	p := newHookPlace(t)
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
