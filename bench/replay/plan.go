package replay

import (
	"maps"
	"strings"
	"unicode/utf8"

	"pws/bench/client"
)

// operation is one operation of a changeset in the request.
type operation struct {
	Action   string  `json:"action"`
	Path     string  `json:"path"`
	NewPath  string  `json:"new_path,omitempty"`
	Content  *string `json:"content,omitempty"`
	Expected string  `json:"expected_blob_hash,omitempty"`
}

// step is an operation whose content is still a git object; oid is empty if there is no content.
type step struct {
	operation
	oid string
}

// part is one changeset to publish. A commit without operations is one part without operations, so
// that it keeps its place in the history.
type part struct {
	index   int
	commit  string
	number  int
	last    bool
	message string
	// operations are already encoded.
	operations [][]byte
	// beyond is set on the last part of a sampled commit: the files that were left out because the
	// project was full.
	beyond map[string]bool
}

// servedFile is a file that the service has.
type servedFile struct {
	oid  string
	hash hash
}

// planner turns commits into changesets. It keeps the service's tree AFTER all planned commits,
// which differs from git's tree by the files that were left out.
type planner struct {
	classifier *classifier
	served     map[string]servedFile
	// folders counts the served files below each folder.
	folders map[string]int
	beyond  map[string]bool
	// sampled reports whether the commit at an index is compared.
	sampled map[int]bool
	// leftOut counts file versions by reason.
	leftOut map[reason]int
	// modeOnly counts changes of mode bits without content, which the service does not store.
	modeOnly int
	// emptyCommits counts commits that change no served file.
	emptyCommits int
}

func newPlanner(classifier *classifier, sampled map[int]bool) *planner {
	return &planner{
		classifier: classifier, served: map[string]servedFile{}, folders: map[string]int{},
		beyond: map[string]bool{}, sampled: sampled, leftOut: map[reason]int{},
	}
}

// steps are the operations of one commit by kind, sent in the order of the fields. Removals come
// BEFORE additions, so that a file can become a folder and the reverse, even if the commit is
// split, and the number of files never exceeds its limit in between.
type steps struct {
	deletes  []step
	renames  []step
	creates  []step
	modifies []step
}

func (s *steps) all() []step {
	out := make([]step, 0, len(s.deletes)+len(s.renames)+len(s.creates)+len(s.modifies))
	out = append(out, s.deletes...)
	out = append(out, s.renames...)
	out = append(out, s.creates...)
	return append(out, s.modifies...)
}

// plan passes the parts of one commit to the receiver, in order.
func (p *planner) plan(commit commitChanges, emit func(part) error) error {
	defer p.classifier.forget()
	message, err := p.classifier.objects.message(commit.commit)
	if err != nil {
		return err
	}
	todo, err := p.decide(commit.changes)
	if err != nil {
		return err
	}
	if len(todo) == 0 {
		p.emptyCommits++
	}
	current := part{index: commit.index, commit: commit.commit, message: cleanMessage(message)}
	size := 0
	for _, one := range todo {
		encoded, err := p.encode(one)
		if err != nil {
			return err
		}
		if len(current.operations) == operationsMax || size+len(encoded) > requestBytesAimed {
			if err := emit(current); err != nil {
				return err
			}
			current.number++
			current.operations, size = nil, 0
		}
		current.operations = append(current.operations, encoded)
		size += len(encoded)
	}
	current.last = true
	if p.sampled[commit.index] {
		current.beyond = maps.Clone(p.beyond)
	}
	return emit(current)
}

func (p *planner) encode(one step) ([]byte, error) {
	if one.oid != "" {
		content, err := p.classifier.content(one.oid)
		if err != nil {
			return nil, err
		}
		text := string(content)
		one.Content = &text
	}
	return client.EncodeJSON(one.operation)
}

// decide turns raw changes into operations and updates the served tree.
func (p *planner) decide(changes []change) ([]step, error) {
	var todo steps
	type arrival struct {
		path string
		file servedFile
	}
	var arrivals []arrival
	before := p.conflicts(changes)
	for _, one := range changes {
		leaves := one.status == 'D' || one.status == 'R'
		old, wasServed := p.served[one.path]
		if one.status == 'D' {
			p.goes(&todo, one.path)
			continue
		}
		verdict, err := p.classifier.file(one.newPath, one.newMode, one.newOID)
		if err != nil {
			return nil, err
		}
		file := servedFile{oid: one.newOID, hash: verdict.hash}
		switch {
		case verdict.reason != accepted:
			p.leftOut[verdict.reason]++
			p.goes(&todo, one.path)
		case wasServed && leaves && !before[one.newPath]:
			rename := step{operation: operation{
				Action: "RENAME", Path: one.path, NewPath: one.newPath, Expected: old.hash.String(),
			}}
			if old.oid != file.oid {
				rename.oid = file.oid
			}
			todo.renames = append(todo.renames, rename)
			p.remove(one.path)
			p.put(one.newPath, file)
		case wasServed && !leaves && old.oid == file.oid:
			p.modeOnly++
		case wasServed && !leaves:
			todo.modifies = append(todo.modifies, step{operation: operation{
				Action: "MODIFY", Path: one.path, Expected: old.hash.String(),
			}, oid: file.oid})
			p.put(one.path, file)
		default:
			if leaves {
				p.goes(&todo, one.path)
			}
			arrivals = append(arrivals, arrival{one.newPath, file})
		}
	}
	for _, one := range arrivals {
		if len(p.served) >= filesMax {
			p.leftOut[reasonTooMany]++
			p.beyond[one.path] = true
			continue
		}
		delete(p.beyond, one.path)
		p.put(one.path, one.file)
		todo.creates = append(todo.creates, step{
			operation: operation{Action: "CREATE", Path: one.path}, oid: one.file.oid,
		})
	}
	return todo.all(), nil
}

// conflicts finds the rename targets that are below a file, or at a folder, of the tree before the
// commit. Such a rename is sent as a deletion and a creation, which do not depend on the order of
// the other renames.
func (p *planner) conflicts(changes []change) map[string]bool {
	found := map[string]bool{}
	for _, one := range changes {
		if one.status != 'R' {
			continue
		}
		if p.folders[one.newPath] > 0 {
			found[one.newPath] = true
		}
		for folder := range ancestors(one.newPath) {
			if _, isFile := p.served[folder]; isFile {
				found[one.newPath] = true
			}
		}
	}
	return found
}

// goes deletes a served path.
func (p *planner) goes(todo *steps, path string) {
	delete(p.beyond, path)
	old, found := p.served[path]
	if !found {
		return
	}
	todo.deletes = append(todo.deletes, step{operation: operation{
		Action: "DELETE", Path: path, Expected: old.hash.String(),
	}})
	p.remove(path)
}

func (p *planner) put(path string, file servedFile) {
	if _, found := p.served[path]; !found {
		for folder := range ancestors(path) {
			p.folders[folder]++
		}
	}
	p.served[path] = file
}

func (p *planner) remove(path string) {
	delete(p.served, path)
	for folder := range ancestors(path) {
		if p.folders[folder]--; p.folders[folder] == 0 {
			delete(p.folders, folder)
		}
	}
}

// ancestors yields the folders above a path, the nearest first.
func ancestors(path string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for {
			cut := strings.LastIndexByte(path, '/')
			if cut < 0 {
				return
			}
			path = path[:cut]
			if !yield(path) {
				return
			}
		}
	}
}

// cleanMessage turns a commit message into one that the service accepts.
func cleanMessage(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	if utf8.RuneCountInString(text) > messageCharsMax {
		text = string([]rune(text)[:messageCharsMax])
	}
	return text
}
