package checkout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	rules "pws/work/path"
)

// filling makes the files of a workspace those of the directory. What goes is deleted BEFORE files
// are renamed, and what has another content is written AFTER that. In between each file that the
// workspace has is one that the directory has too, or one that is still to be renamed: only the
// latter can be in the way of another.
type filling struct {
	tree *Tree
	// files is what the requests for files of the workspace begin with.
	files string
	// changes are those of the directory by their paths, except deletions.
	changes map[string]Change
	// now and wanted are the files at paths, which are all that differ from the base in the
	// workspace or the directory.
	paths       []string
	now, wanted map[string]held
	// disputed are the paths with conflicts, which end when they are written or deleted.
	disputed map[string]bool
	// moves are the paths of files that are renamed, by their new paths.
	moves map[string]string
	done  int
}

// held is a file of a workspace or a directory.
type held struct {
	// hash is that of the content, empty for one that is to be written in any case.
	hash string
	// origin is the path that the file has at the base, empty for a new one.
	origin string
	// kind is the content type of a new file of a workspace, empty where the service does not tell it.
	kind string
}

// newFilling compares a workspace with the changes of the directory.
func (t *Tree) newFilling(ctx context.Context, w *workspace, changes []Change) (*filling, error) {
	f := &filling{
		tree: t, files: workspacePath(w.ID) + "/files/", changes: map[string]Change{},
		disputed: map[string]bool{}, moves: map[string]string{},
	}
	for _, one := range changes {
		if one.Action != actionDelete {
			f.changes[one.Path] = one
		}
	}
	for _, one := range w.Conflicts {
		f.disputed[one.Path] = true
	}
	has, kinds := make([]Change, len(w.Changes)), map[string]string{}
	for i, one := range w.Changes {
		has[i] = Change{one.Action, one.Path, one.Previous, one.Hash}
		kinds[one.Path] = one.Type
	}
	f.paths = slices.Collect(maps.Keys(f.disputed))
	for _, one := range slices.Concat(has, changes) {
		f.paths = append(f.paths, one.Path, cmp.Or(one.Previous, one.Path))
	}
	slices.Sort(f.paths)
	f.paths = slices.Compact(f.paths)
	base, err := t.heldAt(ctx, f.paths)
	if err != nil {
		return nil, err
	}
	f.now, f.wanted = heldAfter(base, has), heldAfter(base, changes)
	for name, one := range f.now {
		if one.origin == "" {
			f.now[name] = held{one.hash, "", kinds[name]}
		}
	}
	f.match()
	return f, nil
}

// heldAt returns the files that the base has at paths. A workspace may have changes outside of the
// folder that the directory keeps: the server knows what is there.
func (t *Tree) heldAt(ctx context.Context, paths []string) (map[string]held, error) {
	base := map[string]held{}
	for _, name := range paths {
		hash := t.base.Files[name].Hash
		if !strings.HasPrefix(name, t.prefix) {
			one, err := t.remote.file(ctx, t.base.Changeset, name)
			if err != nil {
				return nil, err
			}
			hash = one.Hash
		}
		if hash != "" {
			base[name] = held{hash: hash, origin: name}
		}
	}
	return base, nil
}

// heldAfter returns the files of a base after changes of it.
func heldAfter(base map[string]held, changes []Change) map[string]held {
	all := maps.Clone(base)
	for _, one := range changes {
		delete(all, cmp.Or(one.Previous, one.Path))
	}
	for _, one := range changes {
		switch one.Action {
		case actionCreate:
			all[one.Path] = held{hash: one.hash}
		case actionRename:
			all[one.Path] = held{hash: one.hash, origin: one.Previous}
		case actionModify:
			if one.hash == base[one.Path].hash {
				// Only its content type is another one.
				one.hash = ""
			}
			all[one.Path] = held{hash: one.hash, origin: one.Path}
		}
	}
	return all
}

// match finds the files that are renamed. A file that the workspace does not have any more is a new
// one.
func (f *filling) match() {
	places := map[string]string{}
	for name, one := range f.now {
		if one.origin != "" && !f.disputed[name] {
			places[one.origin] = name
		}
	}
	for name, one := range f.wanted {
		from, ok := places[one.origin]
		switch {
		case one.origin == "" || ok && from == name:
		case ok && !f.disputed[name]:
			f.moves[name] = from
		case one.origin != name:
			f.wanted[name] = held{hash: one.hash}
		}
	}
}

// run sends the requests. Without any, the workspace has what the directory has.
func (f *filling) run(ctx context.Context) error {
	if err := f.deleteAll(ctx); err != nil {
		return err
	}
	if err := f.renameAll(ctx); err != nil {
		return err
	}
	for _, name := range f.paths {
		if _, stays := f.wanted[name]; !stays {
			continue
		}
		same, err := f.same(ctx, name)
		if err == nil && !same {
			err = f.write(ctx, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// same reports whether a workspace has a file as the directory has it. A new file may be one that
// an earlier revision has moved there, with the content type of that.
func (f *filling) same(ctx context.Context, name string) (bool, error) {
	here, to := f.now[name], f.wanted[name]
	if here.hash != to.hash || f.disputed[name] {
		return false, nil
	}
	if here.kind == "" {
		return true, nil
	}
	kind, err := f.kindOf(ctx, f.changes[name])
	return here.kind == cmp.Or(kind, rules.TypeOf(name)), err
}

// deleteAll deletes the files that the directory does not have, and those in whose place it has a
// file of another origin.
func (f *filling) deleteAll(ctx context.Context) error {
	leaves := map[string]bool{}
	for _, from := range f.moves {
		leaves[from] = true
	}
	for _, name := range f.paths {
		here, exists := f.now[name]
		to, stays := f.wanted[name]
		replaced := exists && (!stays || here.origin != to.origin) && !leaves[name]
		if !replaced && (stays || !f.disputed[name]) {
			continue
		}
		if err := f.delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (f *filling) delete(ctx context.Context, name string) error {
	f.progress()
	delete(f.now, name)
	return f.tree.remote.Client.Call(ctx, http.MethodDelete, f.files+encoded(name), nil, nil)
}

// renameAll renames each file AFTER those that are in its way. Of files that are in the way of each
// other, one is deleted and written again.
func (f *filling) renameAll(ctx context.Context) error {
	for len(f.moves) > 0 {
		w := newWay(f.moves)
		before := len(f.moves)
		names := slices.Sorted(maps.Keys(f.moves))
		for _, name := range names {
			from := f.moves[name]
			if !w.free(name, from) {
				continue
			}
			w.add(from, -1)
			delete(f.moves, name)
			if err := f.rename(ctx, from, name); err != nil {
				return err
			}
		}
		if len(f.moves) < before {
			continue
		}
		from := f.moves[names[0]]
		delete(f.moves, names[0])
		if err := f.delete(ctx, from); err != nil {
			return err
		}
	}
	return nil
}

func (f *filling) rename(ctx context.Context, from, to string) error {
	f.progress()
	f.now[to] = f.now[from]
	delete(f.now, from)
	body := struct {
		NewPath string `json:"new_path"`
	}{to}
	at := f.files + encoded(from) + "/rename"
	return f.tree.remote.Client.Call(ctx, http.MethodPost, at, body, nil)
}

// way counts the files that are to be renamed: at each path, and in each folder.
type way struct{ files, folders map[string]int }

func newWay(moves map[string]string) way {
	w := way{map[string]int{}, map[string]int{}}
	for _, from := range moves {
		w.add(from, 1)
	}
	return w
}

func (w way) add(name string, count int) {
	w.files[name] += count
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		w.folders[folder] += count
	}
}

// free reports whether no file but the one that is renamed is in the way of a path: at the path, in
// a folder there, or where the path needs a folder.
func (w way) free(name, from string) bool {
	w.add(from, -1)
	defer w.add(from, 1)
	if w.folders[name] > 0 {
		return false
	}
	for ; name != "."; name = path.Dir(name) {
		if w.files[name] > 0 {
			return false
		}
	}
	return true
}

// write writes a file of the directory, or that of the base where the directory has no change.
// Where the base has the file, it keeps its content type.
func (f *filling) write(ctx context.Context, name string) error {
	f.progress()
	t := f.tree
	change, ok := f.changes[name]
	if !ok {
		return f.restore(ctx, name)
	}
	content, found, err := t.read(name)
	if err != nil {
		return err
	}
	if found.hash == "" {
		return errors.New(name + " was changed while it was pushed: push again")
	}
	kind, err := f.kindOf(ctx, change)
	if err != nil {
		return err
	}
	return f.put(ctx, name, writtenFile{string(content), kind})
}

// kindOf is the content type that a changed file keeps, empty for a new one.
func (f *filling) kindOf(ctx context.Context, change Change) (string, error) {
	if change.Action == actionCreate {
		return "", nil
	}
	t, origin := f.tree, cmp.Or(change.Previous, change.Path)
	before, err := t.remote.file(ctx, t.base.Changeset, origin)
	if err == nil && before.Path == "" {
		err = fmt.Errorf("the server has no file %s", origin)
	}
	return before.Type, err
}

// restore makes a file of a workspace that of the base.
func (f *filling) restore(ctx context.Context, name string) error {
	r := f.tree.remote
	var read struct {
		File writtenFile `json:"file"`
	}
	at := r.path("/changesets/" + f.tree.base.Changeset + "/files/" + encoded(name))
	if err := r.Client.Call(ctx, http.MethodGet, at, nil, &read); err != nil {
		return err
	}
	if hashOf([]byte(read.File.Content)) != f.wanted[name].hash {
		return fmt.Errorf("the server sent another content of %s", name)
	}
	return f.put(ctx, name, read.File)
}

// writtenFile is a file as it is read and written.
type writtenFile struct {
	Content string `json:"content"`
	// Type is the content type, empty for that of the path.
	Type string `json:"content_type,omitzero"`
}

func (f *filling) put(ctx context.Context, name string, written writtenFile) error {
	return f.tree.remote.Client.Call(ctx, http.MethodPut, f.files+encoded(name), written, nil)
}

func (f *filling) progress() {
	total := max(len(f.paths), 1)
	f.tree.progress(int64(min(f.done, total)), int64(total))
	f.done++
}
