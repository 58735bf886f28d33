package checkout

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"pws/work/glob"
)

// ignoreFile is a file .gitignore.
type ignoreFile struct {
	// folder has the file; its patterns are relative to it.
	folder   string
	patterns []ignorePattern
	// names and paths are the patterns without special characters, by the name or the path that they
	// match; globs are the others. There may be very many: these are their numbers, ascending.
	names, paths map[string][]int
	globs        []int
}

type ignorePattern struct {
	// glob is nil for a pattern without special characters.
	glob *glob.Glob
	// end is what all that matches the glob ends with.
	end string
	// anywhere is true for a glob that is matched with the last segment of a path.
	anywhere bool
	// negated patterns include again what an earlier one has excluded.
	negated bool
	// folders is true for a pattern that matches folders only.
	folders bool
}

// specials are the characters that are not themselves in a pattern.
const specials = `*?[\`

// readIgnore reads the patterns of a file .gitignore. As for git they are bytes, and a line that is
// no pattern matches nothing. Errors: one for a pattern that is too long to be matched.
func readIgnore(folder string, text []byte) (*ignoreFile, error) {
	f := &ignoreFile{folder: folder, names: map[string][]int{}, paths: map[string][]int{}}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	number := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		number++
		if err := f.add(strings.TrimSuffix(line, "\r")); err != nil {
			return nil, fmt.Errorf("%w in line %d", err, number)
		}
	}
	return f, nil
}

// add adds the pattern of a line, if there is one.
func (f *ignoreFile) add(line string) error {
	line = trimSpaces(line)
	if line == "" || line[0] == '#' {
		return nil
	}
	var p ignorePattern
	line, p.negated = strings.CutPrefix(line, "!")
	line, p.folders = strings.CutSuffix(line, "/")
	p.anywhere = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	nth := len(f.patterns)
	switch {
	case strings.ContainsAny(line, specials):
		is, err := p.compile(line)
		if !is || err != nil {
			return err
		}
		f.globs = append(f.globs, nth)
	case p.anywhere:
		f.names[line] = append(f.names[line], nth)
	default:
		f.paths[line] = append(f.paths[line], nth)
	}
	f.patterns = append(f.patterns, p)
	return nil
}

// compile makes the glob. It returns false for a pattern that matches nothing.
func (p *ignorePattern) compile(line string) (is bool, err error) {
	line = fewStars(characters(line))
	p.end = line[strings.LastIndexAny(line, specials+"]/")+1:]
	if strings.HasSuffix(line, "/**") {
		// For git this is all in the folder, and not the folder.
		line += "/*"
	}
	line, is = withRanges(line)
	if !is {
		return false, nil
	}
	// Braces are alternatives for package glob only.
	line = strings.NewReplacer(`\{`, `\{`, `\}`, `\}`, `\\`, `\\`, "{", `\{`, "}", `\}`).Replace(line)
	if len(line) > glob.LengthBytesMax {
		return false, fmt.Errorf("has a pattern of more than %d bytes", glob.LengthBytesMax)
	}
	compiled, problem := glob.Compile(line)
	p.glob = compiled
	return problem == "", nil
}

// fewStars shortens a run of more than two stars to two, which it is for git.
func fewStars(line string) string {
	segments := strings.Split(line, "/")
	for i, segment := range segments {
		if len(segment) > len("**") && strings.Trim(segment, "*") == "" {
			segments[i] = "**"
		}
	}
	return strings.Join(segments, "/")
}

// characters has a character for each byte of a text, the one with its number. Package glob matches
// characters, git matches bytes.
func characters(text string) string {
	ascii := true
	for i := range len(text) {
		ascii = ascii && text[i] < utf8.RuneSelf
	}
	if ascii {
		return text
	}
	all := make([]rune, len(text))
	for i := range len(text) {
		all[i] = rune(text[i])
	}
	return string(all)
}

// ranges are the named classes of a pattern, as package glob writes them.
var ranges = map[string]string{
	"alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": " \t", "cntrl": "\x01-\x1f\x7f", "digit": "0-9",
	"graph": "\\!-~", "lower": "a-z", "print": " -~", "punct": "\\!-/:-@\\[-`{-~", "space": " \t-\r",
	"upper": "A-Z", "xdigit": "0-9A-Fa-f",
}

// withRanges replaces named classes such as [[:alpha:]], and escapes a bracket that comes first in
// a class. It reports false for a pattern that matches nothing.
func withRanges(pattern string) (made string, is bool) {
	var out strings.Builder
	inClass, first := false, false
	for pattern != "" {
		size := 1
		name, rest, named := strings.Cut(strings.TrimPrefix(pattern, "[:"), ":]")
		named = named && strings.HasPrefix(pattern, "[:")
		switch {
		case pattern[0] == '\\' && len(pattern) > 1:
			size = 2
		case !inClass && pattern[0] == '[':
			inClass, first = true, true
			if len(pattern) > 1 && (pattern[1] == '!' || pattern[1] == '^') {
				size = 2
			}
			out.WriteString(pattern[:size])
			pattern = pattern[size:]
			continue
		case inClass && named:
			if ranges[name] == "" {
				return "", false
			}
			out.WriteString(ranges[name])
			pattern, first = rest, false
			continue
		case inClass && pattern[0] == ']' && !first:
			inClass = false
		case inClass && (pattern[0] == ']' || pattern[0] == '['):
			out.WriteByte('\\')
		}
		out.WriteString(pattern[:size])
		pattern, first = pattern[size:], false
	}
	return out.String(), true
}

// trimSpaces removes the spaces at the end that have no backslash before them.
func trimSpaces(line string) string {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	return line
}

// ignored reports whether patterns exclude a path; the files are those of the folders above it,
// from the top. The last pattern that matches decides.
func ignored(files []*ignoreFile, name string, isFolder bool) bool {
	for _, f := range slices.Backward(files) {
		below := name
		if f.folder != "." {
			below = strings.TrimPrefix(name, path.Clean(f.folder)+"/")
		}
		if nth := f.last(below, isFolder); nth >= 0 {
			return !f.patterns[nth].negated
		}
	}
	return false
}

// last is the number of the last pattern that matches a path below the folder, -1 if none does.
func (f *ignoreFile) last(below string, isFolder bool) int {
	fits := func(nth int) bool { return isFolder || !f.patterns[nth].folders }
	last := -1
	for _, numbers := range [][]int{f.names[path.Base(below)], f.paths[below]} {
		for _, nth := range slices.Backward(numbers) {
			if fits(nth) {
				last = max(last, nth)
				break
			}
		}
	}
	if len(f.globs) == 0 {
		return last
	}
	below = characters(below)
	base := path.Base(below)
	for _, nth := range slices.Backward(f.globs) {
		if nth < last {
			break
		}
		if fits(nth) && f.patterns[nth].matches(below, base) {
			return nth
		}
	}
	return last
}

// matches matches the glob with a path, whose last segment is base. Few patterns of many get past
// the comparison of both ends.
func (p *ignorePattern) matches(below, base string) bool {
	of := below
	if p.anywhere {
		of = base
	}
	if !strings.HasSuffix(of, p.end) || !strings.HasPrefix(of, p.glob.Prefix()) {
		return false
	}
	matches, _ := p.glob.Match(of)
	return matches
}
