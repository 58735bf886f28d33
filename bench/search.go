package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// SearchResult is what search costs besides time.
type SearchResult struct {
	Documents int `json:"documents"`
	// IndexSeconds is the time from the last write of a document until all are indexed.
	IndexSeconds float64 `json:"index_seconds"`
	// MemoryBytes is the memory of the server with the documents, AFTER a restart and some queries.
	// MemoryOffBytes is the memory of a server without search.
	MemoryBytes    int64 `json:"memory_bytes"`
	MemoryOffBytes int64 `json:"memory_off_bytes"`
}

const (
	// searchTargetMicros is the target for the 95th percentile of queries on one connection.
	searchTargetMicros = 2000
	// searchPutsTarget is the part of the rate of PUTs that should remain with search on, once what
	// indexing puts off is done.
	searchPutsTarget = 0.85
	// searchConnections is the number of connections of the concurrent runs.
	searchConnections = 8
	// searchDocumentsMin is the least number of documents in which the queries whose results are
	// checked find something: the first document with all of three words is the 93rd.
	searchDocumentsMin = 100
	// searchPatience bounds the time until all documents are indexed.
	searchPatience = 5 * time.Minute
)

// runSearch measures queries of every kind, and the cost of search for writes and memory.
func runSearch(ctx context.Context, srv *server, report *Report) error {
	config := srv.config
	result := &SearchResult{}
	config.say("search: filling with %d documents", config.SearchDocuments)
	var err error
	if result.Documents, err = srv.fillDocuments(ctx, config.SearchDocuments); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	begun := time.Now()
	if err := srv.awaitIndexed(ctx); err != nil {
		return err
	}
	result.IndexSeconds = time.Since(begun).Seconds()
	if err := srv.driveQueries(ctx, report, result.Documents); err != nil {
		return err
	}
	if config.Server != "" {
		report.Absent = append(report.Absent, RunSearch+" off, which needs a server of its own")
		return nil
	}
	if result.MemoryBytes, err = srv.searchMemory(ctx, result.Documents); err != nil {
		return err
	}
	srv.env = append(srv.env, "PWS_SEARCH=off")
	if result.MemoryOffBytes, err = srv.searchMemory(ctx, 0); err != nil {
		return err
	}
	report.Search = result
	return compareSearchWrites(ctx, config, report)
}

// awaitIndexed returns when no document waits to be indexed.
func (s *server) awaitIndexed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, searchPatience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		var health struct {
			Waiting int `json:"search_waiting"`
		}
		if err := s.api.Get("/api/v1/health", &health); err != nil || health.Waiting == 0 {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return errors.New("the documents were not indexed in time")
		}
	}
}

// queryKind is one kind of query.
type queryKind struct {
	name, what string
	// query returns the query string, a different one for each number.
	query func(documents, number int) string
}

// queryKinds are all kinds of queries.
var queryKinds = []queryKind{
	{"rare", "a word of about five documents", func(documents, number int) string {
		return "q=" + rareWord(number*7919%max(documents, 1))
	}},
	{"word", "an ordinary word", func(_, number int) string {
		return "q=" + word(ordinary(number))
	}},
	{"two", "two ordinary words", func(_, number int) string {
		return "q=" + word(ordinary(number)) + "+" + word(ordinary(number+17))
	}},
	{"three", "three ordinary words", func(_, number int) string {
		return "q=" + word(ordinary(number)) + "+" + word(ordinary(number+17)) + "+" +
			word(ordinary(number+31))
	}},
	{"beginning", "the beginning of words", func(_, number int) string {
		return "q=" + word(ordinary(number))[:3]
	}},
	{"every", "a word that every document has", func(_, number int) string {
		return "q=" + everyWord
	}},
	{"filter", "filters alone", func(_, number int) string {
		return []string{
			"type=TASK", "language=markdown", "open_work=true", "type=FILE&project_status=ACTIVE",
		}[number%4]
	}},
}

// queriesOfKind is the number of different queries of each kind.
const queriesOfKind = 96

// paths returns the requests of a kind.
func (k queryKind) paths(documents int) []string {
	paths := make([]string, queriesOfKind)
	for i := range paths {
		paths[i] = "/api/v1/search?limit=25&" + k.query(documents, i)
	}
	return paths
}

// driveQueries drives each kind of query, and a mix of all kinds, by several connections and by
// one.
func (s *server) driveQueries(ctx context.Context, report *Report, documents int) error {
	var subjects []*subject
	pair := func(name, what string, paths []string) {
		for _, one := range []struct {
			suffix, what string
			connections  int
		}{{"", what, searchConnections}, {"-alone", "the same by one connection", 1}} {
			subjects = append(subjects, &subject{
				name: name + one.suffix, what: one.what, cpu: s.cpu,
				connect: readers(s.host, s.api.Credential, one.connections, paths),
			})
		}
	}
	var mix []string
	for _, kind := range queryKinds {
		paths := kind.paths(documents)
		// Queries without results would be no measurement.
		for _, path := range paths[:4] {
			if err := s.finds(path); err != nil {
				return err
			}
		}
		mix = append(mix, paths...)
		pair(RunSearch+"-"+kind.name,
			fmt.Sprintf("%s, by %d connections", kind.what, searchConnections), paths)
	}
	// The step is coprime to the number of queries, so that it visits all of them.
	turned := make([]string, len(mix))
	for i := range mix {
		turned[i] = mix[i*101%len(mix)]
	}
	pair(RunSearch, "all of these in turn", turned)
	if err := report.drive(ctx, s.config, subjects...); err != nil {
		return err
	}
	for i := 1; i < len(subjects); i += 2 {
		report.compareWith(subjects[i], 95, "2 ms", searchTargetMicros, 1)
	}
	return nil
}

// finds returns an error if a query has no results.
func (s *server) finds(path string) error {
	var page struct {
		Results []struct{} `json:"results"`
	}
	if err := s.api.Get(path, &page); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	if len(page.Results) == 0 {
		return fmt.Errorf("GET %s finds nothing", path)
	}
	return nil
}

// searchMemory returns the memory of a server AFTER a restart, with little garbage. If it has
// documents, queries of each kind are sent first.
func (s *server) searchMemory(ctx context.Context, documents int) (int64, error) {
	s.env = append(s.env, memoryEnv...)
	if err := s.restartInOrder(ctx); err != nil {
		return 0, err
	}
	if documents > 0 {
		for _, kind := range queryKinds {
			for _, path := range kind.paths(documents)[:8] {
				if err := s.api.Get(path, nil); err != nil {
					return 0, err
				}
			}
		}
	}
	return s.settledMemory(ctx)
}

// compareSearchWrites writes to PUBLIC projects of a server with search and of one without.
// Indexing is put off while a server is busy, so what is compared is the processor time until it
// is idle, and the rates during the writes have no target.
func compareSearchWrites(ctx context.Context, config *Config, report *Report) error {
	var subjects []*subject
	var servers []*server
	// What one server has put off must be done BEFORE the next one is measured.
	idle := func(ctx context.Context) error {
		if err := servers[0].awaitIndexed(ctx); err != nil {
			return err
		}
		return awaitIdle(ctx, servers)
	}
	for _, how := range []string{"on", "off"} {
		srv, err := startServer(ctx, config, "PWS_SEARCH="+how)
		if err != nil {
			return err
		}
		defer srv.close()
		servers = append(servers, srv)
		projects, err := srv.createPublicProjects(ctx, config.Projects)
		if err != nil {
			return err
		}
		one := srv.puts("puts-search-"+how, fmt.Sprintf("durable PUT of %d B, %d PUBLIC projects, "+
			"--search %s", contentBytes, config.Projects, how), projects)
		one.prepare, one.settle = idle, idle
		subjects = append(subjects, one)
	}
	if err := report.drive(ctx, config, subjects...); err != nil {
		return err
	}
	report.compareSettled(subjects[0], subjects[1], searchPutsTarget)
	report.compareRates(subjects[0], subjects[1], 0)
	return nil
}
