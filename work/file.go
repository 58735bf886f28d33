package work

import (
	"encoding/binary"
	"slices"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/internal/sorted"
	"pws/work/path"
)

// File is one path with all its versions. A File is copied when it changes. The versions of an
// older copy stay unchanged, because a newer copy only appends.
type File struct {
	versions []version
	// language is "" if unknown.
	language string
	// path is the index of the path in the names of the history.
	path uint32
}

// version is the result of one operation at a path: a content, or no file. The history has the
// operation.
type version struct {
	// sequence is the sequence of the changeset; several versions of one changeset are in order.
	sequence uint32
	// created is the sequence of the changeset that created the file this version belongs to.
	created uint32
	// tag is a part of the hash of the content, so that a search reads few operations.
	tag uint32
	// at is the place of the operation in its changeset, with versionGone if there is no file after
	// it.
	at uint32
}

const versionGone = 1 << 31

// newVersion is the version of a file that a changeset creates.
func newVersion(sequence uint32, op *Op, gone bool) version {
	v := version{sequence: sequence, created: sequence, tag: tagOf(&op.Blob), at: op.at}
	if gone {
		v.at |= versionGone
	}
	return v
}

// same reports whether two versions have the same operation. Their paths may differ.
func (v *version) same(other version) bool {
	return v.sequence == other.sequence && v.place() == other.place()
}

// gone reports whether there is no file at the path after the operation.
func (v *version) gone() bool { return v.at&versionGone != 0 }

// place returns the place of the operation in its changeset.
func (v *version) place() uint32 { return v.at &^ versionGone }

func tagOf(content *Hash) uint32 { return binary.LittleEndian.Uint32(content[:]) }

// last returns the newest version.
func (f *File) last() version { return f.versions[len(f.versions)-1] }

// at returns the version after a changeset, false if there was no file.
func (f *File) at(sequence uint32) (version, bool) {
	behind := f.behind(sequence)
	if behind == 0 || f.versions[behind-1].gone() {
		return version{}, false
	}
	return f.versions[behind-1], true
}

// FileInfo describes a file in one version of the project.
type FileInfo struct {
	Path        string
	Blob        Hash
	Size        int
	ContentType string
	Language    string
	// Created and Updated are the changesets that created and last changed it.
	Created Step
	Updated Step
}

// Step identifies a changeset.
type Step struct {
	ID id.ID
	// CreatedAt is Unix milliseconds.
	CreatedAt int64
	// Sequence counts from 1 in each project; zero means that there is none.
	Sequence uint32
}

func (p *Project) info(f *File, v version) FileInfo {
	var op Op
	p.history.operation(v, &op)
	info := FileInfo{
		Path:        *p.history.names.path(f.path),
		Blob:        op.Blob,
		Size:        int(op.Size),
		ContentType: op.Type.Value(),
		Language:    f.language,
		Updated:     p.history.step(v.sequence),
	}
	if info.Created = info.Updated; v.created != v.sequence {
		info.Created = p.history.step(v.created)
	}
	return info
}

// File returns the live file at a path.
func (p *Project) File(path string) (FileInfo, bool) {
	f, ok := p.live.Get(path)
	if !ok {
		return FileInfo{}, false
	}
	return p.info(f, f.last()), true
}

// FilesCount returns the number of live files.
func (p *Project) FilesCount() int {
	if p.summary != nil {
		return p.summary.Files
	}
	return p.live.Len()
}

// FilesBytes returns the size of all live files.
func (p *Project) FilesBytes() int64 { return p.saved.Bytes }

// Files yields live files in the order of their path bytes, starting at a path.
func (p *Project) Files(from string, yield func(FileInfo) bool) {
	p.live.Ascend(from, func(_ string, f *File) bool { return yield(p.info(f, f.last())) })
}

// FileAt returns the file at a path after a changeset.
func (p *Project) FileAt(path string, at *Changeset) (FileInfo, bool) {
	for _, tree := range []sorted.Map[*File]{p.live, p.gone} {
		if f, ok := tree.Get(path); ok {
			v, existed := f.at(at.Sequence)
			if !existed {
				return FileInfo{}, false
			}
			return p.info(f, v), true
		}
	}
	return FileInfo{}, false
}

// FilesAt yields the files after a changeset, in the order of their path bytes. It visits every
// path that ever existed and replays nothing.
func (p *Project) FilesAt(at *Changeset, from string, yield func(FileInfo) bool) {
	p.versionsAt(at, from, "", func(f *File, v version) bool { return yield(p.info(f, v)) })
}

// versionsAt yields the versions of the paths from a path on that begin with a prefix.
func (p *Project) versionsAt(
	at *Changeset, from, prefix string, yield func(*File, version) bool,
) {
	live, gone := p.live.Entries(), p.gone.Entries()
	more, moreGone := live.Seek(from), gone.Seek(from)
	for more || moreGone {
		var f *File
		var path string
		if more && (!moreGone || live.Key() < gone.Key()) {
			path, f = live.Key(), live.Value()
			more = live.Next()
		} else {
			path, f = gone.Key(), gone.Value()
			moreGone = gone.Next()
		}
		if !strings.HasPrefix(path, prefix) {
			return
		}
		if v, existed := f.at(at.Sequence); existed && !yield(f, v) {
			return
		}
	}
}

// PutFile writes one file.
type PutFile struct {
	Path        string
	Blob        Blob
	ContentType string
	Message     string
	// Match is called with the current file, nil if there is none; a nil Match checks nothing. It
	// returns PRECONDITION_FAILED.
	Match func(current *FileInfo) error
}

// Authorize accepts maintainers and owners.
func (c *PutFile) Authorize(p *Project, agent id.ID) error {
	return MayWriteFiles.Require(p, agent)
}

// Decide returns PRECONDITION_FAILED, PATH_CONFLICT, FILE_LIMIT_REACHED, PROJECT_ARCHIVED,
// TURN_HELD. Writing the same content with the same type changes nothing.
func (c *PutFile) Decide(p *Project, stamp Stamp) (Decision, error) {
	current, exists, err := p.fileToWrite(c.Path, stamp, c.Match)
	if err != nil {
		return Decision{}, err
	}
	if exists && current.Blob == c.Blob.Hash && current.ContentType == c.ContentType {
		return Decision{Again: []Blob{c.Blob}}, nil
	}
	action := Modify
	if !exists {
		action = Create
		if err := p.requireRoom(c.Path); err != nil {
			return Decision{}, err
		}
	}
	published := &ChangesetPublished{
		ID:      p.nextChangesetID(stamp.ID(0)),
		Message: c.Message,
		Source:  SourceFilePut,
		Ops: []OpRecord{{
			Action: action, Path: c.Path, Blob: c.Blob.Hash, Size: len(c.Blob.Content),
			Type: c.ContentType,
		}},
	}
	return Decision{
		Events: []Event{published},
		Blobs:  []Blob{c.Blob},
		Result: Result{Created: !exists, Changeset: published.ID},
	}, nil
}

// requireRoom checks that a new path is within the file limit and would not be both a folder and
// a file.
func (p *Project) requireRoom(path string) error {
	if p.live.Len() >= FilesMax {
		return errFileLimitReached()
	}
	if other, found := p.conflict(path); found {
		return errPathConflict(path, other)
	}
	return nil
}

// conflict is pathConflict for the live files.
func (p *Project) conflict(path string) (string, bool) {
	exists := func(path string) bool { _, exists := p.live.Get(path); return exists }
	return pathConflict(path, exists, p.livePaths)
}

// livePaths yields the paths of live files from a path on, in the order of their bytes.
func (p *Project) livePaths(from string, yield func(path string) bool) {
	p.live.Ascend(from, func(path string, _ *File) bool { return yield(path) })
}

// pathConflict finds a file that cannot exist beside a file at the path: one where the path needs a
// folder, or one below it. The function paths yields the paths from a path on in the order of their
// bytes, and may yield those of files that do not exist any more.
func pathConflict(
	path string, exists func(path string) bool,
	paths func(from string, yield func(path string) bool),
) (other string, found bool) {
	for i := range len(path) {
		if path[i] == '/' && exists(path[:i]) {
			return path[:i], true
		}
	}
	folder := path + "/"
	paths(folder, func(below string) bool {
		if !strings.HasPrefix(below, folder) {
			return false
		}
		other, found = below, exists(below)
		return !found
	})
	return other, found
}

func errPathConflict(path, other string) error {
	return fault.New(fault.PathConflict, "A path would be both a file and a folder.").
		With("path", path).With("conflicting_path", other)
}

func errFileLimitReached() error {
	return fault.New(fault.FileLimitReached, "The project has the maximum number of files.").
		With("limit", FilesMax)
}

// fileToWrite returns the current file at a path, if there is one, for a command that writes it.
// Errors: PROJECT_ARCHIVED, TURN_HELD, and those of condition.
func (p *Project) fileToWrite(path string, stamp Stamp, condition func(*FileInfo) error) (
	current FileInfo, exists bool, err error,
) {
	if err := requireWritable(p, stamp); err != nil {
		return current, false, err
	}
	current, exists = p.File(path)
	return current, exists, match(condition, current, exists)
}

// match calls a condition with the current value, nil if there is none; a nil condition always
// matches.
func match[T any](condition func(*T) error, current T, exists bool) error {
	if condition == nil {
		return nil
	}
	if !exists {
		return condition(nil)
	}
	// Only this copy is on the heap.
	found := current
	return condition(&found)
}

// DeleteFile deletes one file; its history is kept.
type DeleteFile struct {
	Path    string
	Message string
	// Folder deletes all files below Path instead.
	Folder bool
	// Match is as in PutFile.
	Match func(current *FileInfo) error
}

// Authorize accepts maintainers and owners.
func (c *DeleteFile) Authorize(p *Project, agent id.ID) error {
	return MayWriteFiles.Require(p, agent)
}

// Decide returns FILE_NOT_FOUND, PRECONDITION_FAILED, PROJECT_ARCHIVED, TURN_HELD, and
// VALIDATION_FAILED for a folder of too many files.
func (c *DeleteFile) Decide(p *Project, stamp Stamp) (Decision, error) {
	_, exists, err := p.fileToWrite(c.Path, stamp, c.Match)
	if err != nil {
		return Decision{}, err
	}
	published := &ChangesetPublished{Ops: []OpRecord{{Action: Delete, Path: c.Path}}}
	switch {
	case c.Folder:
		var faults []error
		folder := []Operation{{Action: Delete, Path: c.Path, Folder: true}}
		whole := func(int) string { return "" }
		if published, _, faults = validateOperations(p, folder, whole); len(faults) > 0 {
			return Decision{}, fault.Several(faults)
		}
	case !exists:
		return Decision{}, errFileNotFound(c.Path)
	}
	published.ID = p.nextChangesetID(stamp.ID(0))
	published.Message, published.Source = c.Message, SourceFileDelete
	return Decision{Events: []Event{published}, Result: Result{Changeset: published.ID}}, nil
}

func errFileNotFound(path string) error {
	return fault.New(fault.FileNotFound, "There is no file at this path.").With("path", path)
}

// LanguageOf returns the language of a file by its path, empty if unknown.
func LanguageOf(file string) string { return path.LanguageOf(file) }

// IsLanguage reports whether a word is the lower-case name of a language that LanguageOf knows.
func IsLanguage(word string) bool { return path.IsLanguage(word) }

// write stores a version at a path, which has an index in the names, and updates the trees, the
// size and the languages. The file is gone after a deletion, and at the previous path of a rename.
func (p *Project) write(at string, index, sequence uint32, op *Op, gone bool) {
	v := newVersion(sequence, op, gone)
	next := &File{path: index}
	old, existed := p.live.Get(at)
	if existed {
		v.created = old.last().created
		var before Op
		p.history.operation(old.last(), &before)
		p.saved.Bytes -= int64(before.Size)
	} else if old, _ = p.gone.Get(at); old != nil {
		p.gone.Delete(at)
	}
	if old != nil {
		next.versions, next.language = appended(old.versions, v), old.language
	} else {
		next.versions, next.language = []version{v}, path.LanguageOf(at)
	}
	if gone {
		p.live.Delete(at)
		p.gone.Set(at, next)
		p.countLanguage(next.language, existed, -1)
		return
	}
	p.saved.Bytes += int64(op.Size)
	p.live.Set(at, next)
	p.countLanguage(next.language, !existed, +1)
}

// countLanguage updates the count of a language. It copies the list on a change, because older
// states share it.
func (p *Project) countLanguage(language string, changes bool, by int) {
	if !changes || language == "" {
		return
	}
	counts := slices.Clone(p.saved.Languages)
	at := slices.IndexFunc(counts, func(c LanguageCount) bool { return c.Language == language })
	if at < 0 {
		counts = append(counts, LanguageCount{Language: language})
		at = len(counts) - 1
	}
	counts[at].Files += by
	if counts[at].Files == 0 {
		counts = slices.Delete(counts, at, at+1)
	}
	p.saved.Languages = counts
}
