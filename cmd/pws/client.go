package main

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/adrg/xdg"
	"golang.org/x/term"

	"pws/api"
	connect "pws/client"
	mcpbridge "pws/client/bridge"
	"pws/client/cli"
	"pws/http"
)

// clientEnv is what the commands of the client know of this process.
func clientEnv(out, errs io.Writer) (*cli.Env, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	const program = "pws"
	return &cli.Env{
		Lookup: os.LookupEnv,
		Folders: connect.Folders{
			Config: filepath.Join(xdg.ConfigHome, program),
			State:  filepath.Join(xdg.StateHome, program),
			Cache:  filepath.Join(xdg.CacheHome, program),
		},
		Dir: dir, In: os.Stdin, Out: out, Err: errs,
		TerminalIn:  term.IsTerminal(int(os.Stdin.Fd())),
		TerminalOut: term.IsTerminal(int(os.Stdout.Fd())),
		TerminalErr: term.IsTerminal(int(os.Stderr.Fd())),
		Program:     connect.Program{Name: program, Version: version},
		OpenURL:     openURL, Now: time.Now,
		Offline: func(server string) (mcpbridge.Offline, error) {
			return http.NewOffline(api.Config{Version: version, PublicURL: server})
		},
	}, nil
}
