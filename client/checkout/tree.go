package checkout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofrs/flock"
)

// The files in the folder .pws/local.
const (
	localFolder    = ".pws/local"
	baseFile       = localFolder + "/base.json"
	journalFile    = localFolder + "/journal.json"
	pushFile       = localFolder + "/push.json"
	lostFile       = localFolder + "/lost.json"
	contributeFile = localFolder + "/contribute.json"
	lockFile       = localFolder + "/lock"
	stagedName     = localFolder + "/staged"

	contributedFile = localFolder + "/contributed.json"
)

// baseVersion is the version of the format of base.json.
const baseVersion = 1

// Entry is a file of the base.
type Entry struct {
	// Hash is the SHA-256 of the content, hexadecimal.
	Hash string `json:"hash"`
	// Absent says why the file is not in the directory, empty if it is.
	Absent string `json:"absent,omitzero"`
}

// base is what the directory was last made equal to.
type base struct {
	Version int    `json:"version"`
	Server  string `json:"server"`
	Project string `json:"project"`
	// Changeset is empty before the first pull.
	Changeset string           `json:"changeset_id"`
	Files     map[string]Entry `json:"files"`
	// Conflicts are the files into which a pull has written conflict markers.
	Conflicts []string `json:"conflicts"`
}

// Options are what a Tree is made of.
type Options struct {
	// Dir is the directory that has the folder .pws.
	Dir string
	// Folder is the folder of the project that the directory keeps, "." for all of it. Paths in
	// the directory and in the project are the same.
	Folder string
	Remote Remote
	// Secret returns what is the same for all programs of a user, and nobody else knows. It is
	// called where there are orders, or will be; nil is no secret.
	Secret func() ([]byte, error)
	// Agent returns the ID of the agent of the client's requests, empty for none. It is called where
	// a push or a contribution is begun or continued; nil is none.
	Agent func(context.Context) (string, error)
	// Notice is called with what the user should know beside the result, a sentence; nil for nobody.
	Notice func(text string)
	// Progress is called while contents are transferred, with the bytes that are done and all of
	// them; nil for nobody.
	Progress func(done, total int64)
}

// Tree is a working copy. It is used by one goroutine.
type Tree struct {
	dir      string
	prefix   string
	secret   func() ([]byte, error)
	root     *os.Root
	remote   Remote
	agent    func(context.Context) (string, error)
	notice   func(text string)
	progress func(done, total int64)
	base     base
	// began is the base when the working copy was opened, or the last run of Locked ended. Who made
	// what is published has seen no other one.
	began base
	// unwritable is why the folder .pws/local cannot be made, nil if it is there.
	unwritable error
	// unlocked is true if what LockedBeside runs has no lock, because nothing can be written.
	unlocked bool
	// fileMode is what newFileMode returns, zero before the first call.
	fileMode fs.FileMode
	// names are the entries of folders that were listed.
	names map[string][]string
	// earlier is what a pull has done that was interrupted and is now complete, nil if there is none.
	earlier *Pulled
	// completed are the changesets of pushes that were killed.
	completed []string
	// unfinished is why the outcome of an earlier push is still unknown, nil if there is none.
	unfinished error
	// folding is true if names that differ in case only are one file here.
	folding bool
	// patience is statusPatience, turn is turnWait; tests replace them.
	patience, turn time.Duration
	// before is called before each effect on the disk or the server; tests end there.
	before func(effect string) error
}

// Open opens a working copy. The caller closes it. Errors: those of the file system; an error
// for a path that is not a folder, or a base of another project.
func Open(o Options) (*Tree, error) {
	prefix, err := prefixOf(o.Folder)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, err
	}
	t := &Tree{
		dir: o.Dir, prefix: prefix, root: root, remote: o.Remote, progress: o.Progress,
		secret: o.Secret, agent: o.Agent, notice: o.Notice,
		before: func(string) error { return nil }, patience: statusPatience, turn: turnWait,
	}
	if t.agent == nil {
		t.agent = func(context.Context) (string, error) { return "", nil }
	}
	if t.notice == nil {
		t.notice = func(string) {}
	}
	if t.progress == nil {
		t.progress = func(int64, int64) {}
	}
	err = t.open()
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return t, nil
}

// CheckFolder returns an error for what cannot be the Folder of Options.
func CheckFolder(folder string) error {
	_, err := prefixOf(folder)
	return err
}

// prefixOf is what all paths in a folder begin with.
func prefixOf(folder string) (string, error) {
	clean := path.Clean(filepath.ToSlash(folder))
	switch {
	case clean == "." && folder != "":
		return "", nil
	case folder == "" || !filepath.IsLocal(clean) || reserved(clean) != "":
		return "", fmt.Errorf("%q is not a folder below the directory", folder)
	}
	return clean + "/", nil
}

func (t *Tree) open() error {
	for _, folder := range []string{path.Dir(localFolder), localFolder} {
		if err := t.mustBe(folder, "folder", fs.FileMode.IsDir); err != nil {
			return err
		}
	}
	err := t.root.MkdirAll(path.Dir(localFolder), 0o777)
	if err == nil {
		err = t.root.MkdirAll(localFolder, privateFolder)
	}
	if err != nil && !cannotWrite(err) {
		return err
	}
	if t.unwritable = err; err == nil {
		t.narrow()
	}
	_, err = t.root.Lstat(strings.ToUpper(localFolder))
	t.folding = err == nil
	err = t.readBase()
	t.began = t.base
	return err
}

// mustBe returns an error for a path that is there and not of a kind, such as a symbolic link.
func (t *Tree) mustBe(name, kind string, is func(fs.FileMode) bool) error {
	info, err := t.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !is(info.Mode()) {
		err = fmt.Errorf("%s is no %s", filepath.Join(t.dir, name), kind)
	}
	return err
}

func (t *Tree) mustBeFile(name string) error {
	return t.mustBe(name, "ordinary file", fs.FileMode.IsRegular)
}

func (t *Tree) readBase() error {
	t.base = base{Server: t.remote.Client.Server, Project: t.remote.Project}
	read := t.base
	exists, err := t.readJSON(baseFile, &read)
	var broken *jsontext.SyntacticError
	switch {
	case errors.As(err, &broken), errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%w; remove this file and pull: what differs on both sides is a conflict then",
			err)
	case err != nil || !exists:
	case read.Version != baseVersion:
		err = fmt.Errorf("%s has version %d; this program knows %d", baseFile, read.Version, baseVersion)
	case read.Project != t.base.Project:
		err = fmt.Errorf("%s is of project %s, the directory is bound to %s", baseFile, read.Project,
			t.base.Project)
	default:
		t.base = read
	}
	t.base.Version = baseVersion
	if t.base.Files == nil {
		t.base.Files = map[string]Entry{}
	}
	return err
}

// Close closes the working copy.
func (t *Tree) Close() error { return t.root.Close() }

// Locked calls run while this process alone changes the working copy, after it has completed
// what another one has left, without a push that the server does not complete now. Errors: those of
// run; ErrBusy if another process has the lock for longer than 10 seconds.
func (t *Tree) Locked(ctx context.Context, run func() error) error {
	if t.unwritable != nil {
		return t.unwritable
	}
	if err := t.mustBeFile(lockFile); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(t.dir, lockFile))
	if err := take(ctx, lock, t.turn); err != nil {
		return err
	}
	err := t.readBase()
	if err == nil {
		t.earlier, err = t.complete()
	}
	if err == nil {
		err = t.completePush(ctx)
	}
	if err == nil {
		err = run()
	}
	t.began = t.base
	return errors.Join(err, lock.Unlock())
}

// ErrBusy reports that another process changes the directory.
var ErrBusy = errors.New("another pws changes this directory")

// turnWait is how long Locked waits for other processes.
const turnWait = 10 * time.Second

// take takes the lock of the directory, if that is possible within a time. Errors: ErrBusy.
func take(ctx context.Context, lock *flock.Flock, wait time.Duration) error {
	const pause = 50 * time.Millisecond
	got, err := lock.TryLock()
	if err == nil && !got && wait > 0 {
		waiting, end := context.WithTimeout(ctx, wait)
		defer end()
		got, err = lock.TryLockContext(waiting, pause)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = nil
		}
	}
	if err == nil && !got {
		err = ErrBusy
	}
	return err
}

// readJSON decodes a file of the folder .pws/local.
func (t *Tree) readJSON(name string, into any) (exists bool, err error) {
	if err := t.mustBeFile(name); err != nil {
		return false, err
	}
	text, err := t.root.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	at := filepath.Join(t.dir, name)
	if err != nil {
		return true, fmt.Errorf("%s: %w", at, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return true, &BrokenError{Path: at, Err: err}
	}
	return true, nil
}

// BrokenError reports a file of the folder .pws/local that is not what this program writes. Without
// the file the next pull merges what it would have completed.
type BrokenError struct {
	Path string
	Err  error
}

func (e *BrokenError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *BrokenError) Unwrap() error { return e.Err }

// writeJSON replaces a file of the folder .pws/local in one step, which a crash of the machine
// does not undo.
func (t *Tree) writeJSON(name string, value any) error {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return err
	}
	if err := t.before("write " + name); err != nil {
		return err
	}
	// What is there may be a link.
	next := name + ".new"
	if err := t.root.RemoveAll(next); err != nil {
		return err
	}
	file, err := t.root.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, privateFile)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := t.root.Rename(next, name); err != nil {
		return err
	}
	return t.syncFolder(path.Dir(name))
}

func (t *Tree) saveBase(next base) error {
	slices.Sort(next.Conflicts)
	next.Conflicts = slices.Compact(next.Conflicts)
	if err := t.writeJSON(baseFile, next); err != nil {
		return err
	}
	t.base = next
	return nil
}

// remove removes a file of the folder .pws/local; one that is not there is no error.
func (t *Tree) remove(name string) error {
	err := t.before("remove " + name)
	if err == nil {
		err = t.root.RemoveAll(name)
	}
	return err
}

// LeftOut is a file that is not kept, or stands in the way, and why.
type LeftOut struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// BlockedError reports files because of which nothing was done.
type BlockedError struct {
	// What says what was not done.
	What  string
	Files []LeftOut
	// Try is what to do about it.
	Try string
}

func (e *BlockedError) Error() string {
	const most = 10
	var text strings.Builder
	text.WriteString(e.What)
	for i, file := range e.Files {
		if i == most {
			fmt.Fprintf(&text, "; and %d more", len(e.Files)-most)
			break
		}
		separator := "; "
		if i == 0 {
			separator = ": "
		}
		fmt.Fprintf(&text, "%s%s %s", separator, file.Path, file.Reason)
	}
	return text.String()
}
