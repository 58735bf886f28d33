package web

import (
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pws/api"
	"pws/internal/fault"
)

const (
	// diffRoomMin is what a diff may take of a page, in bytes, however long the rest of it is.
	diffRoomMin = 16 << 10
	// filesListed and listRoom are the most files of one page, and the bytes of links to them.
	filesListed, listRoom = 100, 14 << 10
	// rowBytesMax is where a line goes on in the next row.
	rowBytesMax = 1000
)

// diffParams are those of pages with a diff.
var diffParams = []api.Param{
	{Name: "view", Check: "enum=unified|split", Doc: "One column, or two."},
	{Name: "file", Check: "chars=0..512", Doc: "Only the file with this path."},
	{Name: "from", Integer: true, Check: "min=1", Default: 1, Doc: "Its first row."},
	{Name: "line", Integer: true, Check: "min=1", Doc: "Its rows from those around this line on."},
	{Name: "files", Integer: true, Check: "min=1", Default: 1, Doc: "The first file of a list."},
}

// diff is a unified diff as a page shows it: the files from one on whose links have room, and of
// each the lines if they have room too. A page of one file has its lines from a row on.
type diff struct {
	Files []fileDiff
	// All counts all files, Additions and Deletions their lines.
	All, Additions, Deletions int
	// Split means two columns. Only is the path of the only file, empty for all.
	Split bool
	Only  string
	// Before and After are the paths of the files beside the only one, empty if there are none.
	Before, After string
	// query has the other parameters of the page.
	query url.Values
	// files is where the files are whole as the diff leaves them, at is the changeset; empty if
	// that is nowhere.
	files, at string
	// fitted says that Fit has chosen the rows.
	fitted bool
}

// fileDiff is what changed in one file.
type fileDiff struct {
	api.DiffFile
	// Number is the place of the file, from 1.
	Number int
	// Table is the body of the table of its lines, empty if it is Apart or has none.
	Table template.HTML
	// Apart means that its lines are on a page of its own.
	Apart bool
	// Removed means that an operator has removed a content of it.
	Removed bool
	// More is the row that its own page begins with for what is not here, 0 for none. Earlier is
	// the same for what is before.
	More, Earlier int
	// Cut means that the interface has no more of it.
	Cut bool

	// part is the text of the file, cut that it is not all of it.
	part string
	cut  bool
	rows []row
	// from and next are the rows that are shown.
	from, next int
}

// row is a line of a diff: its kind is added, removed, same or gap, which is the head of a part.
// What goes on in the next row has no number there.
type row struct {
	Kind     string
	Old, New int
	Text     string
	// Parts are the parts of a line that is much like another one.
	Parts []linePart
}

// newDiff reads the text that work/diff wrote. A file begins with a line "diff --git". Its order
// is not that of the files, and a file with other marks only has no text.
func newDiff(text string, files []api.DiffFile, truncated bool) diff {
	all := diff{All: len(files), query: url.Values{}}
	parts := strings.Split("\n"+text, "\ndiff --git ")[1:]
	type side struct {
		path    string
		deleted bool
	}
	place := map[side]int{}
	for i, part := range parts {
		path, deleted := partPath(part)
		place[side{path, deleted}] = i
	}
	for i, file := range files {
		one := fileDiff{DiffFile: file, Number: i + 1}
		found, has := place[side{file.Path, file.Action == "DELETE"}]
		if has {
			one.part, one.cut = parts[found], truncated && found == len(parts)-1
		} else {
			one.cut = truncated
		}
		all.Files = append(all.Files, one)
		all.Additions += file.Additions
		all.Deletions += file.Deletions
	}
	return all
}

// partPath is the path of the file whose text begins with the names of both its sides, and whether
// it was deleted.
func partPath(part string) (path string, deleted bool) {
	names, rest, _ := strings.Cut(part, "\n")
	for line := range strings.SplitSeq(rest, "\n") {
		if to, renamed := strings.CutPrefix(line, "rename to "); renamed {
			return unquoted(to), false
		}
		if strings.HasPrefix(line, "deleted file mode ") {
			deleted = true
		}
		if strings.HasPrefix(line, "@@ ") {
			break
		}
	}
	// Both names are the same but for their first letter.
	return strings.TrimPrefix(unquoted(names[(len(names)+1)/2:]), "b/"), deleted
}

// unquoted is a name of a file as git writes it.
func unquoted(name string) string {
	if plain, err := strconv.Unquote(name); err == nil && strings.HasPrefix(name, `"`) {
		return plain
	}
	return name
}

// readDiff reads the diff of a path, or of all files if it is empty. It may be cut before the end.
type readDiff func(path string) (text string, files []api.DiffFile, truncated bool, err error)

// apartMax is the maximum number of files whose diffs are read one by one.
const apartMax = 50

// apart is the diff of files that are read one by one, because a content of one was removed. Files
// that are too many for that are cut.
func (read readDiff) apart(operations []api.OperationRecord) (all diff, err error) {
	all = diff{All: len(operations), query: url.Values{}}
	for i, op := range operations {
		one := fileDiff{Number: i + 1, cut: true, DiffFile: api.DiffFile{
			Path: op.Path, PreviousPath: op.PreviousPath, Action: op.Action,
		}}
		if i < apartMax {
			text, files, truncated, err := read(op.Path)
			switch {
			case fault.CodeOf(err) == fault.ContentRemoved:
				one.Removed, one.cut = true, false
			case err != nil:
				return all, err
			default:
				if own := newDiff(text, files, truncated); len(own.Files) > 0 {
					one = own.Files[0]
					one.Number = i + 1
				}
			}
		}
		all.Files = append(all.Files, one)
		all.Additions += one.Additions
		all.Deletions += one.Deletions
	}
	return all, nil
}

// shownDiff is the diff that a page asks for, of operations.
func (v *visit) shownDiff(operations []api.OperationRecord, read readDiff) (*diff, error) {
	var all diff
	text, files, truncated, err := read("")
	if fault.CodeOf(err) == fault.ContentRemoved {
		all, err = read.apart(operations)
	} else {
		all = newDiff(text, files, truncated)
	}
	if err != nil {
		return nil, err
	}
	all.Split, all.Only = v.Query["view"] == "split", v.Query["file"]
	for name, value := range v.Query {
		all.query.Set(name, value)
	}
	if all.Only == "" {
		all.listFrom(v.number("files"))
		return &all, nil
	}
	here := func(f fileDiff) bool { return f.Path == all.Only }
	at := slices.IndexFunc(all.Files, here)
	if at < 0 {
		all.Only = movedTo(operations, all.Only)
		at = slices.IndexFunc(all.Files, here)
	}
	if at < 0 {
		all.Files = nil
		return &all, nil
	}
	one := all.Files[at]
	if at > 0 {
		all.Before = all.Files[at-1].Path
	}
	if at+1 < len(all.Files) {
		all.After = all.Files[at+1].Path
	}
	if one.cut {
		text, files, truncated, err := read(all.Only)
		if err != nil {
			return nil, err
		}
		if own := newDiff(text, files, truncated); len(own.Files) > 0 {
			one.DiffFile, one.part, one.cut = own.Files[0].DiffFile, own.Files[0].part, own.Files[0].cut
		}
	}
	one.from = v.number("from")
	one.read()
	if line := v.number("line"); v.Query["line"] != "" {
		at := slices.IndexFunc(one.rows, func(r row) bool { return r.New == line })
		one.from = max(1, at+1-linesBefore)
	}
	all.Files = []fileDiff{one}
	return &all, nil
}

// movedTo is the path that operations leave a file at.
func movedTo(operations []api.OperationRecord, path string) string {
	for _, one := range operations {
		if deref(one.PreviousPath) == path {
			path = one.Path
		}
	}
	return path
}

// linesBefore is how many rows are shown before a line that is looked for.
const linesBefore = 10

// number is a parameter of the page that is a number from 1 on, and 1 if it is absent.
func (v *visit) number(name string) int {
	number, err := strconv.Atoi(v.Query[name])
	if err != nil {
		return 1
	}
	return max(1, number)
}

// listFrom keeps the files from one on whose links have room.
func (d *diff) listFrom(first int) {
	d.Files = d.Files[min(first-1, len(d.Files)):]
	room := listRoom
	for i := range d.Files {
		if room -= d.Files[i].linkBytes(); i == filesListed || i > 0 && room < 0 {
			d.Files = d.Files[:i]
			return
		}
	}
}

// link is the query of the page with another value of a parameter. Where in the diff the page is
// does not go along.
func (d *diff) link(pairs ...string) string {
	query := url.Values{}
	for known := range d.query {
		query.Set(known, d.query.Get(known))
	}
	for _, place := range []string{"from", "line", "files", "part"} {
		query.Del(place)
	}
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			query.Del(pairs[i])
		}
	}
	return "?" + query.Encode()
}

// ViewLink is the address of the page with one column or two.
func (d *diff) ViewLink(view string) string {
	if from := d.query.Get("from"); from != "" {
		return d.link("view", view, "from", from)
	}
	return d.link("view", view)
}

// FileLink is the address of the page with one file only, or with all if the path is empty.
func (d *diff) FileLink(path string) string { return d.link("file", path) }

// RowLink is the address of the page with one file only, from a row on.
func (d *diff) RowLink(path string, from int) string {
	return d.link("file", path, "from", strconv.Itoa(from))
}

// WholeLink is the address of a file as the diff leaves it, empty if there is none.
func (d *diff) WholeLink(file fileDiff) string {
	if d.at == "" || file.Action == "DELETE" {
		return ""
	}
	return at("p", d.files, "file", file.Path) + "?at=" + url.QueryEscape(d.at)
}

// First and Last are the numbers of the files of a list.
func (d *diff) First() int {
	if len(d.Files) == 0 {
		return 0
	}
	return d.Files[0].Number
}

// Last is the number of the last file of a list.
func (d *diff) Last() int {
	if len(d.Files) == 0 {
		return d.All
	}
	return d.Files[len(d.Files)-1].Number
}

// NextFiles is the address of the files behind those of the list, empty if there are none.
func (d *diff) NextFiles() string {
	if d.Only != "" || d.Last() >= d.All {
		return ""
	}
	return d.link("files", strconv.Itoa(d.Last()+1))
}

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
		rows = append(rows, one.folded()...)
	}
	return rows
}

// folded is a line in as many rows as it needs.
func (r row) folded() (rows []row) {
	for len(r.Text) > rowBytesMax {
		at := rowBytesMax
		for at > rowBytesMax-utf8.UTFMax && !utf8.RuneStart(r.Text[at]) {
			at--
		}
		rest := r.Text[at:]
		r.Text = r.Text[:at]
		rows = append(rows, r)
		r = row{Kind: r.Kind, Text: rest}
	}
	return append(rows, r)
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
	for i := 0; i < len(rows); {
		from := i
		for i < len(rows) && rows[i].Kind == "removed" {
			i++
		}
		between := i
		for i < len(rows) && rows[i].Kind == "added" {
			i++
		}
		if i == from {
			i, between = i+1, i+1
		}
		each(rows[from:between], rows[between:i])
	}
}

// mark compares the words of each removed line with those of the added line that is in its place.
func (d *wordDiffer) mark(rows []row) {
	changes(rows, func(removed, added []row) {
		for i := range min(len(removed), len(added)) {
			if d.steps < 0 {
				return
			}
			removed[i].Parts, added[i].Parts = d.pair(removed[i].Text, added[i].Text)
		}
	})
}

// pairOfRows is a line of a diff in two columns. One side may be nil; a gap is on both.
type pairOfRows struct{ Old, New *row }

// pairsOf are rows in two columns.
func pairsOf(rows []row) (pairs []pairOfRows) {
	changes(rows, func(removed, added []row) {
		if len(removed) == 1 && removed[0].Kind != "removed" {
			pairs = append(pairs, pairOfRows{&removed[0], &removed[0]})
			return
		}
		for i := range max(len(removed), len(added)) {
			var one pairOfRows
			if i < len(removed) {
				one.Old = &removed[i]
			}
			if i < len(added) {
				one.New = &added[i]
			}
			pairs = append(pairs, one)
		}
	})
	return pairs
}
