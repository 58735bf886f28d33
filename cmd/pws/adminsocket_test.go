package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pws/internal/fault"
)

// TestAdminSocketAnswersWhenItStops stops the socket while a command runs: it is answered, and the
// socket is gone.
func TestAdminSocketAnswersWhenItStops(t *testing.T) {
	begun, closed := make(chan struct{}), make(chan struct{})
	adminActions["test-wait"] = func(adminTarget, []byte) (any, error) {
		close(begun)
		<-closed
		return nil, fault.Stopping()
	}
	defer delete(adminActions, "test-wait")
	dir := t.TempDir()
	socket, err := startAdminSocket(dir, adminTarget{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, adminSocketName)
	transport := &nethttp.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			address, done, err := socketAddress(name)
			if err != nil {
				return nil, err
			}
			defer done()
			return net.Dial("unix", address)
		},
	}
	defer transport.CloseIdleConnections()
	answered := make(chan error, 1)
	go func() {
		client := nethttp.Client{Transport: transport}
		answer, err := client.Post("http://admin/test-wait", "", strings.NewReader("{}"))
		if err == nil {
			err = answer.Body.Close()
		}
		answered <- err
	}()
	<-begun
	socket.remove()
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is there: %v", err)
	}
	close(closed)
	socket.stop()
	if err := <-answered; err != nil {
		t.Errorf("the command is not answered: %v", err)
	}
}
