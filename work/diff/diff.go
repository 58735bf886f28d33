// Package diff compares texts line by line: the edit script between two contents, and the
// unified diff of a changeset in the extended format of git, which `git apply` accepts.
//
// The work is linear in the contents plus a bounded search, for any input. The search finds a
// shortest script for all but very different files, and always a valid one. The memory is linear
// in the contents.
package diff

import (
	"bytes"
	"unicode/utf8"
)

// Action is what a changeset does with a path.
type Action string

// The actions of a changeset.
const (
	Create Action = "CREATE"
	Modify Action = "MODIFY"
	Delete Action = "DELETE"
	Rename Action = "RENAME"
)

// File is the change of one path. Old is the content before the whole changeset: at PreviousPath
// for RENAME, at Path otherwise. The renames of a chain or a swap therefore each name the
// content that their source had before any of them. CREATE has no Old, DELETE no New.
type File struct {
	Path         string
	PreviousPath string
	Action       Action
	Old, New     []byte
	// Load, if set, loads Old and New when the file is processed, so that only one pair is in
	// memory at a time. If it returns false, the file is omitted from the text and the counts,
	// and the text is truncated there.
	Load func() (old, new []byte, ok bool)
}

// FileStat counts the lines of a change. They are the lines of its script, which is not the
// shortest for very different files.
type FileStat struct {
	Path         string
	PreviousPath string
	Action       Action
	Additions    int
	Deletions    int
}

// Result is a unified diff.
type Result struct {
	// Text is valid for `git apply` unless it was truncated. It is empty if no file changed.
	Text string
	// Truncated means that Text was cut, at the last line end that fits.
	Truncated bool
	// Files holds the statistics of all files in the given order, including the files after the
	// cut.
	Files []FileStat
}

// contextLines is the number of unchanged lines around a change.
const contextLines = 3

// Unified writes the diff of a changeset in at most charsMax characters (Unicode code points).
// Files keep the given order, except that deletions of a path that another file takes come
// first. It panics on an unknown action.
func Unified(files []File, charsMax int) Result {
	stats := make([]FileStat, len(files))
	out := printer{charsLeft: charsMax}
	steps := stepsMaxAll
	for _, i := range order(files) {
		file := files[i]
		if file.Action != Rename {
			file.PreviousPath = ""
		}
		stats[i] = FileStat{Path: file.Path, PreviousPath: file.PreviousPath, Action: file.Action}
		if file.Load != nil {
			var ok bool
			if file.Old, file.New, ok = file.Load(); !ok {
				out.cut = true
				continue
			}
		}
		stats[i].Additions, stats[i].Deletions = out.file(&file, &steps)
	}
	return Result{Text: string(out.text), Truncated: out.cut, Files: stats}
}

// order returns the indices of the files in the order of the text. `git apply` takes the source
// of a rename from the tree before the changeset. But a deletion after a rename to its path
// would delete the new content, and a modification after a rename of its path would not find the
// file.
func order(files []File) []int {
	taken := make(map[string]bool)
	left := make(map[string]bool)
	for i := range files {
		if files[i].Action != Delete {
			taken[files[i].Path] = true
		}
		if files[i].Action == Rename {
			left[files[i].PreviousPath] = true
		}
	}
	first := func(f *File) bool {
		return f.Action == Delete && taken[f.Path] || f.Action == Modify && left[f.Path]
	}
	indices := make([]int, 0, len(files))
	for i := range files {
		if first(&files[i]) {
			indices = append(indices, i)
		}
	}
	for i := range files {
		if !first(&files[i]) {
			indices = append(indices, i)
		}
	}
	return indices
}

// file prints the diff of one file and counts its lines.
func (p *printer) file(f *File, steps *int) (additions, deletions int) {
	switch f.Action {
	case Create:
		p.whole(f, "new file mode 100644\n", "", f.New)
		return countLines(f.New), 0
	case Delete:
		p.whole(f, "deleted file mode 100644\n", f.Path, f.Old)
		return 0, countLines(f.Old)
	case Modify, Rename:
	default:
		panic("diff: unknown action " + string(f.Action))
	}
	var edits []Edit
	var old, new text
	if !bytes.Equal(f.Old, f.New) {
		old, new = makeText(f.Old), makeText(f.New)
		edits = unplaced(old, new, steps)
		if !p.cut {
			edits = slide(old, new, edits)
		}
	}
	from := f.Path
	if f.Action == Rename {
		from = f.PreviousPath
	} else if len(edits) == 0 {
		return 0, 0
	}
	p.header(from, f.Path)
	if f.Action == Rename {
		p.string("similarity index ", percent(similarity(f, old, edits)), "\n")
		p.string("rename from ", quote("", from), "\n")
		p.string("rename to ", quote("", f.Path), "\n")
	}
	if len(edits) > 0 {
		p.names(quote("a/", from), quote("b/", f.Path))
		p.hunks(old, new, edits)
	}
	for _, edit := range edits {
		additions += edit.NewEnd - edit.NewStart
		deletions += edit.OldEnd - edit.OldStart
	}
	return additions, deletions
}

// whole prints the diff of a created or deleted file; oldPath is empty for a created one.
func (p *printer) whole(f *File, mode, oldPath string, content []byte) {
	p.header(f.Path, f.Path)
	p.string(mode)
	if len(content) == 0 || p.cut {
		return
	}
	if oldPath == "" {
		p.names("/dev/null", quote("b/", f.Path))
		p.hunkHeader(Edit{0, 0, 0, countLines(content)})
	} else {
		p.names(quote("a/", oldPath), "/dev/null")
		p.hunkHeader(Edit{0, countLines(content), 0, 0})
	}
	sign := byte('+')
	if oldPath != "" {
		sign = '-'
	}
	for len(content) > 0 && !p.cut {
		size := bytes.IndexByte(content, '\n') + 1
		if size == 0 {
			size = len(content)
		}
		p.line(sign, content[:size])
		content = content[size:]
	}
}

// similarity returns how much of a renamed file is unchanged, in percent of the larger side; 100
// means unchanged.
func similarity(f *File, old text, edits []Edit) int {
	if len(edits) == 0 {
		return 100
	}
	kept := len(f.Old)
	for _, edit := range edits {
		kept -= int(old.starts[edit.OldEnd] - old.starts[edit.OldStart])
	}
	return min(99, kept*100/max(len(f.Old), len(f.New)))
}

// hunks prints edits with the lines around them; edits whose context would meet share a hunk.
func (p *printer) hunks(old, new text, edits []Edit) {
	for len(edits) > 0 && !p.cut {
		last := 0
		for last+1 < len(edits) &&
			edits[last+1].OldStart-edits[last].OldEnd <= 2*contextLines {
			last++
		}
		lead := min(contextLines, edits[0].OldStart)
		trail := min(contextLines, old.lines()-edits[last].OldEnd)
		p.hunk(old, new, edits[:last+1], lead, trail)
		edits = edits[last+1:]
	}
}

func (p *printer) hunk(old, new text, edits []Edit, lead, trail int) {
	first, last := edits[0], edits[len(edits)-1]
	p.hunkHeader(Edit{first.OldStart - lead, last.OldEnd + trail,
		first.NewStart - lead, last.NewEnd + trail})
	at := first.OldStart - lead
	for _, edit := range edits {
		p.lines(' ', old, at, edit.OldStart)
		p.lines('-', old, edit.OldStart, edit.OldEnd)
		p.lines('+', new, edit.NewStart, edit.NewEnd)
		at = edit.OldEnd
	}
	p.lines(' ', old, at, at+trail)
}

// printer collects whole lines until one does not fit. It prints nothing after that.
type printer struct {
	text      []byte
	charsLeft int
	cut       bool
}

// fits subtracts the characters of a line from the remaining ones, or truncates the text.
func (p *printer) fits(chars int) bool {
	if p.cut || chars > p.charsLeft {
		p.cut = true
		return false
	}
	p.charsLeft -= chars
	return true
}

// string prints the pieces of one line.
func (p *printer) string(pieces ...string) {
	chars := 0
	for _, piece := range pieces {
		chars += utf8.RuneCountInString(piece)
	}
	if !p.fits(chars) {
		return
	}
	for _, piece := range pieces {
		p.text = append(p.text, piece...)
	}
}

func (p *printer) lines(sign byte, t text, from, to int) {
	for i := from; i < to && !p.cut; i++ {
		p.line(sign, t.line(i))
	}
}

const noNewline = "\n\\ No newline at end of file\n"

// line prints one line of a content after its sign.
func (p *printer) line(sign byte, line []byte) {
	end := ""
	if line[len(line)-1] != '\n' {
		end = noNewline
	}
	if !p.fits(1 + utf8.RuneCount(line) + len(end)) {
		return
	}
	p.text = append(p.text, sign)
	p.text = append(p.text, line...)
	p.text = append(p.text, end...)
}
