package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	nethttp "net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"pws/actors"
	"pws/api"
	"pws/cluster"
	"pws/http"
)

// admin is the private listener for metrics and profiles. It is nil where none is configured.
type admin struct {
	server   *nethttp.Server
	mux      *nethttp.ServeMux
	registry *prometheus.Registry
	memory   *memoryTable
	// stopped is closed by stop.
	stopped chan struct{}
	// loopback says that only this machine reaches it.
	loopback bool
}

// startAdmin serves /metrics and /debug/pprof, and has the server report its requests.
func startAdmin(
	address string, engine *actors.Engine, config *http.Config, log *slog.Logger,
) (*admin, error) {
	if address == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	mux := nethttp.NewServeMux()
	memory := newMemoryTable(engine.MemoryOwners)
	a := &admin{
		registry: newMetrics(engine, memory, config), memory: memory, mux: mux,
		loopback: isLoopback(listener.Addr()), stopped: make(chan struct{}),
	}
	go memory.watch(a.stopped)
	serveProbes(mux, engine)
	metrics := promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{})
	for path, handler := range map[string]nethttp.HandlerFunc{
		"/metrics": metrics.ServeHTTP, "/debug/pprof/": pprof.Index,
		"/debug/pprof/profile": pprof.Profile, "/debug/pprof/symbol": pprof.Symbol,
		"/debug/pprof/trace": pprof.Trace,
	} {
		if a.loopback {
			handler = hostOnly(handler)
		}
		mux.HandleFunc(path, handler)
	}
	a.server = &nethttp.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := a.server.Serve(listener); !errors.Is(err, nethttp.ErrServerClosed) {
			log.Error("admin listener failed", "error", err)
		}
	}()
	log.Info("admin", "address", listener.Addr().String())
	return a, nil
}

// isLoopback reports whether an address is one of this machine alone.
func isLoopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// live and ready answer probes without the JSON envelope. Their members are those of the operations
// with the same paths.
type (
	live struct {
		Status string `json:"status"`
	}
	ready struct {
		api.Readiness
		Reason string `json:"reason,omitempty"`
	}
)

func serveProbes(mux *nethttp.ServeMux, engine api.Engine) {
	answer := func(w nethttp.ResponseWriter, status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	mux.HandleFunc("/livez", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		answer(w, nethttp.StatusOK, live{Status: "ok"})
	})
	mux.HandleFunc("/readyz", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		now, reason := api.ReadinessOf(engine)
		status := nethttp.StatusOK
		if !now.Writes {
			status = nethttp.StatusServiceUnavailable
		}
		answer(w, status, ready{Readiness: now, Reason: reason})
	})
}

// watch registers the metrics of the server, and of its group if it has one.
func (a *admin) watch(server *http.Server, group *cluster.Membership) {
	if a == nil {
		return
	}
	a.memory.begin(server)
	registerMetrics(a.registry, serverMetrics(server))
	if group != nil {
		registerMetrics(a.registry, groupMetrics(group))
	}
}

func (a *admin) stop() {
	if a != nil {
		_ = a.server.Close()
		close(a.stopped)
	}
}
