package actors

// Gauge is a figure of the engine that operators watch.
type Gauge struct {
	Name  string
	Help  string
	Value func() float64
}

// Metrics are the figures of log, contents, snapshots, projects, feed and search.
func (e *Engine) Metrics() []Gauge {
	return append([]Gauge{
		{"pws_log_durable_position", "Position of the newest durable entry.",
			func() float64 { return float64(e.wal.Durable()) }},
		{"pws_log_bytes", "Bytes of log on disk.",
			func() float64 { return float64(e.wal.Stats().Bytes) }},
		{"pws_log_queue_bytes", "Bytes that wait to become durable.",
			func() float64 { return float64(e.wal.Stats().QueueBytes) }},
		{"pws_log_batches", "Batches made durable since the start.",
			func() float64 { return float64(e.wal.Stats().Batches) }},
		{"pws_log_sync_seconds", "Time spent in fsync since the start.",
			func() float64 { return e.wal.Stats().SyncTotal.Seconds() }},
		{"pws_blob_recent_bytes", "Bytes of contents outside of packs.",
			func() float64 { return float64(e.blobs.RecentBytes()) }},
		{"pws_snapshot_position", "Position that the snapshot covers.",
			func() float64 { return float64(e.snapshot.Position()) }},
		{"pws_projects", "Projects, passive ones included.",
			func() float64 { return float64(e.handles.Size()) }},
		{"pws_tasks_unfinished", "Unfinished tasks of all projects.",
			func() float64 { return float64(e.tasks.Len()) }},
		{"pws_feed_records", "Events that are kept for those who poll.",
			func() float64 { return float64(e.feed.log.Stats().Records) }},
		{"pws_feed_bytes", "Bytes of these on disk.",
			func() float64 { return float64(e.feed.log.Stats().Bytes) }},
		{"pws_feed_behind", "Entries of the log that the feed has not taken in yet.",
			func() float64 { return float64(e.feed.behind()) }},
	}, e.search.gauges()...)
}
