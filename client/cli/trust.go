package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"pws/client"
)

// A binding may have come with someone else's repository, whose project is theirs. Hooks, which
// nobody calls, write to a project only where a command has done something for it in this directory
// before: init, checkout, pull, push, a claim, a checkpoint or a handoff.

// trustPath is the file that says so, for a directory with this binding.
func (e *Env) trustPath(bound Binding) string {
	root := bound.root
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	sum := sha256.Sum256([]byte(root + "\x00" + bound.Server + "\x00" + bound.Project))
	return filepath.Join(e.Folders.State, "trusted", hex.EncodeToString(sum[:16]))
}

// trust lets hooks write to the project of a directory. What cannot be noted, as in a HOME that
// cannot be written to, leaves them without that.
func (e *Env) trust(bound Binding) {
	if bound.root != "" && !e.trusts(bound) {
		_ = client.ReplaceFile(e.trustPath(bound), nil, 0o600)
	}
}

// trustHere is trust for the working directory.
func (e *Env) trustHere() {
	if bound, err := e.binding(); err == nil {
		e.trust(bound)
	}
}

// trusts reports whether hooks may write to the project of a directory.
func (e *Env) trusts(bound Binding) bool {
	_, err := os.Lstat(e.trustPath(bound))
	return err == nil
}
