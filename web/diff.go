package web

import (
	"strconv"
	"strings"

	"pws/api"
)

// diff is a unified diff as a page shows it.
type diff struct {
	Files     []fileDiff
	Truncated bool
	// Additions and Deletions count lines of all files.
	Additions, Deletions int
}

// fileDiff is what changed in one file.
type fileDiff struct {
	api.DiffFile
	Rows []row
}

// row is a line of a diff: its kind is added, removed, same or gap, which is the head of a part.
type row struct {
	Kind     string
	Old, New int
	Text     string
}

// newDiff reads the text that work/diff wrote. A file begins with a line "diff --git".
func newDiff(text string, files []api.DiffFile, truncated bool) diff {
	all := diff{Truncated: truncated}
	parts := strings.Split("\n"+text, "\ndiff --git ")[1:]
	for at, file := range files {
		one := fileDiff{DiffFile: file}
		if at < len(parts) {
			one.Rows = rowsOf(parts[at])
		}
		all.Files = append(all.Files, one)
		all.Additions += file.Additions
		all.Deletions += file.Deletions
	}
	return all
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
