package api

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
	"pws/work/grep"
)

// GrepMatch is a line that matches.
type GrepMatch struct {
	// Path of the file.
	Path string `json:"path"`
	// Number of the line, starting at 1.
	Line int `json:"line"`
	// Where the first match begins in the line, in characters, starting at 1.
	Column int `json:"column"`
	// The line. Of a longer one 400 characters: its beginning, or the part around the match.
	Text string `json:"text"`
	// The lines before it.
	Before []string `json:"before"`
	// The lines after it.
	After []string `json:"after"`
}

// GrepData is a page of lines that match.
type GrepData struct {
	// One for each line, ordered by path and line.
	Matches []GrepMatch `json:"matches"`
	// Number of files whose search this page began.
	FilesSearched int `json:"files_searched"`
	// The changeset whose files are searched; the same on all pages.
	ChangesetID string `json:"changeset_id" check:"id=chg_"`
	// Cursor of the next page; null if all files were searched. A page may end early, even without
	// matches.
	NextCursor *string `json:"next_cursor"`
}

const (
	// grepPage and grepPageMax are the numbers of lines of a page.
	grepPage    = 50
	grepPageMax = 200
	// grepTextBytes is the size of the text of a page.
	grepTextBytes = 512 << 10
	// grepMemory is about what a page needs, in bytes: one content and the text.
	grepMemory = work.FileBytesMax + 2*grepTextBytes
	// grepProcessorTime is how long a page searches.
	grepProcessorTime = 300 * time.Millisecond
	// grepCheckBytes is how much is searched between two looks at the time. grepFileBytes is what a
	// file costs beside its size.
	grepCheckBytes = 256 << 10
	grepFileBytes  = 4 << 10
)

var grepOperations = []*Operation{
	withValidation(declare[None, GrepData](Operation{
		Name: "project.grep", Method: "GET", Path: "/api/v1/projects/{project}/grep",
		Tool: "project.grep", Core: true, ToolPage: grepPage,
		ToolDoc: "Find lines in a project's files by a word or a regular expression. A page may " +
			"end early; continue while there is a next_cursor.",
		Auth: Optional, Category: CategoryRead, Expensive: true, Statuses: []int{200},
		Params: projectParam,
		Query: append([]Param{
			{
				Name: "pattern", Check: fmt.Sprintf("required,chars=1..%d", grep.PatternCharsMax),
				Doc: "What to find within a line.",
			},
			{
				Name: "regex", Check: booleanCheck,
				Doc: "Whether the pattern is a regular expression of RE2. Of a line longer than " +
					"16 KiB only the beginning is matched.",
			},
			{Name: "ignore_case", Check: booleanCheck, Doc: "Whether case is ignored."},
			{
				Name: "context", Integer: true, Check: fmt.Sprintf("min=0,max=%d", grep.ContextMax),
				Doc: "Lines to show before and after each match, 0 if absent.",
			},
			{Name: "changeset", Doc: "Search the files after this changeset; the head if absent."},
			globParam, pageParams(grepPage)[0],
		}, limitParam("lines", grepPage, grepPageMax)),
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.ChangesetNotFound, fault.PaginationCursorInvalid,
			fault.PaginationLimitInvalid, fault.BlobCorrupt,
		},
		Tag: "files", Summary: "Search in files",
		Doc: "Finds the lines of a project's files that contain a word or match a regular " +
			"expression of RE2, ordered by path and line. A page ends after a limited processor " +
			"time, even without matches; continue while next_cursor is not null.",
	}, grepProject), func(_ *None, c *Call) []error {
		_, _, err := c.grepFilters()
		return []error{err}
	}),
}

// grepFilters compiles the pattern and the glob: VALIDATION_FAILED.
func (c *Call) grepFilters() (*grep.Pattern, *fileFilter, error) {
	filter, err := c.fileFilter()
	pattern, problem := grep.Compile(
		c.Query["pattern"], c.Query["regex"] == "true", c.Query["ignore_case"] == "true")
	if problem != "" {
		err = fault.Together(
			fault.Invalid(fault.Field{Field: "pattern", Problem: problem}), err)
	}
	return pattern, filter, err
}

// grepPosition is where a page begins: at a place in a file, of a changeset.
type grepPosition struct {
	sequence uint32
	place    grep.Place
	path     string
}

// grepPositionBytes is the size of a position before the path.
const grepPositionBytes = 12

// behindFile is the place behind any file.
const behindFile = math.MaxInt32

func (p *grepPosition) encode() []byte {
	text := binary.BigEndian.AppendUint32(nil, p.sequence)
	text = binary.BigEndian.AppendUint32(text, uint32(p.place.Offset))
	text = binary.BigEndian.AppendUint32(text, uint32(p.place.Lines))
	return append(text, p.path...)
}

// grepPosition reads the cursor: PAGINATION_CURSOR_INVALID.
func (c *Call) grepPosition() (position grepPosition, err error) {
	text, err := c.after()
	if err != nil || text == nil {
		return position, err
	}
	if len(text) < grepPositionBytes {
		return position, errCursorInvalid()
	}
	position.sequence = binary.BigEndian.Uint32(text)
	position.place.Offset = int(binary.BigEndian.Uint32(text[4:]))
	position.place.Lines = int(binary.BigEndian.Uint32(text[8:]))
	position.path = string(text[grepPositionBytes:])
	return position, nil
}

func grepProject(c *Call, _ *None) (Reply, error) {
	g := &grepping{call: c}
	var err error
	if g.limit, err = c.limitTo(grepPage, grepPageMax); err != nil {
		return Reply{}, err
	}
	if g.at, err = c.grepPosition(); err != nil {
		return Reply{}, err
	}
	if g.search.Pattern, g.filter, err = c.grepFilters(); err != nil {
		return Reply{}, err
	}
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	changeset, err := c.changesetWanted(view)
	if err != nil {
		return Reply{}, err
	}
	if c.Query[changesetQuery.Name] == "" && g.at.sequence > 0 {
		changeset = view.ChangesetNumber(min(g.at.sequence, changeset.Sequence))
	}
	if err := c.hold(grepMemory); err != nil {
		return Reply{}, err
	}
	g.at.sequence = changeset.Sequence
	g.data.Matches, g.data.ChangesetID = []GrepMatch{}, changeset.ID.Format(id.Changeset)
	g.search.Found, g.search.Stop = g.found, g.spent
	g.search.Context, _ = strconv.Atoi(c.Query["context"])
	return g.page(view, changeset)
}

// grepping makes one page.
type grepping struct {
	call   *Call
	filter *fileFilter
	search grep.Search
	limit  int
	data   GrepData
	err    error
	// at is where the search is, stopped that it ends there.
	at      grepPosition
	stopped bool
	// path is the file that is searched.
	path string
	// textBytes counts the text of the page, unchecked what was searched since the last look at the
	// time.
	textBytes, unchecked int
}

// page searches files until the page is full or the time is over.
func (g *grepping) page(view *work.Project, changeset *work.Changeset) (Reply, error) {
	from := max(g.at.path, g.filter.prefix)
	if changeset.Sequence == view.Head().Sequence {
		view.Files(from, g.file)
	} else {
		view.FilesAt(changeset, from, g.file)
	}
	if g.err != nil {
		return Reply{}, g.err
	}
	if g.stopped {
		g.data.NextCursor = g.call.next(g.at.encode())
	}
	return Reply{Data: &g.data}, nil
}

// file searches one file. It returns whether to continue.
func (g *grepping) file(info work.FileInfo) bool {
	if g.filter.ends(info.Path) {
		return false
	}
	if g.path = info.Path; g.at.path != g.path {
		g.at.path, g.at.place = g.path, grep.Place{}
	}
	if g.at.place.Offset > info.Size {
		return true
	}
	if g.unchecked += info.Size + grepFileBytes; g.unchecked > grepCheckBytes {
		if g.unchecked = 0; g.spent() && g.data.FilesSearched > 0 {
			g.stopped = true
			return false
		}
	}
	if !g.filter.takes(g.path) {
		g.at.place.Offset = behindFile
		g.stopped = g.filter.exhausted()
		return !g.stopped
	}
	content, err := g.call.Service.Engine.Blob(info.Blob)
	if isCode(err, fault.ContentRemoved) {
		return true
	}
	if g.err = err; err != nil {
		return false
	}
	if g.at.place.Offset == 0 {
		g.data.FilesSearched++
	}
	place, done := g.search.Text(content, g.at.place)
	g.at.place, g.stopped = place, !done
	return done
}

// found takes a line unless the page is full.
func (g *grepping) found(line grep.Line) bool {
	bytes := len(line.Text)
	for _, texts := range [][]string{line.Before, line.After} {
		for _, text := range texts {
			bytes += len(text)
		}
	}
	full := g.textBytes+bytes > grepTextBytes && len(g.data.Matches) > 0
	if full || len(g.data.Matches) == g.limit {
		return false
	}
	g.textBytes += bytes
	match := GrepMatch{
		Path: g.path, Line: line.Number, Column: line.Column, Text: line.Text,
		Before: line.Before, After: line.After,
	}
	g.data.Matches = append(g.data.Matches, match)
	return true
}

// spent reports whether the time of the page is over.
func (g *grepping) spent() bool {
	return g.call.Meter != nil && g.call.Meter.Spent() >= grepProcessorTime
}

// isCode reports whether an error has a code.
func isCode(err error, code fault.Code) bool {
	var refusal *fault.Error
	return errors.As(err, &refusal) && refusal.Code == code
}
