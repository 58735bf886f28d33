package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"pws/client/cli"
	"pws/internal/localhost"
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
// not keep the process longer than the time of grace. Commands with the usual one write what they
// write in one step, or the next one completes it.
func interruptible(grace time.Duration, errs io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	received, done := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case first := <-received:
			cancel()
			if overdue(first, received, time.After(grace), done) {
				fmt.Fprintln(errs, "pws: interrupted")
				exit(cli.ExitInterrupted)
			}
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		close(done)
		cancel()
	}
}

// overdue waits for the end of a command AFTER an interrupt. It returns true when that takes too
// long, or when the interrupt comes again. Hosts send SIGINT and then SIGTERM, which is no haste.
func overdue(
	first os.Signal, more <-chan os.Signal, over <-chan time.Time, done <-chan struct{},
) bool {
	for {
		select {
		case again := <-more:
			if again == first {
				return true
			}
		case <-over:
			return true
		case <-done:
			return false
		}
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
	return localhost.Host(address)
}
