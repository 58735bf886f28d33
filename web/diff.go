package web

import (
	"net/url"
	"strconv"
	"strings"

	"pws/api"
)

const (
	// diffFilesMax is the most files whose lines one page shows, diffRowsMax the most lines of all
	// of them. Each of the others is a link to a page of its own.
	diffFilesMax = 400
	diffRowsMax  = 1500
)

// diffParams are those of pages with a diff.
var diffParams = []api.Param{
	{Name: "view", Check: "enum=unified|split", Doc: "One column, or two."},
	{Name: "file", Check: "chars=0..512", Doc: "Only the file with this path."},
}

// diff is a unified diff as a page shows it.
type diff struct {
	Files     []fileDiff
	Truncated bool
	// Additions and Deletions count lines of all files.
	Additions, Deletions int
	// Split means two columns. Only is the path of the only file, empty for all.
	Split bool
	Only  string
	// query has the other parameters of the page.
	query url.Values
}

// fileDiff is what changed in one file.
type fileDiff struct {
	api.DiffFile
	// Number is the place of the file, from 1.
	Number int
	Rows   []row
	// Apart means that its lines are on a page of its own, Cut that only some are here.
	Apart, Cut bool
}

// row is a line of a diff: its kind is added, removed, same or gap, which is the head of a part.
type row struct {
	Kind     string
	Old, New int
	Text     string
	// Parts are the parts of a line that is much like another one.
	Parts []linePart
}

// newDiff reads the text that work/diff wrote. A file begins with a line "diff --git".
func newDiff(text string, files []api.DiffFile, truncated bool) diff {
	all := diff{Truncated: truncated}
	parts := strings.Split("\n"+text, "\ndiff --git ")[1:]
	words := wordDiffer{steps: wordStepsMax}
	rows := 0
	for at, file := range files {
		one := fileDiff{DiffFile: file, Number: at + 1}
		one.Apart = len(files) > diffFilesMax || rows > diffRowsMax || at >= len(parts) && truncated
		if at < len(parts) && !one.Apart {
			one.Rows = rowsOf(parts[at])
			one.Cut = truncated && at == len(parts)-1
			if most := diffRowsMax - rows; len(one.Rows) > most && len(files) > 1 {
				one.Rows, one.Cut = one.Rows[:most], true
			}
			rows += len(one.Rows) + 1
			words.mark(one.Rows)
		}
		all.Files = append(all.Files, one)
		all.Additions += file.Additions
		all.Deletions += file.Deletions
	}
	return all
}

// shownDiff is the diff that a page asks for.
func (v *visit) shownDiff(text string, files []api.DiffFile, truncated bool) diff {
	all := newDiff(text, files, truncated)
	all.Split, all.Only, all.query = v.Query["view"] == "split", v.Query["file"], url.Values{}
	for name, value := range v.Query {
		all.query.Set(name, value)
	}
	return all
}

// link is the query of the page with another value of a parameter.
func (d diff) link(name, value string) string {
	query := url.Values{}
	for known := range d.query {
		query.Set(known, d.query.Get(known))
	}
	query.Set(name, value)
	if value == "" {
		query.Del(name)
	}
	return "?" + query.Encode()
}

// ViewLink is the address of the page with one column or two.
func (d diff) ViewLink(view string) string { return d.link("view", view) }

// FileLink is the address of the page with one file only, or with all if the path is empty.
func (d diff) FileLink(path string) string { return d.link("file", path) }

// rowsOf reads the parts of a file's diff. Lines before the first one are about its names.
func rowsOf(text string) (rows []row) {
	inPart := false
	var old, now int
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "@@ ") {
			inPart = true
			old, now = partStart(line)
			rows = append(rows, row{Kind: "gap", Text: line})
			continue
		}
		if !inPart || line == "" {
			continue
		}
		one := row{Text: line[1:]}
		switch line[0] {
		case '+':
			one.Kind, one.New = "added", now
			now++
		case '-':
			one.Kind, one.Old = "removed", old
			old++
		case ' ':
			one.Kind, one.Old, one.New = "same", old, now
			old, now = old+1, now+1
		default:
			one = row{Kind: "gap", Text: line}
		}
		rows = append(rows, one)
	}
	return rows
}

// partStart reads the line numbers of "@@ -1,3 +1,4 @@".
func partStart(line string) (old, now int) {
	number := func(word string) int {
		first, _, _ := strings.Cut(word[1:], ",")
		value, _ := strconv.Atoi(first)
		return value
	}
	words := strings.Fields(line)
	if len(words) < 3 {
		return 0, 0
	}
	return number(words[1]), number(words[2])
}

// changes calls a function for each run of rows that are alike or belong together: removed lines
// with the added ones behind them, or one other row.
func changes(rows []row, each func(removed, added []row)) {
	for at := 0; at < len(rows); {
		from := at
		for at < len(rows) && rows[at].Kind == "removed" {
			at++
		}
		between := at
		for at < len(rows) && rows[at].Kind == "added" {
			at++
		}
		if at == from {
			at, between = at+1, at+1
		}
		each(rows[from:between], rows[between:at])
	}
}

// mark compares the words of each removed line with those of the added line that is in its place.
func (d *wordDiffer) mark(rows []row) {
	changes(rows, func(removed, added []row) {
		for at := range min(len(removed), len(added)) {
			if d.steps < 0 {
				return
			}
			removed[at].Parts, added[at].Parts = d.pair(removed[at].Text, added[at].Text)
		}
	})
}

// pairOfRows is a line of a diff in two columns. One side may be nil; a gap is on both.
type pairOfRows struct{ Old, New *row }

// Pairs are the rows in two columns.
func (f fileDiff) Pairs() (pairs []pairOfRows) {
	changes(f.Rows, func(removed, added []row) {
		if len(removed) == 1 && removed[0].Kind != "removed" {
			pairs = append(pairs, pairOfRows{&removed[0], &removed[0]})
			return
		}
		for at := range max(len(removed), len(added)) {
			var one pairOfRows
			if at < len(removed) {
				one.Old = &removed[at]
			}
			if at < len(added) {
				one.New = &added[at]
			}
			pairs = append(pairs, one)
		}
	})
	return pairs
}
