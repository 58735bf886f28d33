package main

import (
	"errors"
	"log/slog"
	"net"
	nethttp "net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"pws/actors"
	"pws/http"
)

// admin is the private listener for metrics and profiles; nil where there is none.
type admin struct{ server *nethttp.Server }

// startAdmin serves /metrics and /debug/pprof, and lets the server's requests be counted.
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
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	config.Observe = countRequests(registry)
	for _, gauge := range engine.Metrics() {
		registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: gauge.Name, Help: gauge.Help}, gauge.Value))
	}
	mux := nethttp.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := &nethttp.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, nethttp.ErrServerClosed) {
			log.Error("the admin listener failed", "error", err)
		}
	}()
	log.Info("admin", "address", listener.Addr().String())
	return &admin{server: server}, nil
}

func (a *admin) stop() {
	if a != nil {
		_ = a.server.Close()
	}
}

// countRequests makes the metrics of requests, by operation and status.
func countRequests(registry *prometheus.Registry) func(string, int, time.Duration) {
	requests := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "pws_request_seconds",
		Help:    "Time to answer, by operation and status.",
		Buckets: prometheus.ExponentialBuckets(50e-6, 2, 18),
	}, []string{"operation", "status"})
	registry.MustRegister(requests)
	return func(operation string, status int, elapsed time.Duration) {
		if operation == "" {
			operation = "none"
		}
		requests.WithLabelValues(operation, strconv.Itoa(status)).Observe(elapsed.Seconds())
	}
}
