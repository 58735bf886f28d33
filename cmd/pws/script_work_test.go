package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// walk follows next_cursor to the end of a list and counts the entries. No entry may occur twice.
//
//	walk TARGET KEY N
func (s *script) walk(_ *testscript.TestScript, args []string) error {
	if len(args) != 3 {
		return errors.New("usage: walk TARGET KEY N")
	}
	seen := map[string]bool{}
	err := s.pages(s.target(args[0]), args[1], func(entry map[string]any) error {
		name := textOf(entry["path"])
		if name == "" {
			name = textOf(entry["id"])
		}
		if seen[name] {
			return mismatchf("%s comes twice", name)
		}
		seen[name] = true
		return nil
	})
	if want := s.expand(args[2]); err == nil && strconv.Itoa(len(seen)) != want {
		return mismatchf("%d entries, not %s", len(seen), want)
	}
	return err
}

func (s *script) pages(target, key string, visit func(map[string]any) error) error {
	between := "?"
	if strings.Contains(target, "?") {
		between = "&"
	}
	for page := target; page != ""; {
		if err := s.expect(&request{method: "GET", target: page}, 200, ""); err != nil {
			return err
		}
		entries, _ := s.last.at("data." + key)
		list, ok := entries.([]any)
		if !ok {
			return fmt.Errorf("data.%s is no list", key)
		}
		for _, one := range list {
			entry, ok := one.(map[string]any)
			if !ok {
				return fmt.Errorf("data.%s has an entry that is not an object", key)
			}
			if err := visit(entry); err != nil {
				return err
			}
		}
		page = ""
		if next, _ := s.last.at("data.next_cursor"); next != nil {
			page = target + between + "cursor=" + url.QueryEscape(textOf(next))
		}
	}
	return nil
}

// checkout writes the files of a project at a changeset into a folder; compare checks that a folder
// contains exactly these files.
//
//	checkout DIR PROJECT CHANGESET
//	compare DIR PROJECT CHANGESET
func (s *script) checkout(ts *testscript.TestScript, args []string) error {
	files, err := s.contents(args[1], args[2])
	if err != nil {
		return err
	}
	for path, content := range files {
		name := filepath.Join(ts.MkAbs(args[0]), filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return os.MkdirAll(ts.MkAbs(args[0]), 0o700)
}

func (s *script) compare(ts *testscript.TestScript, args []string) error {
	want, err := s.contents(args[1], args[2])
	if err != nil {
		return err
	}
	got, dir := map[string]string{}, ts.MkAbs(args[0])
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		path, relErr := filepath.Rel(dir, name)
		got[filepath.ToSlash(path)] = string(data)
		return errors.Join(err, relErr)
	})
	if err != nil {
		return err
	}
	for path, content := range want {
		if other, there := got[path]; !there || other != content {
			return mismatchf("%s: there %v, %q, not %q", path, there, clip(other), clip(content))
		}
		delete(got, path)
	}
	for path := range maps.Keys(got) {
		return mismatchf("unexpected file %s", path)
	}
	return nil
}

// contents reads all files at a changeset by two operations, which must agree on the size of each
// file.
func (s *script) contents(project, changeset string) (map[string]string, error) {
	base := s.target("projects/" + project + "/changesets/" + changeset)
	sizes := map[string]string{}
	err := s.pages(base+"/tree", "files", func(entry map[string]any) error {
		sizes[textOf(entry["path"])] = textOf(entry["size_bytes"])
		return nil
	})
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for path, size := range sizes {
		segments := strings.Split(path, "/")
		for i, segment := range segments {
			segments[i] = url.PathEscape(segment)
		}
		target := base + "/files/" + strings.Join(segments, "/")
		if err := s.expect(&request{method: "GET", target: target}, 200, ""); err != nil {
			return nil, err
		}
		content, err := s.value("data.file.content")
		if err != nil {
			return nil, err
		}
		files[path] = textOf(content)
		if strconv.Itoa(len(files[path])) != size {
			return nil, mismatchf("%s has %d bytes, not %s", path, len(files[path]), size)
		}
	}
	return files, nil
}

// flood starts writers of a project, kills the server after N acknowledged writes while they
// continue, and stores the acknowledged files for the command acked.
//
//	flood PROJECT N
func (s *script) flood(ts *testscript.TestScript, args []string) error {
	wanted, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	const writers = 8
	s.serial++
	flood := s.serial
	var (
		answered atomic.Int64
		enough   = make(chan struct{})
		all      sync.WaitGroup
		acked    [writers][]string
		problems [writers]error
	)
	for writer := range writers {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; ; i++ {
				path := fmt.Sprintf("flood%d/%d/%d.txt", flood, writer, i)
				got, err := s.send(&request{
					method: "PUT", target: s.target("projects/" + args[0] + "/files/" + path),
					body: []byte(`{"content":"` + path + `"}`),
				})
				if err != nil {
					return
				}
				if got.status != 201 {
					problems[writer] = fmt.Errorf("status %d: %s", got.status, got.body)
					return
				}
				acked[writer] = append(acked[writer], path)
				if answered.Add(1) == wanted {
					close(enough)
				}
			}
		}()
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-enough:
		s.server.killNow()
	case <-done:
	}
	<-done
	if err := errors.Join(problems[:]...); err != nil {
		return err
	}
	if s.acked == nil {
		s.acked = map[string][]string{}
	}
	for writer := range acked {
		s.acked[args[0]] = append(s.acked[args[0]], acked[writer]...)
	}
	return s.crash(ts, nil)
}

// acknowledged expects all files whose writes were acknowledged to flood.
//
//	acked PROJECT
func (s *script) acknowledged(_ *testscript.TestScript, args []string) error {
	for _, path := range s.acked[args[0]] {
		target := s.target("projects/" + args[0] + "/files/" + path)
		if err := s.expect(&request{method: "GET", target: target}, 200, ""); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if content, _ := s.last.at("data.file.content"); content != path {
			return mismatchf("%s holds %v", path, content)
		}
	}
	return nil
}
