package main

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"pws/actors"
	"pws/http"
)

// The label values of requests that match no operation.
const (
	noResource = "none"
	noCategory = "none"
)

// durationBuckets are the upper bounds of the request durations, in seconds.
var durationBuckets = []float64{
	.0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, .5, 2.5,
}

// newMetrics returns a registry with the metrics of the process, of the engine and of requests, and
// makes the server report its requests to it.
//
// Requests are counted by resource and class of status, and timed by rate-limit category. Refusals
// are counted by error code and by limit. No label has a value that a client chooses, and no metric
// has a series for each operation, so the number of series stays below seriesMax however long the
// server runs.
func newMetrics(
	engine *actors.Engine, table *memoryTable, config *http.Config,
) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo())
	registerMetrics(registry, engine.Metrics())
	registry.MustRegister(table)
	config.Observe = countRequests(registry)
	return registry
}

// seriesMax bounds the number of series, even AFTER every operation has been called and every error
// code returned. A test counts them.
const seriesMax = 440

func registerMetrics(registry *prometheus.Registry, metrics []actors.Metric) {
	for _, one := range metrics {
		registry.MustRegister(collectorOf(one))
	}
}

func collectorOf(one actors.Metric) prometheus.Collector {
	if one.Counter {
		return prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: one.Name, Help: one.Help}, one.Value)
	}
	return prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: one.Name, Help: one.Help}, one.Value)
}

// buildInfo is a constant 1 with the versions as labels.
func buildInfo() prometheus.Collector {
	revision := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				revision = setting.Value
			}
		}
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "pws_build_info",
		Help: "Version of the program and of Go, and the revision it was built from. Always 1.",
		ConstLabels: prometheus.Labels{
			"version": version, "goversion": runtime.Version(), "revision": revision,
		},
	}, func() float64 { return 1 })
}

// serverMetrics are the metrics of requests that wait for events or are large.
func serverMetrics(server *http.Server) []actors.Metric {
	return []actors.Metric{
		{Name: "pws_waiting_requests", Help: "Requests that wait for events, streams included.",
			Value: func() float64 { return float64(server.Waiting().Requests) }},
		{Name: "pws_waiting_streams", Help: "Open event streams.",
			Value: func() float64 { return float64(server.Waiting().Streams) }},
		{Name: "pws_expensive_running", Help: "Expensive operations that run.",
			Value: func() float64 { return float64(server.Computing().Running) }},
		{Name: "pws_expensive_waiting", Help: "Requests that wait to run an expensive operation.",
			Value: func() float64 { return float64(server.Computing().Waiting) }},
		{Name: "pws_writes_running", Help: "Writes that are carried out.",
			Value: func() float64 { return float64(server.Writes().Running) }},
		{Name: "pws_writes_waiting", Help: "Requests that wait for their turn to write.",
			Value: func() float64 { return float64(server.Writes().Waiting) }},
		{Name: "pws_request_memory_bytes", Help: "Memory reserved for large bodies and answers.",
			Value: func() float64 { return float64(server.RequestMemory()) }},
		{Name: "pws_waiting_dropped_total", Counter: true,
			Help:  "Event streams closed because their clients did not read.",
			Value: func() float64 { return float64(server.Waiting().Dropped) }},
	}
}

// countRequests registers the metrics of requests and returns the function that updates them.
func countRequests(registry *prometheus.Registry) func(http.Observation) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pws_requests_total",
		Help: "Requests answered, by resource and class of status.",
	}, []string{"resource", "class"})
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "pws_request_duration_seconds",
		Help:    "Time from the head of a request to its answer, by rate-limit category.",
		Buckets: durationBuckets,
	}, []string{"category"})
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pws_refused_total",
		Help: "Requests refused, by error code.",
	}, []string{"code"})
	limited := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pws_limited_total",
		Help: "Requests refused with RATE_LIMITED or STORAGE_UNAVAILABLE, by limit, queue or reason.",
	}, []string{"limit"})
	registry.MustRegister(requests, durations, refused, limited)
	return func(seen http.Observation) {
		resource, category := noResource, noCategory
		if seen.Operation != nil {
			resource, category = seen.Operation.Tag, string(seen.Operation.Category)
			if seen.Operation.Page {
				resource = "page"
			}
		}
		requests.WithLabelValues(resource, strconv.Itoa(seen.Status/100)+"xx").Inc()
		durations.WithLabelValues(category).Observe(seen.Elapsed.Seconds())
		if seen.Code != "" {
			refused.WithLabelValues(seen.Code).Inc()
		}
		if seen.Reason != "" {
			limit := strings.ReplaceAll(strings.ToLower(seen.Reason), "_", "-")
			limited.WithLabelValues(limit).Inc()
		}
	}
}
