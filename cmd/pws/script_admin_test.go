package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pws/internal/disk/disktest"
)

// adminScriptCommands are about the admin socket and the output of programs.
func adminScriptCommands() map[string]command {
	return map[string]command{
		"mode":     wrap((*script).mode),
		"garbage":  wrap((*script).garbage),
		"printed":  wrap((*script).printed),
		"contains": wrap((*script).contains),
	}
}

// mode expects the mode of a file.
//
//	mode FILE MODE
func (s *script) mode(ts *testscript.TestScript, args []string) error {
	info, err := os.Stat(ts.MkAbs(args[0]))
	if err != nil {
		return err
	}
	if got := info.Mode().Perm().String(); got != args[1] {
		return mismatchf("%s has the mode %s", args[0], got)
	}
	return nil
}

// printed sets a variable to what a group of a pattern matches in the output of the last program.
//
//	printed VARIABLE PATTERN
func (s *script) printed(ts *testscript.TestScript, args []string) error {
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		return mismatchf("the output does not match %s", args[1])
	}
	s.set(ts, args[0], found[1])
	return nil
}

// garbage sends to a socket what is no request of the admin interface. Each must get an answer that
// is an error, or the end of the connection.
//
//	garbage SOCKET
func (s *script) garbage(ts *testscript.TestScript, args []string) error {
	address, done, err := socketAddress(ts.MkAbs(args[0]))
	if err != nil {
		return err
	}
	defer done()
	post := func(path, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s",
			path, len(body), body)
	}
	for _, sent := range []string{
		"\x00\xff\x16\x03\x01", "\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", strings.Repeat("x", 1<<20),
		"GET /suspend HTTP/1.1\r\nHost: a\r\n\r\n", post("/nothing", "{}"), post("/suspend", ""),
		post("/suspend", "{"), post("/suspend", `{"agent":7}`), post("/suspend", `{"agant":"x"}`),
		post("/suspend", `{} {}`), post("/suspend", strings.Repeat(" ", 70_000)+"{}"),
		post("/suspend", "\xff\xfe"), post("/../api/v1/projects", "{}"), post("/log", "[]"),
		"POST /suspend HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{",
	} {
		answer, err := sendRaw(address, sent)
		if err != nil {
			return err
		}
		if bytes.Contains(answer, []byte(" 200 ")) || bytes.Contains(answer, []byte(" 500 ")) {
			return mismatchf("%.60q is answered with %.200q", sent, answer)
		}
	}
	return nil
}

// sendRaw sends bytes to a socket, ends its side, and reads until the other side ends.
func sendRaw(address, text string) ([]byte, error) {
	conn, err := net.Dial("unix", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	// The server may end the connection before it has read everything.
	_, _ = io.WriteString(conn, text)
	if half, ok := conn.(*net.UnixConn); ok {
		_ = half.CloseWrite()
	}
	answer, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, err
	}
	return answer, nil
}

// contains expects a text somewhere in a folder: in the bytes of a file, or in what a part of it
// holds in compressed form.
//
//	contains FOLDER TEXT
func (s *script) contains(ts *testscript.TestScript, args []string) error {
	where, err := disktest.Holding(ts.MkAbs(args[0]), args[1])
	if err == nil && where == "" {
		err = mismatchf("nothing in %s contains %s", args[0], args[1])
	}
	return err
}
