package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// proxy writes the configuration of OPERATING.md for a reverse proxy to a file, with the address of
// the running server and a free port, which it stores in the variable proxy.
//
//	proxy nginx|caddy FILE
func (s *script) proxy(ts *testscript.TestScript, args []string) error {
	if len(args) != 2 || s.server == nil {
		return errors.New("usage, while a server runs: proxy nginx|caddy FILE")
	}
	text, err := os.ReadFile("../../deploy/OPERATING.md")
	if err != nil {
		return err
	}
	block := regexp.MustCompile("(?s)```" + args[0] + "\n(.*?)```").FindSubmatch(text)
	if block == nil {
		return fmt.Errorf("OPERATING.md has no example for %s", args[0])
	}
	address, err := s.reserveAddress()
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	// The example contains the ports of a real deployment.
	config := strings.NewReplacer("127.0.0.1:8080", s.server.address, "listen 80;",
		"listen "+address+";", "work.example.org {", "http://:"+port+" {").Replace(string(block[1]))
	if config == string(block[1]) {
		return errors.New("the example names neither server nor port")
	}
	ts.Setenv("proxy", address)
	return os.WriteFile(filepath.Join(s.work, args[1]), []byte(config), 0o600)
}
