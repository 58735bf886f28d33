package api

import (
	"pws/api/sizelimit"
	"pws/internal/id"
	"pws/work"
)

// wellKnown are files at the top level of a project that readers usually begin with.
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
	info, exists := f.project.File(path)
	switch {
	case !exists:
	case len(f.files) < f.most:
		f.files = append(f.files, info)
	default:
		f.more = true
	}
	return !f.more
}

// touched takes the paths of the listed changes, the newest first.
func (f *fileChoice) touched(after, to int) {
	looked := 0
	var changeset work.Changeset
	for sequence := to; sequence > after; sequence-- {
		f.project.ReadChangeset(uint32(sequence), &changeset, true)
		ops := changeset.Ops
		for i := range ops {
			if looked++; looked > operationsSeenMax {
				f.more = true
			}
			if f.more || !f.take(*ops[i].Path) {
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
	place := b.doc.Place(&b.resume.Files)
	choice := fileChoice{
		project: b.project, most: b.wish.files, seen: b.memory.paths, files: b.memory.files,
	}
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
	b.memory.files = choice.files
	b.expect(rankFiles, len(choice.files))
	for i := range choice.files {
		info := &choice.files[i]
		outlined := b.wish.whole && i < filesWithOutline && info.Size <= outlineBytesMax
		b.add(rankFiles, place, b.file(info, outlined))
	}
}

// file is a ResumeFile. An outline is made when the turn of the file comes. A content that cannot
// be read has none here; who reads the file gets the error.
func (b *resumeBuild) file(info *work.FileInfo, outlined bool) sizelimit.Item {
	return sizelimit.Record{Make: func(form sizelimit.Form) (any, bool) {
		file, more := &ResumeFile{
			Path: info.Path, SizeBytes: info.Size, Language: textOrNil(info.Language),
			Updated: info.Updated.ID.Format(id.Changeset),
		}, false
		if outlined && form == sizelimit.Full {
			content, err := b.call.Service.Engine.Blob(info.Blob)
			if err != nil {
				return file, true
			}
			file.Outline, more = outlineOf(info.Language, content)
			file.Outline = orNil(file.Outline)
		}
		return file, more
	}}
}
