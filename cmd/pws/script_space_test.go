package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pws/internal/disk"
)

// diskCommands are the commands for the disk of the server.
func diskCommands() map[string]command {
	return map[string]command{
		"smalldisk": wrap((*script).smallDisk),
		"ballast":   wrap((*script).ballast),
		"fill":      wrap((*script).fill),
		"logged":    wrap((*script).logged),
	}
}

// conditions are the conditions of scripts: tmpfs means that the test can mount a small file
// system, which needs root privileges, and raced that the race detector watches.
func conditions(name string) (bool, error) {
	if name == "raced" {
		return raced(), nil
	}
	if name != "tmpfs" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	dir, err := os.MkdirTemp("", "pws-tmpfs-")
	if err != nil {
		return false, err
	}
	defer os.Remove(dir)
	if mountSmall(dir, "1m") != nil {
		return false, nil
	}
	return true, unmountSmall(dir)
}

// raced reports whether the race detector is part of this program.
func raced() bool {
	info, known := debug.ReadBuildInfo()
	on := debug.BuildSetting{Key: "-race", Value: "true"}
	return known && slices.Contains(info.Settings, on)
}

// smallDisk mounts a small file system at a folder until the script ends.
//
//	smalldisk FOLDER BYTES
func (s *script) smallDisk(ts *testscript.TestScript, args []string) error {
	dir := ts.MkAbs(args[0])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := mountSmall(dir, args[1]); err != nil {
		return err
	}
	s.mounted = append(s.mounted, dir)
	return nil
}

// unmount unmounts the small file systems AFTER the server that uses them has ended.
func (s *script) unmount() {
	for _, dir := range s.mounted {
		_ = unmountSmall(dir)
	}
}

// ballast allocates space without writing it: so much, or all but what is to be free.
//
//	ballast FILE BYTES
//	ballast FILE -FREE
func (s *script) ballast(ts *testscript.TestScript, args []string) error {
	size, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	file, err := os.Create(ts.MkAbs(args[0]))
	if err != nil {
		return err
	}
	if size < 0 {
		free, _, err := disk.Free(filepath.Dir(file.Name()))
		if err != nil {
			return errors.Join(err, file.Close())
		}
		size += free
	}
	return errors.Join(allocate(file, size), file.Close())
}

// fill writes files of random text until the service refuses one because the disk is full.
//
//	fill TARGET BYTES
func (s *script) fill(_ *testscript.TestScript, args []string) error {
	size, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	const most = 10_000
	random := make([]byte, size)
	for n := range most {
		if _, err := rand.Read(random); err != nil {
			return err
		}
		body, err := json.Marshal(map[string]string{
			"content": base64.StdEncoding.EncodeToString(random),
		})
		if err != nil {
			return err
		}
		sent := &request{
			method: "PUT", target: fmt.Sprintf("%s-%d.txt", s.target(args[0]), n), body: body,
		}
		err = s.expect(sent, 201, "")
		if err == nil {
			continue
		}
		// The same request again might be accepted: a snapshot gives space back.
		if s.last.is(503, "STORAGE_UNAVAILABLE") != nil {
			return err
		}
		return s.followStep(s.last)
	}
	return fmt.Errorf("%d files of %d bytes did not fill the disk", most, size)
}

// logged waits until the log of the server contains a text.
//
//	logged TEXT
func (s *script) logged(_ *testscript.TestScript, args []string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for {
		text, err := os.ReadFile(filepath.Join(s.work, "server.log"))
		if err != nil || strings.Contains(string(text), args[0]) {
			return err
		}
		select {
		case <-tick.C:
		case <-limit:
			return mismatchf("the log does not have %q:\n%s", args[0], text)
		}
	}
}
