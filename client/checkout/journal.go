package checkout

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"pws/work/merge"
)

// effect is a file that a pull changes.
type effect struct {
	Path string `json:"path"`
	// Before and After are the hashes of the contents, empty for no file.
	Before string `json:"before"`
	After  string `json:"after"`
	// Staged is the name of the file with the new content, empty for a deletion. It is there
	// until the effect is carried out: then it is the file itself.
	Staged string `json:"staged"`
}

// kept is the name of the staged file with the content before.
func (e effect) kept() string { return e.Staged + ".before" }

// compare puts deletions first, because they make room for what is written.
func (e effect) compare(other effect) int {
	switch {
	case e.After == "" && other.After != "":
		return -1
	case e.After != "" && other.After == "":
		return 1
	}
	return strings.Compare(e.Path, other.Path)
}

// journal is a pull whose contents are staged.
type journal struct {
	Effects []effect `json:"effects"`
	Next    base     `json:"next"`
	// Decided are the workspaces whose submissions the base needs no more.
	Decided []string `json:"decided,omitzero"`
	// Done is the result. Older programs did not note it.
	Done Pulled `json:"done"`
}

// result is what the pull has done. The markers of one that an older program has left are known
// from its base.
func (j *journal) result() *Pulled {
	done := j.Done
	done.Changeset = j.Next.Changeset
	for _, name := range j.Next.Conflicts {
		done.conflict(name, ConflictText)
	}
	done.sort()
	return &done
}

// complete carries out the effects of the journal, if there is one: those of this process, or
// those that a killed one has left. They are durable BEFORE the base says that they are done. It
// returns what that pull has done, nil if there is none.
func (t *Tree) complete() (*Pulled, error) {
	var j journal
	exists, err := t.readOrder(journalFile, &j)
	if err != nil || !exists {
		return nil, err
	}
	t.names = map[string][]string{}
	if j.Next.Changeset != t.base.Changeset {
		for nth := range j.Effects {
			if err := t.carryOut(&j, nth); err != nil {
				return nil, err
			}
		}
		if err := t.syncEffects(j.Effects); err != nil {
			return nil, err
		}
		if err := t.saveBase(j.Next); err != nil {
			return nil, err
		}
	}
	if err := t.remove(stagedName); err != nil {
		return nil, err
	}
	if err := t.forgetSubmissions(j.Decided); err != nil {
		return nil, err
	}
	// A push on the base before would be refused now, or this pull has brought what it published.
	if err := t.remove(pushFile); err != nil {
		return nil, err
	}
	return j.result(), t.remove(journalFile)
}

func stagedPath(name string) string { return stagedName + "/" + name }

func (t *Tree) writeStaged(name string, content []byte) error {
	return t.root.WriteFile(stagedPath(name), content, privateFile)
}

// carryOut makes the effect of a number. A file that was changed since it was compared is merged,
// so that nothing is lost. What that makes different is in the journal BEFORE the file is written.
func (t *Tree) carryOut(j *journal, nth int) error {
	e := j.Effects[nth]
	if e.After != "" {
		if _, err := t.root.Lstat(stagedPath(e.Staged)); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	content, now, err := t.read(e.Path)
	switch {
	case err != nil:
		return err
	case now == file{hash: e.Before}:
		return t.replace(e)
	case now == file{hash: e.After}:
		return nil
	case e.After == "":
		// A change that was made in the meantime stays; the next push publishes it.
		j.Done.conflict(e.Path, ConflictDeletedThere)
		return t.writeOrder(journalFile, j)
	case now.problem != "":
		// So does what cannot be merged; the next push names it.
		j.Done.leave(e.Path, now.problem)
		return t.writeOrder(journalFile, j)
	case !now.exists():
		j.Done.conflict(e.Path, ConflictDeletedHere)
	default:
		if e, err = t.mergeAgain(j, e, content); err != nil {
			return err
		}
		j.Effects[nth] = e
	}
	if err := t.writeOrder(journalFile, j); err != nil {
		return err
	}
	return t.replace(e)
}

// mergeAgain stages an effect merged with a content that came after it was staged, and returns the
// effect that there is now. Its files are others, because those of before are needed until the
// journal has it.
func (t *Tree) mergeAgain(j *journal, e effect, content []byte) (effect, error) {
	var before []byte
	if e.Before != "" {
		var err error
		if before, err = t.root.ReadFile(stagedPath(e.kept())); err != nil {
			return e, err
		}
	}
	after, err := t.root.ReadFile(stagedPath(e.Staged))
	if err != nil {
		return e, err
	}
	result := merge.Merge(before, content, after)
	switch {
	case result.Conflicts > 0:
		j.Next.Conflicts = append(j.Next.Conflicts, e.Path)
		j.Done.conflict(e.Path, ConflictText)
	case slices.Contains(j.Done.Written, e.Path):
		j.Done.Written = without(j.Done.Written, e.Path)
		j.Done.Merged = append(j.Done.Merged, e.Path)
	}
	again := effect{
		Path: e.Path, Before: hashOf(content), After: hashOf(result.Text), Staged: e.Staged + ".again",
	}
	if err := t.writeStaged(again.kept(), content); err != nil {
		return e, err
	}
	if err := t.writeStaged(again.Staged, result.Text); err != nil {
		return e, err
	}
	return again, t.syncStaged(again.kept(), again.Staged)
}

// replace writes or deletes the file of an effect in one step.
func (t *Tree) replace(e effect) error {
	if err := t.before("replace " + e.Path); err != nil {
		return err
	}
	if e.After == "" {
		if err := t.root.Remove(e.Path); err != nil && !notThere(err) {
			return err
		}
		t.removeEmpty(path.Dir(e.Path))
		return nil
	}
	if folder := path.Dir(e.Path); folder != "." {
		if err := t.root.MkdirAll(folder, 0o777); err != nil {
			return err
		}
	}
	from := stagedPath(e.Staged)
	info, err := t.root.Lstat(e.Path)
	if err == nil && info.IsDir() {
		// There are no files in it, or the pull would have been refused.
		err = t.removeFolders(e.Path)
	}
	if err != nil && !notThere(err) {
		return err
	}
	// What is staged is private.
	var mode fs.FileMode
	if info != nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm()
	} else if mode, err = t.newFileMode(); err != nil {
		return err
	}
	if err := t.root.Chmod(from, mode); err != nil {
		return err
	}
	return t.root.Rename(from, e.Path)
}

// removeFolders removes a folder that has nothing but folders.
func (t *Tree) removeFolders(folder string) error {
	entries, err := t.list(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		if err := t.removeFolders(path.Join(folder, entry.Name())); err != nil {
			return err
		}
	}
	return t.root.Remove(folder)
}

// removeEmpty removes a folder and those above it while they are empty.
func (t *Tree) removeEmpty(folder string) {
	for ; folder != "."; folder = path.Dir(folder) {
		if !t.isEmpty(folder) || t.root.Remove(folder) != nil {
			return
		}
	}
}

func (t *Tree) isEmpty(folder string) bool {
	opened, err := t.root.OpenFile(folder, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer func() { _ = opened.Close() }()
	names, err := opened.Readdirnames(1)
	return len(names) == 0 && err != nil
}
