package client

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLockErrors: another process is named where there may be one.
func TestLockErrors(t *testing.T) {
	dir := t.TempDir()
	never := func() error {
		t.Error("it runs without the lock")
		return nil
	}
	names := func(err error) bool {
		return strings.Contains(err.Error(), "waiting for another process")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(dir, "lock")
	if err := WithLock(ended, path, never); !errors.Is(err, context.Canceled) || names(err) {
		t.Errorf("a context that has ended: %v", err)
	}
	folder := filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WithLock(t.Context(), folder, never); err == nil || names(err) {
		t.Errorf("a folder: %v", err)
	}
	err := WithLock(t.Context(), path, func() error {
		waiting, cancel := context.WithTimeout(t.Context(), lockWait)
		defer cancel()
		return WithLock(waiting, path, never)
	})
	if !errors.Is(err, context.DeadlineExceeded) || !names(err) {
		t.Errorf("a lock that is held: %v", err)
	}
}
