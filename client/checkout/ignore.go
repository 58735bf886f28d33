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
	// Braces are alternatives for package glob only.
	rest = strings.NewReplacer(`\{`, `\{`, `\}`, `\}`, `\\`, `\\`, "{", `\{`, "}", `\}`).Replace(rest)
	compiled, problem := glob.Compile(rest)
	p.glob = compiled
	return p, problem == ""
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
