package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pws/client"
	"pws/client/checkout"
)

// gitTree is what git says of a directory: where it stands, and which paths differ from that. It
// is the same of a working copy of a project, without branch and head.
type gitTree struct {
	Branch, Head string
	// Copy is true for a working copy.
	Copy bool
	// Changed are paths from the root of the repository, without those of the binding.
	Changed []string
	// Newest is when the newest of them changed.
	Newest time.Time
	// stamp is the same for the same branch, head, paths, sizes and times.
	stamp string
}

// withGitTime bounds how long git may take: in a large repository what it would say is left out. It
// gets half of the time that there is, a second by default.
func withGitTime(ctx context.Context) (context.Context, context.CancelFunc) {
	most := time.Second
	if end, bounded := ctx.Deadline(); bounded {
		most = time.Until(end) / 2
	}
	return context.WithTimeout(ctx, most)
}

// readTree asks git. A directory outside git, or a git that is missing or slow, gives an empty
// tree.
func readTree(ctx context.Context, dir string) gitTree {
	ctx, cancel := withGitTime(ctx)
	defer cancel()
	out, err := gitOutput(ctx, dir, "status", "--porcelain=v2", "--branch", "-z",
		"--untracked-files=normal", "--ignore-submodules=all", "--", ".")
	if err != nil {
		return gitTree{}
	}
	tree := parseStatus(out)
	tree.Changed = slices.DeleteFunc(tree.Changed, func(path string) bool {
		return slices.Contains(strings.Split(path, "/"), bindingFolder)
	})
	tree.mark(gitRoot(dir), tree.Branch, tree.Head)
	return tree
}

// mark makes the stamp of what the tree is based on and of the files that have changed, below a
// directory, and finds the newest of them.
func (t *gitTree) mark(top string, based ...string) {
	stamp := sha256.New()
	for _, one := range based {
		fmt.Fprintf(stamp, "%s\x00", one)
	}
	for _, path := range t.Changed {
		fmt.Fprintf(stamp, "%s\x00", path)
		if info, err := os.Lstat(filepath.Join(top, path)); err == nil {
			fmt.Fprintf(stamp, "%d %d\x00", info.Size(), info.ModTime().UnixNano())
			if at := info.ModTime(); at.After(t.Newest) && !info.IsDir() {
				t.Newest = at
			}
		}
	}
	t.stamp = hex.EncodeToString(stamp.Sum(nil))
}

// inGit reports whether a directory is in a git repository.
func inGit(dir string) bool {
	_, err := os.Lstat(filepath.Join(gitRoot(dir), ".git"))
	return err == nil
}

// readCopy is readTree for a working copy of a project. One that nothing was pulled into, or that
// takes too long to compare, gives an empty tree.
func readCopy(ctx context.Context, bound Binding) gitTree {
	if bound.Files == "" || bound.Files == filesNone {
		return gitTree{}
	}
	ctx, cancel := withGitTime(ctx)
	defer cancel()
	read := make(chan gitTree, 1)
	go func() { read <- compareCopy(bound) }()
	select {
	case tree := <-read:
		return tree
	case <-ctx.Done():
		return gitTree{}
	}
}

// compareCopy asks no server.
func compareCopy(bound Binding) (found gitTree) {
	remote := checkout.Remote{Client: client.New(bound.Server, nil), Project: bound.Project}
	defer remote.Client.Close()
	tree, err := checkout.Open(checkout.Options{
		Dir: bound.root, Folder: bound.Files, Remote: remote,
	})
	if err != nil {
		return found
	}
	defer func() { _ = tree.Close() }()
	if tree.Base() == "" {
		return found
	}
	status, err := tree.LocalStatus()
	if err != nil {
		return found
	}
	found.Copy = true
	for _, change := range status.Changes {
		found.Changed = append(found.Changed, change.Path)
	}
	for _, unfit := range status.Unfit {
		found.Changed = append(found.Changed, unfit.Path)
	}
	found.mark(bound.root, status.Base)
	return found
}

// gitRoot is the directory with .git, at dir or above it.
func gitRoot(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if filepath.Dir(at) == at {
			return dir
		}
	}
}

func gitOutput(ctx context.Context, dir string, args ...string) (string, error) {
	command := checkout.GitCommand(ctx, "git", dir, args...)
	const afterKill = 50 * time.Millisecond
	command.WaitDelay = afterKill
	out, err := command.Output()
	return string(out), err
}

// parseStatus reads the output of git status in its second form.
func parseStatus(out string) (tree gitTree) {
	records := strings.Split(out, "\x00")
	// The number of fields before the path, by the kind of the record.
	const ordinary, renamed, unmerged = 8, 9, 10
	for i := 0; i < len(records); i++ {
		record := records[i]
		kind, rest, _ := strings.Cut(record, " ")
		switch kind {
		case "#":
			name, said, _ := strings.Cut(rest, " ")
			switch name {
			case "branch.oid":
				// Before the first commit it is no hash.
				if !strings.HasPrefix(said, "(") {
					tree.Head = said
				}
			case "branch.head":
				tree.Branch = said
			}
		case "1":
			tree.add(record, ordinary)
		case "2":
			// The next record is the former path.
			tree.add(record, renamed)
			i++
		case "u":
			tree.add(record, unmerged)
		case "?":
			tree.Changed = append(tree.Changed, rest)
		}
	}
	return tree
}

func (t *gitTree) add(record string, before int) {
	if fields := strings.SplitN(record, " ", before+1); len(fields) > before {
		t.Changed = append(t.Changed, fields[before])
	}
}

// commitHash is the form of the name of a commit.
var commitHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// committed are the paths that commits have changed since another one, and when the last of them
// was made. Without an answer of git there are none.
func committed(ctx context.Context, dir, since, head string) (paths []string, at time.Time) {
	// What is no hash could be an option to git.
	if !commitHash.MatchString(since) || !commitHash.MatchString(head) {
		return nil, at
	}
	ctx, cancel := withGitTime(ctx)
	defer cancel()
	if out, err := gitOutput(ctx, dir, "log", "-1", "--format=%ct", head); err == nil {
		seconds, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
		if err == nil {
			at = time.Unix(seconds, 0)
		}
	}
	out, err := gitOutput(ctx, dir, "diff", "--name-only", "-z", "--no-renames",
		"--no-ext-diff", "--no-textconv", since, head, "--",
		".")
	if err != nil {
		return nil, at
	}
	for _, path := range strings.Split(out, "\x00") {
		if path != "" {
			paths = append(paths, path)
		}
	}
	return paths, at
}
