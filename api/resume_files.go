package api

import (
	"pws/api/budget"
	"pws/api/jsonschema"
	"pws/internal/id"
	"pws/work"
)

// wellKnown are the names that tell a reader where to begin, at the top level of a project.
var wellKnown = []string{
	"README.md", "README", "README.txt", "README.rst", "readme.md", "AGENTS.md", "CLAUDE.md",
	"ARCHITECTURE.md", "DESIGN.md", "CONTRIBUTING.md", "PLAN.md", "ROADMAP.md",
	"CHANGELOG.md", "Makefile", "Dockerfile", "go.mod", "package.json", "pyproject.toml",
	"requirements.txt", "setup.py", "Cargo.toml", "pom.xml", "build.gradle", "CMakeLists.txt",
	"composer.json", "Gemfile", "tsconfig.json", "index.html", "main.go", "main.py",
}

// operationsSeenMax bounds how many operations are looked through for files.
const operationsSeenMax = 2000

// fileChoice collects files that stand, each once.
type fileChoice struct {
	project *work.Project
	most    int
	seen    map[string]bool
	files   []work.FileInfo
	// more says that there was another one when there were enough.
	more bool
}

// take looks at a path and reports whether to go on.
func (f *fileChoice) take(path string) bool {
	if f.seen[path] {
		return true
	}
	f.seen[path] = true
	info, stands := f.project.File(path)
	switch {
	case !stands:
	case len(f.files) < f.most:
		f.files = append(f.files, info)
	default:
		f.more = true
	}
	return !f.more
}

// touched takes the paths of the changes that are told, the newest first.
func (f *fileChoice) touched(after, to int) {
	looked := 0
	for sequence := to; sequence > after; sequence-- {
		ops := f.project.ChangesetNumber(uint32(sequence)).Ops
		for at := range ops {
			if looked++; looked > operationsSeenMax {
				f.more = true
			}
			if f.more || !f.take(*ops[at].Path) {
				return
			}
		}
	}
}

// filesWithOutline and outlineBytesMax bound the contents that are read for one resume.
const (
	filesWithOutline = 20
	outlineBytesMax  = 64 << 10
)

func (b *resumeBuild) files() {
	place := b.doc.MemberList("files")
	choice := fileChoice{project: b.project, most: b.wish.files, seen: map[string]bool{}}
	for _, path := range b.project.State().Statement.ImportantFiles {
		choice.take(path)
	}
	after, to, _ := b.changeRange()
	choice.touched(after, to)
	for _, path := range wellKnown {
		choice.take(path)
	}
	if choice.more {
		b.lose(rankFiles)
	}
	for at := range choice.files {
		item := &fileItem{call: b.call, info: choice.files[at]}
		item.outlined = b.wish.whole && at < filesWithOutline && item.info.Size <= outlineBytesMax
		b.add(rankFiles, place, budget.Record{Parts: item})
	}
}

// fileItem is a ResumeFile.
type fileItem struct {
	call *Call
	info work.FileInfo
	// outlined says that an outline is wanted; it is made when the file's turn comes, once.
	outlined bool
	lines    []string
	more     bool
}

// Head implements budget.Parts.
func (i *fileItem) Head(dst []byte, _ budget.Form) []byte {
	dst = jsonschema.AppendString(append(dst, `{"path":`...), i.info.Path)
	dst = appendInt(append(dst, `,"size_bytes":`...), int64(i.info.Size))
	if i.info.Language != "" {
		dst = jsonschema.AppendString(append(dst, `,"language":`...), i.info.Language)
	}
	return appendID(append(dst, `,"updated_changeset_id":`...), id.Changeset, i.info.Updated.ID)
}

// Text implements budget.Parts.
func (i *fileItem) Text() (string, budget.Text) { return "", budget.Text{} }

// Rest implements budget.Parts. A content that cannot be read has no outline here; who reads the
// file is told why.
func (i *fileItem) Rest(dst []byte) ([]byte, bool) {
	if !i.outlined {
		return dst, false
	}
	if i.lines == nil {
		content, err := i.call.Service.Engine.Blob(i.info.Blob)
		if err != nil {
			return dst, true
		}
		i.lines, i.more = outlineOf(i.info.Language, content)
	}
	if len(i.lines) == 0 {
		return dst, i.more
	}
	dst = append(dst, `,"outline":[`...)
	for at, line := range i.lines {
		if at > 0 {
			dst = append(dst, ',')
		}
		dst = jsonschema.AppendString(dst, line)
	}
	return append(dst, ']'), i.more
}
