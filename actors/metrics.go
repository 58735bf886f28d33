package actors

import "pws/index"

// Metric is a figure of the engine that operators watch, under its name in Prometheus.
type Metric struct {
	Name string
	Help string
	// Counter says that the figure only rises while the process runs. Its name ends with _total.
	Counter bool
	Value   func() float64
}

// Metrics are the figures of log, contents, snapshots, projects, feed and search.
func (e *Engine) Metrics() []Metric {
	all := append(e.logMetrics(), e.stateMetrics()...)
	all = append(all, e.spaceMetrics()...)
	return append(all, e.search.metrics()...)
}

func (e *Engine) logMetrics() []Metric {
	return []Metric{
		{Name: "pws_log_durable_position", Help: "Position of the newest durable log entry.",
			Value: func() float64 { return float64(e.journal.Durable()) }},
		{Name: "pws_log_bytes", Help: "Size of the log on disk.",
			Value: func() float64 { return float64(e.journal.Stats().Bytes) }},
		{Name: "pws_log_queue_bytes", Help: "Size of the log entries that are not durable yet.",
			Value: func() float64 { return float64(e.journal.Stats().QueueBytes) }},
		{Name: "pws_log_batches_total", Counter: true,
			Help:  "Batches of log entries made durable.",
			Value: func() float64 { return float64(e.journal.Stats().Batches) }},
		{Name: "pws_log_entries_total", Counter: true, Help: "Log entries made durable.",
			Value: func() float64 { return float64(e.journal.Stats().Entries) }},
		{Name: "pws_log_sync_seconds_total", Counter: true,
			Help:  "Time spent in fsync of the log.",
			Value: func() float64 { return e.journal.Stats().SyncTotal.Seconds() }},
	}
}

func (e *Engine) stateMetrics() []Metric {
	return []Metric{
		{Name: "pws_blob_recent_bytes", Help: "Size of file contents that are not in packs yet.",
			Value: func() float64 { return float64(e.blobs.RecentBytes()) }},
		{Name: "pws_snapshot_position", Help: "Position of the log that the snapshot covers.",
			Value: func() float64 { return float64(e.snapshot.Position()) }},
		{Name: "pws_resident_projects", Help: "Projects in memory.",
			Value: func() float64 { return float64(e.residents.count()) }},
		{Name: "pws_resident_bytes", Help: "Memory of the projects in memory, estimated.",
			Value: func() float64 { return float64(e.residents.shares.total()) }},
		{Name: "pws_spill_bytes",
			Help:  "Histories of projects in memory that are in a temporary file.",
			Value: func() float64 { return float64(e.spill.Stats().UsedBytes) }},
		{Name: "pws_evictions_total", Counter: true,
			Help:  "Projects that left memory to make room for others.",
			Value: func() float64 { return float64(e.residents.evicted.Load()) }},
		{Name: "pws_projects", Help: "Projects, including those not in memory.",
			Value: func() float64 { return float64(e.handles.Size()) }},
		{Name: "pws_damaged_projects",
			Help:  "Projects that were found damaged since the start, and cannot be read.",
			Value: func() float64 { return float64(e.damages.count()) }},
		{Name: "pws_damaged_contents",
			Help:  "Contents that were found damaged since the start, and cannot be read.",
			Value: func() float64 { return float64(e.corrupted.count()) }},
		{Name: "pws_tasks_unfinished", Help: "Unfinished tasks of all projects.",
			Value: func() float64 { return float64(e.Indexes(index.ForTasks).Tasks.Len()) }},
		{Name: "pws_feed_records", Help: "Events kept for clients that poll.",
			Value: func() float64 { return float64(e.feed.log.Stats().Records) }},
		{Name: "pws_feed_bytes", Help: "Size on disk of the events kept for clients that poll.",
			Value: func() float64 { return float64(e.feed.log.Stats().Bytes) }},
		{Name: "pws_feed_behind", Help: "Log entries that the event feed has not processed yet.",
			Value: func() float64 { return float64(e.feed.behind()) }},
	}
}
