// Package datadir is the layout of a data directory, for the engine and for the tools that work
// without one: its files, the entries of the log, and the keys of the sections of snapshots.
//
//	FORMAT     the version of this layout, a line of text
//	secret     the server's secret, a line of hexadecimal digits
//	secret.crc the CRC-32C of the secret, which a start writes where it is missing
//	log        entries (Entry), by package wal; its file LOCK is locked while a server runs
//	snapshot   sections, by package snapshot
//	blobs      contents, by package blobs
//	uploads    parts of uploads, by package uploads
//	feed       activity events, by package index/feed
//	search     the search index, by package index/search; it can be rebuilt
//	member     which member of a group the directory belongs to; a single server has none
//	raft       the log of a member, by package journal/replica
//	renewal    what replaces the data of a member that was away for too long (FinishRenewal)
//	BACKUP     what a backup has, by package actors/offline; a server that starts on it removes it
//	admin.sock the socket of pws admin, while a server runs
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pws/internal/disk"
)

// The parts of the data directory, and the file of the log that its owner keeps locked.
const (
	FormatName = "FORMAT"
	SecretName = "secret"
	// SecretSumName is the file with the checksum of the secret. Data of an earlier program has none.
	SecretSumName = "secret.crc"
	LogName       = "log"
	SnapshotName  = "snapshot"
	BlobsName     = "blobs"
	UploadsName   = "uploads"
	FeedName      = "feed"
	SearchName    = "search"
	MemberName    = "member"
	ErasureName   = "erasure"
	RaftName      = "raft"
	// BackupName is the list of a backup. A data directory that a server has used has none.
	BackupName = "BACKUP"
	// AdvanceName is the file that says how far a clock for tests was moved forward.
	AdvanceName = "test-clock"
	LogLockName = "LOCK"
	SpillName   = "spill"
)

const (
	formatText  = "pws data 1\n"
	secretBytes = 32
)

// Prepare creates the data directory, and returns an error for one of another format, and for one
// with data that has lost its format.
func Prepare(dir string) error {
	if err := (disk.OS{}).MakeDir(dir); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	name := filepath.Join(dir, FormatName)
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if err := requireFormat(dir); err != nil {
			return err
		}
		return writeDurably(name, []byte(formatText))
	}
	return Check(dir)
}

// Check returns an error for a folder that is not a data directory or has another format.
func Check(dir string) error {
	name := filepath.Join(dir, FormatName)
	text, err := os.ReadFile(name)
	if _, missing := os.Stat(dir); errors.Is(missing, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist", dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err := requireFormat(dir); err != nil {
			return err
		}
		return fmt.Errorf("%s is not a data directory: it has no file %s", dir, FormatName)
	}
	if err == nil && string(text) != formatText {
		err = fmt.Errorf("%s contains %q, this program requires %q", name,
			strings.TrimSpace(string(text)), strings.TrimSpace(formatText))
	}
	if err == nil && renews(dir) {
		err = fmt.Errorf("the data in %s is being replaced by that of another member: start the server, "+
			"which finishes that", dir)
	}
	return err
}

// writeDurably creates a file atomically and durably.
func writeDurably(name string, content []byte) error {
	temporary := name + ".new"
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(temporary, name)
	}
	if err == nil {
		err = SyncDir(filepath.Dir(name))
	}
	return err
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// MakeRoom removes an empty directory, so that one beside it can get its name later. It does
// nothing where there is none. Errors: the directory is not empty, or is a mount point.
func MakeRoom(dir string) error {
	names, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(names) > 0:
		return fmt.Errorf("%s is not empty", dir)
	}
	if err := os.Remove(dir); err != nil {
		return fmt.Errorf("%w: a folder gets its place; below a mount point, name another one", err)
	}
	return nil
}
