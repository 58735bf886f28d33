package checkout

import (
	"maps"
	"slices"
	"strings"
)

// Beside is a file that another operation than a push publishes, such as a checkpoint.
type Beside struct {
	Path string
	// Content is what the file becomes, nil for a deletion.
	Content *string
}

func (b Beside) hash() string {
	if b.Content == nil {
		return ""
	}
	return hashOf([]byte(*b.Content))
}

// Base is the changeset that the directory was last made equal to, empty before the first pull.
func (t *Tree) Base() string { return t.base.Changeset }

// Keeps reports whether a path is one that the directory keeps for the project.
func (t *Tree) Keeps(name string) bool {
	return strings.HasPrefix(name, t.prefix) && reserved(name) == ""
}

// PublishBeside has publish write files on a changeset of the project, and makes what it returns
// the base. It is called inside of Locked.
//
// The base stays if the files were written on another changeset, or if the directory has something
// else at one of the paths: a push would take that for a change on what was published. Then behind
// is true, and the next pull brings the directory up to date. What the directory has itself is
// noted BEFORE publish is called, so that this pull does not take it for a change of others.
//
// Errors: that of an earlier push whose outcome is still unknown; those of publish and of the file
// system.
func (t *Tree) PublishBeside(
	base string, files []Beside, publish func() (changeset string, err error),
) (behind bool, err error) {
	if t.unfinished != nil {
		return false, t.unfinished
	}
	if len(t.completed) > 0 {
		t.notice("Published " + strings.Join(t.completed, ", ") + ", which was begun before.")
	}
	own, all, err := t.ownOf(files)
	if err != nil {
		return false, err
	}
	if err := t.noteOwn(own); err != nil {
		return false, err
	}
	changeset, err := publish()
	if err != nil || changeset == "" {
		// Without a changeset the project has these files already.
		return false, err
	}
	if !all || base != t.base.Changeset {
		return true, nil
	}
	next := t.base
	next.Changeset = changeset
	next.Files, next.Conflicts = maps.Clone(t.base.Files), slices.Clone(t.base.Conflicts)
	for _, one := range files {
		next.Conflicts = without(next.Conflicts, one.Path)
		switch {
		case one.Content == nil:
			delete(next.Files, one.Path)
		case strings.HasPrefix(one.Path, t.prefix):
			next.Files[one.Path] = Entry{Hash: one.hash(), Absent: reserved(one.Path)}
		}
	}
	return false, t.saveBase(next)
}

// ownOf returns those of the files that the directory keeps and has as they are published, and
// whether these are all that it keeps.
func (t *Tree) ownOf(files []Beside) (own []Beside, all bool, err error) {
	t.names = map[string][]string{}
	all = true
	for _, one := range files {
		if !t.Keeps(one.Path) {
			continue
		}
		here, err := t.look(one.Path)
		if err != nil {
			return nil, false, err
		}
		if here == (file{hash: one.hash()}) {
			own = append(own, one)
		} else {
			all = false
		}
	}
	return own, all, nil
}

// noteOwn notes what may be published of the directory beside a push.
func (t *Tree) noteOwn(own []Beside) error {
	if len(own) == 0 {
		return nil
	}
	all, err := t.lostFiles()
	if err != nil {
		return err
	}
	for _, one := range own {
		if hash := one.hash(); !slices.Contains(all[one.Path], hash) {
			all[one.Path] = append(all[one.Path], hash)
		}
	}
	return t.writeJSON(lostFile, lost{Base: t.base.Changeset, Files: all})
}
