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
type admin struct {
	server   *nethttp.Server
	registry *prometheus.Registry
}

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
	a := &admin{registry: registry}
	for _, gauge := range engine.Metrics() {
		a.register(gauge)
	}
	mux := nethttp.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	a.server = &nethttp.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := a.server.Serve(listener); !errors.Is(err, nethttp.ErrServerClosed) {
			log.Error("the admin listener failed", "error", err)
		}
	}()
	log.Info("admin", "address", listener.Addr().String())
	return a, nil
}

// watch adds the figures of the server to the metrics.
func (a *admin) watch(server *http.Server) {
	if a == nil {
		return
	}
	for _, gauge := range []actors.Gauge{
		{Name: "pws_waiting_requests", Help: "Requests that wait for events, streams included.",
			Value: func() float64 { return float64(server.Waiting().Requests) }},
		{Name: "pws_waiting_streams", Help: "Streams of events that are open.",
			Value: func() float64 { return float64(server.Waiting().Streams) }},
		{Name: "pws_waiting_dropped", Help: "Streams given up since the start, for nobody read them.",
			Value: func() float64 { return float64(server.Waiting().Dropped) }},
	} {
		a.register(gauge)
	}
}

func (a *admin) register(gauge actors.Gauge) {
	a.registry.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: gauge.Name, Help: gauge.Help}, gauge.Value))
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
