package checkout

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"

	"pws/client"
)

// Beside is a file that another operation than a push publishes, such as a checkpoint.
type Beside struct {
	Path string
	// Content is what the file becomes, nil for a deletion.
	Content *string
	// here is true for what FileHere has returned: what the directory has since is a change on it.
	here bool
}

// BesideOptions are the choices of PublishBeside.
type BesideOptions struct {
	// Base is the changeset under the files; empty is the base of the directory.
	Base string
	// AllowMarkers publishes files that have conflict markers.
	AllowMarkers bool
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

// LockedBeside is Locked for PublishBeside: several of them take turns. What this process cannot
// write it does not lock either, nor complete what another one has left: the base is older than
// what is read of the directory then, so that nothing of someone else's is overwritten.
func (t *Tree) LockedBeside(ctx context.Context, run func() error) error {
	err := t.writable()
	if t.unlocked = cannotWrite(err); t.unlocked {
		return run()
	}
	if err != nil {
		return err
	}
	return t.Locked(ctx, run)
}

// writable returns an error if the folder .pws/local cannot be written, or its lock not be taken.
func (t *Tree) writable() error {
	if t.unwritable != nil {
		return t.unwritable
	}
	if err := t.mustBeFile(lockFile); err != nil {
		return err
	}
	probe := localFolder + "/probe-" + client.NewIdempotencyKey()
	for _, name := range []string{lockFile, probe} {
		file, err := t.root.OpenFile(name, os.O_CREATE|os.O_RDONLY, 0o600)
		if err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return t.root.Remove(probe)
}

// cannotWrite reports that the user has no right to write, or that nobody can on this disk.
func cannotWrite(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// FileHere is a file as the directory has it, false if the directory does not keep it or cannot. It
// is called inside of LockedBeside: a pull may change the file BEFORE that.
func (t *Tree) FileHere(name string) (one Beside, is bool, err error) {
	if !t.Keeps(name) {
		return Beside{}, false, nil
	}
	t.names = map[string][]string{}
	content, found, err := t.read(name)
	if err != nil || found.hash == "" {
		return Beside{}, false, err
	}
	text := string(content)
	return Beside{Path: name, Content: &text, here: true}, true, nil
}

// PublishBeside has publish write files on a changeset of the project, and makes what it returns
// the base. It is called inside of LockedBeside, and calls files when an interrupted pull is
// complete.
//
// The base stays if the files were written on another changeset, or if the directory has something
// else at one of the paths: a push would take that for a change on what was published. It stays,
// too, if the directory cannot be written. Then behind is true, and the next pull brings the
// directory up to date. What the directory has itself is noted BEFORE publish is called, so that
// this pull does not take it for someone else's change.
//
// Errors: *BlockedError if an interrupted pull has conflicts, for files that have conflict markers,
// or if a pull has changed files since the working copy was opened that are not published as the
// directory has them; that of an earlier push whose outcome is still unknown; those of files, of
// publish and of the file system.
func (t *Tree) PublishBeside(
	o BesideOptions, files func() ([]Beside, error),
	publish func(base string, files []Beside) (changeset string, err error),
) (behind bool, err error) {
	if t.unfinished != nil {
		return false, t.unfinished
	}
	if len(t.completed) > 0 {
		t.notice("Published " + strings.Join(t.completed, ", ") + ", which was begun before.")
	}
	if err := t.seen(nothingStored, "checkpoint", "repeat"); err != nil {
		return false, err
	}
	given, err := files()
	if err != nil {
		return false, err
	}
	own, all, err := t.ownOf(given)
	if err != nil {
		return false, err
	}
	if err := t.mayPublish(o, given, own); err != nil {
		return false, err
	}
	takeBack, err := t.noteOwn(own)
	if err != nil {
		return false, err
	}
	base := cmp.Or(o.Base, t.base.Changeset)
	changeset, err := publish(base, given)
	if client.Undone(err) || err == nil && changeset == "" {
		// Without a changeset the project has these files already. Nothing was published of the
		// directory: what others publish is theirs, even if it is the same.
		return false, errors.Join(err, takeBack())
	}
	if err != nil {
		return false, err
	}
	if t.unlocked || !all || base != t.base.Changeset {
		return true, nil
	}
	return false, t.saveBase(t.withBeside(changeset, given))
}

const nothingStored = "Nothing was stored"

// withBeside is the base after a publication of files.
func (t *Tree) withBeside(changeset string, files []Beside) base {
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
	return next
}

// mayPublish returns a *BlockedError for files that are not published.
func (t *Tree) mayPublish(o BesideOptions, files, own []Beside) error {
	if o.Base == "" {
		if err := t.unmoved(files, own); err != nil {
			return err
		}
	}
	if o.AllowMarkers {
		return nil
	}
	var left []LeftOut
	for _, one := range files {
		if one.Content != nil && slices.Contains(t.base.Conflicts, one.Path) &&
			marked([]byte(*one.Content)) {
			left = append(left, LeftOut{one.Path, hasMarkers})
		}
	}
	if len(left) == 0 {
		return nil
	}
	return &BlockedError{
		What: nothingStored, Files: left,
		Try: "resolve them, then repeat; --allow-markers stores them",
	}
}

// unmoved returns a *BlockedError if a pull has changed, since the working copy was opened, a file
// that a given one is to replace. A given file comes from standard input or from elsewhere, so its
// author has not seen what the pull brought. The directory's own files are merged with the pull.
func (t *Tree) unmoved(files, own []Beside) error {
	if t.base.Changeset == t.began.Changeset {
		return nil
	}
	var moved []LeftOut
	for _, one := range files {
		same := func(other Beside) bool { return other.Path == one.Path }
		kept := strings.HasPrefix(one.Path, t.prefix)
		if slices.ContainsFunc(own, same) || kept && t.began.Files[one.Path] == t.base.Files[one.Path] {
			continue
		}
		reason := "was changed by it"
		if !kept {
			reason = "may have been changed in the project"
		}
		moved = append(moved, LeftOut{one.Path, reason})
	}
	if len(moved) == 0 {
		return nil
	}
	return &BlockedError{
		What:  nothingStored + ", because a pull was completed since the command began",
		Files: moved, Try: "look at what the pull has brought, then repeat",
	}
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
		if one.here || here == (file{hash: one.hash()}) {
			own = append(own, one)
		} else {
			all = false
		}
	}
	return own, all, nil
}

// noteOwn notes what may be published of the directory beside a push, and returns what makes this
// undone.
func (t *Tree) noteOwn(own []Beside) (takeBack func() error, err error) {
	takeBack = func() error { return nil }
	if len(own) == 0 || t.unlocked {
		return takeBack, nil
	}
	var before lost
	noted, err := t.readJSON(lostFile, &before)
	if err != nil {
		return takeBack, err
	}
	all, err := t.lostFiles()
	if err != nil {
		return takeBack, err
	}
	for _, one := range own {
		if hash := one.hash(); !slices.Contains(all[one.Path], hash) {
			all[one.Path] = append(all[one.Path], hash)
		}
	}
	takeBack = func() error {
		if !noted {
			return t.remove(lostFile)
		}
		return t.writeJSON(lostFile, before)
	}
	return takeBack, t.writeJSON(lostFile, lost{Base: t.base.Changeset, Files: all})
}
