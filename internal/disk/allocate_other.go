//go:build !linux

package disk

import "os"

// Allocate leaves the file as it is.
func Allocate(*os.File, int64) error { return nil }

// Datasync makes the bytes and the length of a file durable.
func Datasync(f *os.File) error { return f.Sync() }
