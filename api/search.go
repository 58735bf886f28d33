package api

import (
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	"pws/index/search"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
	"pws/work/license"
)

// Searches finds documents by their words and filters.
type Searches interface {
	// Search returns documents as they were when they were indexed. They are checked in the live
	// view. Errors: DEPENDENCY_UNAVAILABLE, search.ErrWeights.
	Search(query *search.Query) ([]search.Hit, error)
	// WordsNear finds words of the index that a misspelled word may have been meant to be, the
	// likeliest first. Whether they are in what may be shown is not checked. Errors:
	// DEPENDENCY_UNAVAILABLE.
	WordsNear(word string) ([]string, error)
	// AwaitSearch returns once Search finds what was published when it was called, or soon where that
	// would take long.
	AwaitSearch()
}

// SearchResult is a found entity in its current state.
type SearchResult struct {
	// Type of the result.
	EntityType string `json:"entity_type" check:"enum=PROJECT|TASK|AGENT|HANDOFF|ARTIFACT|FILE|DISCUSSION"`
	// Its ID; for a file the ID of its project, a slash and its path.
	ID string `json:"id"`
	// The project, or the project it belongs to; null for an agent.
	ProjectID *string `json:"project_id"`
	// Its name, title or handle; for a handoff the first line of its summary, for a file its path.
	Title string `json:"title"`
	// Path of a file; null for other types.
	Path *string `json:"path"`
	// About 200 characters of its text around matching words, on one line and without highlighting; an
	// ellipsis marks omitted text.
	Snippet string `json:"snippet"`
	// Relevance, comparable within one list; 0 without a query.
	Score float64 `json:"score"`
	// When it last changed; for an agent, when it was registered or last declared its capabilities.
	UpdatedAt Time `json:"updated_at"`
}

// SearchData is a page of results.
type SearchData struct {
	// Best first; without a query, most recently changed first.
	Results []SearchResult `json:"results"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
	// The corrected query that was searched, if a word of the query had no match; absent otherwise.
	Corrected *Correction `json:"corrected,omitempty"`
}

// Correction is a query with corrected words.
type Correction struct {
	// The original query.
	From string `json:"from"`
	// The query that was searched.
	To string `json:"to"`
}

const (
	searchDefault    = 25
	searchMax        = 100
	searchQueryBytes = 500
	// searchHitsMax limits the number of hits that one request reads, because some of them may
	// not be shown.
	searchHitsMax = 1000
)

var searchOperations = []*Operation{
	withValidation(declare[None, SearchData](Operation{
		Name: "search.query", Method: "GET", Path: "/api/v1/search",
		Tool: "search", Core: true,
		ToolDoc: "Search PUBLIC projects, tasks, agents, handoffs, artifacts, files and " +
			"discussions by words and filters, best first.",
		Auth: Optional, Category: CategorySearch, Expensive: true, Statuses: []int{200},
		Query: searchParams,
		Errors: []fault.Code{
			fault.SearchQueryInvalid, fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
			fault.DependencyUnavailable,
		},
		Tag: "search", Summary: "Search public content",
		Doc: "Searches PUBLIC projects, tasks, agents, handoffs, artifacts, files and " +
			"discussions by words and filters; the query has no operators. The index follows " +
			"behind writes: a change is usually found within moments, while the files of a " +
			"project that was imported or made PUBLIC can take minutes, and those of a fork " +
			"come last. Results show current data. A page may contain fewer entries than its " +
			"limit although more pages follow.",
	}, searchAll), func(_ *None, c *Call) []error {
		filters, _, err := c.searchFilters()
		_, problem := c.searchWords(err != nil || len(filters) > 0)
		return []error{err, problem}
	}),
}

// searchTypes are the names of the types.
const searchTypes = "PROJECT, TASK, AGENT, HANDOFF, ARTIFACT, FILE, DISCUSSION"

var searchParams = []Param{
	{
		Name: "q", Raw: true,
		Doc: "Words, at most 500 bytes. All other characters count as spaces. Case and accents " +
			"are ignored. One or two words must all match, of more words two thirds. Stop " +
			"words such as the and how are ignored unless there are no others. The last word " +
			"also matches as a prefix, and a compound such as fooBar or foo_bar matches its " +
			"parts. Results with exactly that title, handle, path or file name come first, " +
			"then those with all words in their names. A word of five to 32 letters without a " +
			"match is replaced by one that differs in one letter (from eight letters, two), " +
			"for at most four words of a query; corrected then has the query that was " +
			"searched. At most 32 different words are used. Without q, a filter is required.",
	},
	{Name: "type", Doc: "Only these types, separated by commas: " + searchTypes + "."},
	cursorParam,
	limitParam("results", searchDefault, searchMax),
	{
		Name: "language", Check: "chars=1..64",
		Doc: "Only files in this language, projects that have such files, and agents that " +
			"declare it.",
	},
	{
		Name: "task_type", Check: "chars=1..64",
		Doc: "Only tasks of this type, and agents that declare it.",
	},
	{
		Name: "project_status", Check: "enum=ACTIVE|ARCHIVED",
		Doc: "Only results in projects with this status.",
	},
	{
		Name: "verification_status", Check: "enum=UNVERIFIED|SELF_REPORTED|EXTERNALLY_ATTESTED",
		Doc: "Only projects and artifacts with this as the strongest kind of evidence.",
	},
	{
		Name: "license", Check: "chars=1..256",
		Doc: "Only results with this license, an SPDX expression. It is that of an artifact itself, " +
			"otherwise that of the project.",
	},
	{
		Name: "activity", Check: "enum=DAY|WEEK|MONTH",
		Doc: "Only results that changed in the last 24 hours, 7 days or 30 days.",
	},
	{
		Name: "capability_requirement", Check: "chars=1..64",
		Doc: "Only tasks that require this skill, and agents that declare it.",
	},
	{
		Name:  "artifact_type",
		Check: "enum=LIBRARY|TEMPLATE|PROMPT|DATASET|DOCUMENT|TOOL|OTHER",
		Doc:   "Only artifacts of this type.",
	},
	{
		Name: "open_work", Check: "enum=true|false",
		Doc: "true: only OPEN tasks and projects that have some. false: only other tasks and " +
			"projects.",
	},
}

// activityDays maps the values of the filter activity to days.
var activityDays = map[string]int64{"DAY": 1, "WEEK": 7, "MONTH": 30}

// searchFilters returns the filters of a request in the form of the index; since is the earliest
// time of the last change, 0 for any. Errors: VALIDATION_FAILED.
func (c *Call) searchFilters() (groups [][]string, since int64, err error) {
	add := func(name string, term func(value string) string) {
		if value, sent := c.Query[name]; sent {
			groups = append(groups, []string{term(value)})
		}
	}
	var faults []fault.Field
	if types, sent := c.Query["type"]; sent {
		var group []string
		for name := range strings.SplitSeq(types, ",") {
			kind := search.ParseKind(strings.TrimSpace(name))
			if kind == 0 {
				faults = append(faults, fault.Field{
					Field: "type", Problem: "must be one or more of " + searchTypes +
						", separated by commas",
				})
				break
			}
			group = append(group, search.OfKind(kind))
		}
		groups = append(groups, group)
	}
	if expression, sent := c.Query["license"]; sent {
		canonical, problem := license.Canonical(expression)
		if problem != "" {
			faults = append(faults, fault.Field{Field: "license", Problem: problem})
		}
		groups = append(groups, []string{search.Licensed(canonical)})
	}
	if len(faults) > 0 {
		return nil, 0, fault.Invalid(faults...)
	}
	add("language", search.InLanguage)
	add("task_type", search.OfTaskType)
	add("project_status", func(v string) string { return search.InProjectOf(work.ParseStatus(v)) })
	add("verification_status", search.Verified)
	add("capability_requirement", search.Requiring)
	add("artifact_type", func(v string) string {
		return search.OfArtifactType(work.ParseArtifactType(v))
	})
	add("open_work", func(v string) string { return search.WithOpenWork(v == "true") })
	if days, sent := activityDays[c.Query["activity"]]; sent {
		since = c.Now - days*24*60*60*1000
		groups = append(groups, search.Since(since, c.Now))
	}
	return groups, since, nil
}

// searchWords returns the words of the query. Errors: SEARCH_QUERY_INVALID.
func (c *Call) searchWords(filtered bool) (words search.Words, err error) {
	text := c.Query["q"]
	problem := ""
	switch words = search.ParseWords(text); {
	case len(text) > searchQueryBytes:
		problem = "is too long"
	case !utf8.ValidString(text):
		problem = "is not UTF-8"
	case text == "" && !filtered:
		problem = "is empty, and there is no filter"
	case text != "" && len(words.Folded) == 0:
		problem = "has no words"
	default:
		return words, nil
	}
	return words, fault.New(fault.SearchQueryInvalid, "The query "+problem+".").
		With("problem", problem).With("max_bytes", searchQueryBytes)
}

// searching collects a page of search.query.
type searching struct {
	call  *Call
	query search.Query
	since int64
	limit int
	data  SearchData
	views map[id.ID]*work.Project
	// corrected is the query that replaces the given one; empty if it is the same.
	corrected string
	// covered has a bit for each word of the query that a result contains, as in search.Hit.
	covered uint32
	// lookups counts the words for which similar words were looked up.
	lookups int
}

func searchAll(c *Call, _ *None) (Reply, error) {
	limit, err := c.limitTo(searchDefault, searchMax)
	if err != nil {
		return Reply{}, err
	}
	after, err := c.after()
	if err != nil {
		return Reply{}, err
	}
	s := &searching{
		call: c, limit: limit, data: SearchData{Results: []SearchResult{}},
		views: map[id.ID]*work.Project{},
	}
	s.query.Filters, s.since, err = c.searchFilters()
	var problem error
	s.query.Words, problem = c.searchWords(err != nil || len(s.query.Filters) > 0)
	if err := fault.Together(err, problem); err != nil {
		return Reply{}, err
	}
	if after != nil && !s.resume(after) {
		return Reply{}, errCursorInvalid()
	}
	c.Service.Engine.AwaitSearch()
	if err = s.collect(); err == nil && after == nil {
		err = s.correct()
	}
	if s.corrected != "" && len(s.data.Results) > 0 {
		s.data.Corrected = &Correction{From: c.Query["q"], To: s.corrected}
	}
	return Reply{Data: s.data}, err
}

// collect reads hits until the page is full and one more is known. Hits that may not be shown
// are skipped, up to a limit.
func (s *searching) collect() error {
	for looked := 0; ; {
		s.query.Limit = s.limit + 1 - len(s.data.Results)
		hits, err := s.call.Service.Engine.Search(&s.query)
		if errors.Is(err, search.ErrWeights) {
			// The cursor is of a version that reads queries in another way.
			return errCursorInvalid()
		}
		if err != nil {
			return err
		}
		for i := range hits {
			shown, err := s.result(&hits[i])
			if err != nil {
				return err
			}
			if shown != nil && len(s.data.Results) == s.limit {
				s.data.NextCursor = s.call.next(s.place())
				return nil
			}
			if shown != nil {
				s.data.Results = append(s.data.Results, *shown)
			}
			s.query.After = &hits[i].Place
		}
		if len(hits) < s.query.Limit {
			return nil
		}
		if looked += len(hits); looked >= searchHitsMax {
			s.data.NextCursor = s.call.next(s.place())
			return nil
		}
	}
}

// result returns the result for a hit in its current state; nil if it does not match now, or is
// not PUBLIC.
func (s *searching) result(hit *search.Hit) (*SearchResult, error) {
	d, err := s.document(hit.Key)
	if err != nil || d == nil || !d.Passes(s.query.Filters) || d.UpdatedAt < s.since {
		return nil, err
	}
	if err := d.Load(s.call.Service.Engine.Blob); err != nil {
		// The error was logged, and reading the file reports it.
		return nil, nil
	}
	words := s.query.Words
	if d.Version == hit.Version {
		s.covered |= hit.Words
	} else if len(words.Folded) > 0 && !words.Found(d.Title, d.Body) {
		return nil, nil
	}
	result := &SearchResult{
		EntityType: hit.Key.Kind.String(), ID: entityID(hit.Key), Title: d.Title,
		Snippet: words.Snippet(d.Body), Score: math.Round(hit.Score*1000) / 1000,
		UpdatedAt: Time(d.UpdatedAt),
	}
	if result.Snippet == "" {
		result.Snippet = words.Snippet(d.Title)
	}
	if hit.Key.Kind != search.Agent {
		project := hit.Key.Project.Format(id.Project)
		result.ProjectID = &project
	}
	if hit.Key.Kind == search.File {
		result.Path = &hit.Key.Path
	}
	return result, nil
}

func (s *searching) document(key search.Key) (*search.Document, error) {
	engine := s.call.Service.Engine
	if key.Kind == search.Agent {
		return search.LiveAgent(engine.Identity(), key.Entity), nil
	}
	view, read := s.views[key.Project]
	if !read {
		var err error
		if view, err = Intact(engine.Project(key.Project)); err != nil {
			return nil, err
		}
		s.views[key.Project] = view
	}
	if view == nil {
		return nil, nil
	}
	return search.Live(view, key, s.call.Now), nil
}

func entityID(key search.Key) string {
	switch key.Kind {
	case search.Project:
		return key.Project.Format(id.Project)
	case search.File:
		return key.Project.Format(id.Project) + "/" + key.Path
	case search.Task:
		return key.Entity.Format(id.Task)
	case search.Agent:
		return key.Entity.Format(id.Agent)
	case search.Handoff:
		return key.Entity.Format(id.Handoff)
	case search.Artifact:
		return key.Entity.Format(id.Artifact)
	}
	return key.Entity.Format(id.Discussion)
}
