package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pws/actors"
	"pws/cluster"
	"pws/internal/fault"
)

// adminSocketName is the socket in the data directory over which operators command the server that
// runs.
const adminSocketName = "admin.sock"

// The limits of a request to the admin socket.
const (
	adminBodyMax   = 64 << 10
	adminHeaderMax = 8 << 10
	adminReadMax   = 10 * time.Second
)

// adminStopMax is how long a server that stops waits for the answers to commands.
const adminStopMax = 2 * time.Second

// adminAction carries out one command of an operator: the body of a request makes the data of its
// answer.
type adminAction func(on adminTarget, body []byte) (any, error)

// adminTarget is what operators command. The group is nil for a single server.
type adminTarget struct {
	engine *actors.Engine
	group  *cluster.Membership
}

// adminActions are the commands of the admin socket by name. Each file that has one enters it with
// registerAdmin.
var adminActions = map[string]adminAction{}

// registerAdmin enters a command of the admin socket that changes something. A body with unknown
// members is refused. What it has done is agreed on; a refusal rests on what was read.
func registerAdmin[Body any](
	name string, run func(engine *actors.Engine, body *Body) (any, error),
) struct{} {
	return registerAction(name, func(on adminTarget, body *Body) (any, error) {
		mark, err := on.engine.BeginRead()
		if err != nil {
			return nil, err
		}
		data, err := run(on.engine, body)
		if err == nil || fault.CodeOf(err) == fault.StorageUnavailable {
			return data, err
		}
		if stale := on.engine.EndRead(mark); stale != nil {
			err = stale
		}
		return nil, err
	})
}

// registerAdminRead enters a command that changes nothing. It is answered with what is the newest,
// or refused where this server does not know that.
func registerAdminRead[Body any](
	name string, run func(engine *actors.Engine, body *Body) (any, error),
) struct{} {
	return registerAction(name, func(on adminTarget, body *Body) (any, error) {
		return readFresh(on.engine, func() (any, error) { return run(on.engine, body) })
	})
}

// readFresh makes an answer of what is the newest. Errors: STORAGE_UNAVAILABLE.
func readFresh(engine *actors.Engine, read func() (any, error)) (any, error) {
	mark, err := engine.BeginRead()
	if err != nil {
		return nil, err
	}
	data, refusal := read()
	if err := engine.EndRead(mark); err != nil {
		return nil, err
	}
	return data, refusal
}

func registerAction[Body any](
	name string, run func(on adminTarget, body *Body) (any, error),
) struct{} {
	if _, twice := adminActions[name]; twice {
		panic("admin command " + name + " twice")
	}
	adminActions[name] = func(on adminTarget, text []byte) (any, error) {
		body := new(Body)
		if err := decodeStrictly(text, body); err != nil {
			return nil, fault.New(fault.InvalidJSON, "The body cannot be parsed: "+err.Error())
		}
		return run(on, body)
	}
	return struct{}{}
}

func decodeStrictly(text []byte, into any) error {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is data behind the end")
	}
	return nil
}

// adminAnswer is the answer to every request: data, or an error as the interface has them.
type adminAnswer struct {
	OK    bool            `json:"ok"`
	Data  json.RawMessage `json:"data,omitempty"`
	Error *adminFault     `json:"error,omitempty"`
}

type adminFault struct {
	Code    fault.Code     `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// adminSocket serves the commands of operators to processes of the same user.
type adminSocket struct {
	server *nethttp.Server
	name   string
}

// startAdminSocket listens in the data directory, which the engine has locked: a socket that is
// there belongs to a server that is gone. It is bound under another name and renamed AFTER it has
// its mode.
func startAdminSocket(
	dir string, on adminTarget, log *slog.Logger,
) (*adminSocket, error) {
	name := filepath.Join(dir, adminSocketName)
	if info, err := os.Lstat(name); err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("%s is not a socket", name)
	}
	fresh := name + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	address, done, err := socketAddress(fresh)
	if err != nil {
		return nil, err
	}
	defer done()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("admin socket: %w", err)
	}
	listener.SetUnlinkOnClose(false)
	if err = os.Chmod(fresh, 0o600); err == nil {
		err = os.Rename(fresh, name)
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close(), os.Remove(fresh))
	}
	s := &adminSocket{name: name, server: &nethttp.Server{
		Handler: adminHandler(on, log), ReadTimeout: adminReadMax,
		MaxHeaderBytes: adminHeaderMax, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
	go func() {
		err := s.server.Serve(&ownerListener{UnixListener: listener, log: log})
		if !errors.Is(err, nethttp.ErrServerClosed) {
			log.Error("admin socket failed", "error", err)
		}
	}()
	return s, nil
}

// remove removes the socket, so that no command comes any more. It is called BEFORE the engine is
// closed: AFTER that, another server may have its own.
func (s *adminSocket) remove() {
	if s != nil {
		_ = os.Remove(s.name)
	}
}

// stop closes the socket. It is called AFTER the engine is closed, which ends the commands that
// run: they are answered.
func (s *adminSocket) stop() {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminStopMax)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
}

// ownerListener accepts only processes of the user that the server runs as, and of root.
type ownerListener struct {
	*net.UnixListener
	log *slog.Logger
}

// Accept waits for the next connection that is permitted.
func (l *ownerListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if err := checkPeer(conn); err != nil {
			l.log.Warn("admin socket refused a connection", "error", err)
			_ = conn.Close()
			continue
		}
		return conn, nil
	}
}

// peerAllowed says whether a user may command the server.
func peerAllowed(user int) error {
	if own := os.Geteuid(); user != own && user != 0 {
		return fmt.Errorf("it is from user %d, the server runs as user %d", user, own)
	}
	return nil
}

// adminHandler answers POST /NAME with the outcome of the command of that name.
func adminHandler(on adminTarget, log *slog.Logger) nethttp.Handler {
	return nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		data, err := runAdmin(on, w, r, name)
		answer, status := adminAnswer{OK: err == nil}, nethttp.StatusOK
		if err == nil {
			answer.Data, err = json.Marshal(data)
		}
		if err != nil {
			answer, status = adminRefusal(err)
		}
		log.Info("admin", "command", name, "status", status)
		if status >= nethttp.StatusInternalServerError {
			log.Error("admin command failed", "command", name, "error", err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer)
	})
}

func runAdmin(
	on adminTarget, w nethttp.ResponseWriter, r *nethttp.Request, name string,
) (data any, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("command panicked: %v", broken)
		}
	}()
	action, known := adminActions[name]
	switch {
	case !known:
		return nil, fault.New(fault.RouteNotFound, "There is no command of this name.")
	case r.Method != nethttp.MethodPost:
		return nil, fault.New(fault.MethodNotAllowed, "Commands are sent with POST.")
	}
	body, err := io.ReadAll(nethttp.MaxBytesReader(w, r.Body, adminBodyMax))
	var large *nethttp.MaxBytesError
	if errors.As(err, &large) {
		return nil, fault.New(fault.BodyTooLarge, "The body is too large.").
			With("limit", adminBodyMax)
	}
	if err != nil {
		return nil, fault.New(fault.InvalidJSON, "The body ends too soon.")
	}
	return action(on, body)
}

// adminRefusal is the answer of a command that failed. Operators also see internal errors.
func adminRefusal(err error) (adminAnswer, int) {
	var missing noReportError
	if errors.As(err, &missing) {
		none := &adminFault{Code: reportNotFound, Message: missing.Error()}
		return adminAnswer{Error: none}, nethttp.StatusNotFound
	}
	refusal := &fault.Error{Code: fault.Internal, Message: err.Error()}
	_ = errors.As(err, &refusal)
	return adminAnswer{Error: &adminFault{
		Code: refusal.Code, Message: refusal.Message, Details: refusal.Details,
	}}, fault.Lookup(refusal.Code).Status
}

// socketPathMax is the longest path of a socket that all systems take, in bytes.
const socketPathMax = 103

// socketAddress makes a path that a socket can be bound to, or found at, for one that may be too
// long: relative to the working directory, or through an open file where the system has those. It
// is valid until done is called.
func socketAddress(name string) (address string, done func(), err error) {
	if len(name) <= socketPathMax {
		return name, func() {}, nil
	}
	if here, err := os.Getwd(); err == nil {
		if whole, err := filepath.Abs(name); err == nil {
			if short, err := filepath.Rel(here, whole); err == nil && len(short) <= socketPathMax {
				return short, func() {}, nil
			}
		}
	}
	folder, err := os.Open(filepath.Dir(name))
	if err != nil {
		return "", nil, err
	}
	link := fmt.Sprintf("/proc/self/fd/%d", folder.Fd())
	if target, err := os.Stat(link); err == nil && target.IsDir() {
		return filepath.Join(link, filepath.Base(name)), func() { _ = folder.Close() }, nil
	}
	_ = folder.Close()
	return "", nil, fmt.Errorf("the path %s has %d bytes; that of a socket can have %d: "+
		"use a shorter --data, or start in the folder above it", name, len(name), socketPathMax)
}
