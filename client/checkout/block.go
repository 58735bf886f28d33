package checkout

import (
	"bytes"
	"fmt"
	"path"
	"slices"
)

// check returns a *BlockedError if a file of the directory stands in the way of the pull.
func (p *plan) check() error {
	blocked := p.folding()
	deleted := map[string]bool{}
	for _, e := range p.effects {
		deleted[e.Path] = true
	}
	written := slices.Clone(p.fetch)
	for name := range p.moves {
		written = append(written, p.remote[name])
	}
	for _, one := range written {
		here := p.local[one.Path]
		reason, err := here.problem, error(nil)
		if reason == "" && here.hash == "" {
			reason, err = p.inTheWay(one.Path, deleted)
		}
		if err != nil {
			return err
		}
		if reason != "" {
			blocked = append(blocked, LeftOut{one.Path, reason})
		}
	}
	if len(blocked) == 0 {
		return nil
	}
	return &BlockedError{
		What: "Nothing was pulled, because of what is in the directory", Files: blocked,
		Try: "move them away, then pull",
	}
}

// inTheWay says why a new file cannot be written: a file at one of its folders, or a folder with
// other files at its place.
func (p *plan) inTheWay(name string, deleted map[string]bool) (string, error) {
	root := p.tree.root
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		info, err := root.Lstat(folder)
		if err == nil && !info.IsDir() && !deleted[folder] {
			return "needs a folder where " + folder + " is", nil
		}
		if err != nil && !notThere(err) {
			return "", err
		}
	}
	info, err := root.Lstat(name)
	if notThere(err) {
		return "", nil
	}
	if err != nil || !info.IsDir() {
		return "", err
	}
	return p.fileBelow(name, deleted), nil
}

// fileBelow says why a folder stays: because of a file in it, or of what cannot be read.
func (p *plan) fileBelow(folder string, deleted map[string]bool) string {
	entries, err := p.tree.list(folder)
	if err != nil {
		return "is a folder here, and " + folder + "/ " + unreadable(err)
	}
	for _, entry := range entries {
		below, reason := path.Join(folder, entry.Name()), ""
		switch {
		case entry.IsDir():
			reason = p.fileBelow(below, deleted)
		case !deleted[below]:
			reason = "is a folder here, with " + below
		}
		if reason != "" {
			return reason
		}
	}
	return ""
}

// folding finds paths that would be one file on a file system without case.
func (p *plan) folding() (blocked []LeftOut) {
	if !p.tree.folding {
		return nil
	}
	seen := map[string]string{}
	all := slices.Concat(keysOf(p.local), keysOf(p.next.Files))
	slices.Sort(all)
	for _, name := range slices.Compact(all) {
		if p.gone(name) {
			continue
		}
		key := folded(name)
		if other, exists := seen[key]; exists {
			blocked = append(blocked, LeftOut{name, "is the same file as " + other + " on this disk"})
		}
		seen[key] = name
	}
	return blocked
}

// gone reports whether a file is deleted by the pull, or is not in the directory.
func (p *plan) gone(name string) bool {
	entry, kept := p.next.Files[name]
	return entry.Absent != "" || !kept && slices.Contains(p.done.Deleted, name)
}

func keysOf[T any](of map[string]T) []string {
	all := make([]string, 0, len(of))
	for name := range of {
		all = append(all, name)
	}
	return all
}

const hasMarkers = "has conflict markers"

// resolved returns a *BlockedError if files still have the conflict markers of a pull.
func (t *Tree) resolved(what, try string) error {
	var left []LeftOut
	for _, name := range t.base.Conflicts {
		content, found, err := t.read(name)
		if err != nil {
			return fmt.Errorf("%s: %s %s", what, name, unreadable(err))
		}
		if found.hash != "" && marked(content) {
			left = append(left, LeftOut{name, hasMarkers})
		}
	}
	if len(left) == 0 {
		return nil
	}
	return &BlockedError{What: what, Files: left, Try: "resolve " + try}
}

// marked reports whether a text has the markers of a conflict.
func marked(text []byte) bool {
	begins, ends := false, false
	for line := range bytes.Lines(text) {
		begins = begins || bytes.HasPrefix(line, []byte("<<<<<<< "))
		ends = ends || begins && bytes.HasPrefix(line, []byte(">>>>>>> "))
	}
	return ends
}
