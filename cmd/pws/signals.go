package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"pws/client/cli"
)

// stopSignals are the signals that stop the server. SIGHUP is one of them, because there is no
// configuration to reload, unless the server was started with SIGHUP ignored, as by nohup.
func stopSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// graceUsually is how long a command of the client has to end after an interrupt.
const graceUsually = 500 * time.Millisecond

// interruptible returns a context that ends with an interrupt, and a function that ends the
// handling of interrupts. What does not ask the context, as a read of a terminal or a FIFO, does
// not keep the process: a second interrupt ends it at once, and the time of grace in any case. All
// that a command writes is written in one step, or is completed by the next one.
func interruptible(grace time.Duration, errs io.Writer) (context.Context, func()) {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	watch := context.AfterFunc(ctx, func() {
		release()
		time.Sleep(grace)
		fmt.Fprintln(errs, "pws: interrupted")
		exit(cli.ExitInterrupted)
	})
	return ctx, func() {
		watch()
		release()
	}
}

// logStop logs why the server stops; a nil signal means that it cannot go on.
func logStop(log *slog.Logger, received os.Signal, cause error) {
	if errors.Is(cause, errRemoved) {
		log.Warn("stopping for good", "cause", cause)
		return
	}
	if received == nil {
		log.Error("stopping", "error", cause)
		return
	}
	log.Info("stopping", "signal", signalName(received))
}

// signalName is the name of a signal, such as SIGTERM.
func signalName(received os.Signal) string {
	switch received {
	case os.Interrupt:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return received.String()
}

// listenProblem returns an error for an address that the server cannot listen on.
func listenProblem(flag, address string) error {
	if strings.HasPrefix(address, "unix:") || strings.Contains(address, "/") {
		return fmt.Errorf("%s %s: the server listens on TCP only, not on sockets of files or URLs; "+
			"give HOST:PORT, such as 127.0.0.1:8080", flag, address)
	}
	_, _, err := net.SplitHostPort(address)
	var problem *net.AddrError
	if errors.As(err, &problem) {
		return fmt.Errorf("%s %s: %s; give HOST:PORT, such as 127.0.0.1:8080", flag, address,
			problem.Err)
	}
	return err
}

// listensOnLoopback reports whether an address, which listenProblem has checked, can be reached
// from this machine alone.
func listensOnLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
