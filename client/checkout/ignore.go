package checkout

import (
	"path"
	"strings"

	"pws/work/glob"
)

// ignoreFile is a file .gitignore.
type ignoreFile struct {
	// folder has the file; its patterns are relative to it.
	folder   string
	patterns []ignorePattern
}

type ignorePattern struct {
	glob *glob.Glob
	// negated patterns include again what an earlier one has excluded.
	negated bool
	// folders is true for a pattern that matches folders only.
	folders bool
}

// readIgnore reads the patterns of a file .gitignore. A line that is no pattern matches nothing,
// as for git.
func readIgnore(folder string, text []byte) ignoreFile {
	f := ignoreFile{folder: folder}
	for line := range strings.SplitSeq(string(text), "\n") {
		if p, is := readPattern(strings.TrimSuffix(line, "\r")); is {
			f.patterns = append(f.patterns, p)
		}
	}
	return f
}

func readPattern(line string) (p ignorePattern, is bool) {
	line = trimSpaces(line)
	if line == "" || line[0] == '#' {
		return p, false
	}
	if line[0] == '!' {
		p.negated = true
		line = line[1:]
	}
	line, p.folders = strings.CutSuffix(line, "/")
	rest, rooted := strings.CutPrefix(line, "/")
	if !rooted && !strings.Contains(line, "/") {
		rest = "**/" + rest
	}
	if strings.HasSuffix(rest, "/**") {
		// For git this is all in the folder, and not the folder.
		rest += "/*"
	}
	rest, is = withRanges(rest)
	if !is {
		return p, false
	}
	// Braces are alternatives for package glob only.
	rest = strings.NewReplacer(`\{`, `\{`, `\}`, `\}`, `\\`, `\\`, "{", `\{`, "}", `\}`).Replace(rest)
	compiled, problem := glob.Compile(rest)
	p.glob = compiled
	return p, problem == ""
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
func ignored(files []ignoreFile, name string, isFolder bool) bool {
	for at := len(files) - 1; at >= 0; at-- {
		below := name
		if files[at].folder != "." {
			below = strings.TrimPrefix(name, path.Clean(files[at].folder)+"/")
		}
		patterns := files[at].patterns
		for nth := len(patterns) - 1; nth >= 0; nth-- {
			p := patterns[nth]
			if p.folders && !isFolder {
				continue
			}
			if matches, _ := p.glob.Match(below); matches {
				return !p.negated
			}
		}
	}
	return false
}
