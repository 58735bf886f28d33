//go:build !linux

package disk

import "os"

// allocate leaves the file as it is.
func allocate(*os.File, int64) (reserved bool, err error) { return false, nil }

// Datasync makes the bytes and the length of a file durable.
func Datasync(f *os.File) error { return f.Sync() }

// goDirect leaves the file as it is.
func goDirect(*os.File) (block int) { return 0 }
