package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// repository is a git repository that is read and never written.
type repository struct {
	dir string
	// objectsDir is the absolute path of its object database.
	objectsDir string
	// format is the name of its hash function: sha1 or sha256.
	format string
}

func openRepository(ctx context.Context, dir string) (*repository, error) {
	r := &repository{dir: dir}
	out, err := r.output(ctx, "rev-parse", "--git-path", "objects", "--show-object-format")
	if err != nil {
		return nil, fmt.Errorf("%s is not a git repository that can be read: %w", dir, err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != 2 {
		return nil, fmt.Errorf("%s: unexpected answer of git rev-parse: %q", dir, out)
	}
	r.objectsDir, r.format = lines[0], lines[1]
	if !filepath.IsAbs(r.objectsDir) {
		r.objectsDir = filepath.Join(dir, r.objectsDir)
	}
	r.objectsDir, err = filepath.Abs(r.objectsDir)
	return r, err
}

// command prepares a git command in the repository. It ignores environment variables that name
// other repositories, prompts for nothing and fetches nothing.
func (r *repository) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", r.dir}, args...)...)
	own := command.Environ()
	kept := own[:0]
	for _, variable := range own {
		if !strings.HasPrefix(variable, "GIT_") {
			kept = append(kept, variable)
		}
	}
	command.Env = append(kept, "LC_ALL=C", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
	return command
}

func (r *repository) output(ctx context.Context, args ...string) ([]byte, error) {
	return r.pipe(ctx, nil, args...)
}

// pipe runs a git command with the given standard input and returns its output.
func (r *repository) pipe(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	command := r.command(ctx, args...)
	command.Stdin = bytes.NewReader(input)
	var problems bytes.Buffer
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		text := strings.TrimSpace(problems.String())
		return nil, fmt.Errorf("git %s: %w: %.2000s", args[0], err, text)
	}
	return out, nil
}

// history lists the first-parent history of HEAD, the oldest commit first; a limit above zero
// bounds the number of commits.
func (r *repository) history(ctx context.Context, limit int) ([]string, error) {
	out, err := r.output(ctx, "rev-list", "--first-parent", "--reverse", "HEAD", "--")
	if err != nil {
		return nil, err
	}
	commits := strings.Fields(string(out))
	if limit > 0 && len(commits) > limit {
		commits = commits[:limit]
	}
	return commits, nil
}

// change is one line of a raw diff. Path is the old path of a rename, and otherwise the only path.
type change struct {
	status  byte
	oldMode string
	newMode string
	newOID  string
	path    string
	newPath string
}

// commitChanges are the changes of one commit against the previous one in the history.
type commitChanges struct {
	index   int
	commit  string
	changes []change
}

// walk calls the visitor with the changes of each commit against its predecessor, with renames
// detected.
func (r *repository) walk(
	ctx context.Context, commits []string, visit func(commitChanges) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Each input line names the commit and the parent to compare with. For a merge, this gives its
	// changes against the first parent.
	var input strings.Builder
	for i, commit := range commits {
		input.WriteString(commit)
		if i > 0 {
			input.WriteString(" " + commits[i-1])
		}
		input.WriteByte('\n')
	}
	command := r.command(ctx, "-c", "diff.renameLimit=2000", "diff-tree", "--stdin", "-r", "-z",
		"-M", "--root", "--always", "--no-abbrev", "--no-ext-diff", "--no-textconv")
	command.Stdin = strings.NewReader(input.String())
	var problems bytes.Buffer
	command.Stderr = &problems
	stdout, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	err = readChanges(bufio.NewReaderSize(stdout, 1<<16), commits, visit)
	if err != nil {
		// The process may wait for a reader; canceling the context ends it.
		cancel()
		_ = command.Wait()
		return err
	}
	if err := command.Wait(); err != nil {
		return fmt.Errorf("git diff-tree: %w: %.2000s", err, problems.String())
	}
	return nil
}

func readChanges(in *bufio.Reader, commits []string, visit func(commitChanges) error) error {
	index := -1
	var current commitChanges
	for {
		field, err := in.ReadString(0)
		if err == io.EOF && field == "" {
			break
		}
		if err != nil {
			return fmt.Errorf("git diff-tree: %w", err)
		}
		field = field[:len(field)-1]
		if strings.HasPrefix(field, ":") {
			one, err := readChange(in, field)
			if err != nil {
				return err
			}
			current.changes = append(current.changes, one)
			continue
		}
		if index >= 0 {
			if err := visit(current); err != nil {
				return err
			}
		}
		index++
		if index >= len(commits) || commits[index] != field {
			return fmt.Errorf("git diff-tree: unexpected commit %q", field)
		}
		current = commitChanges{index: index, commit: field}
	}
	if index+1 != len(commits) {
		return fmt.Errorf("git diff-tree: ended at commit %d of %d", index+1, len(commits))
	}
	if index < 0 {
		return nil
	}
	return visit(current)
}

// readChange parses ":oldmode newmode oldoid newoid status" and the one or two paths behind it.
func readChange(in *bufio.Reader, field string) (change, error) {
	parts := strings.Split(field[1:], " ")
	if len(parts) != 5 || parts[4] == "" {
		return change{}, fmt.Errorf("git diff-tree: unexpected line %q", field)
	}
	one := change{
		oldMode: parts[0], newMode: parts[1], newOID: parts[3], status: parts[4][0],
	}
	var err error
	if one.path, err = in.ReadString(0); err != nil {
		return change{}, fmt.Errorf("git diff-tree: %w", err)
	}
	one.path = one.path[:len(one.path)-1]
	one.newPath = one.path
	if one.status == 'R' || one.status == 'C' {
		if one.newPath, err = in.ReadString(0); err != nil {
			return change{}, fmt.Errorf("git diff-tree: %w", err)
		}
		one.newPath = one.newPath[:len(one.newPath)-1]
	}
	return one, nil
}

// treeEntry is one file of a commit's tree.
type treeEntry struct {
	mode string
	oid  string
	path string
}

// tree lists all files of a commit.
func (r *repository) tree(ctx context.Context, commit string) ([]treeEntry, error) {
	out, err := r.output(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	var entries []treeEntry
	for line := range strings.SplitSeq(string(out), "\x00") {
		if line == "" {
			continue
		}
		head, path, found := strings.Cut(line, "\t")
		parts := strings.Split(head, " ")
		if !found || len(parts) != 3 {
			return nil, fmt.Errorf("git ls-tree: unexpected line %q", line)
		}
		entries = append(entries, treeEntry{mode: parts[0], oid: parts[2], path: path})
	}
	return entries, nil
}

// objects reads objects through one git cat-file process.
type objects struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func (r *repository) objects(ctx context.Context) (*objects, error) {
	command := r.command(ctx, "cat-file", "--batch")
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	return &objects{command: command, in: in, out: bufio.NewReaderSize(out, 1<<16)}, nil
}

// Close ends the process.
func (o *objects) Close() error {
	o.in.Close()
	return o.command.Wait()
}

var errMissingObject = errors.New("object is not in the repository")

// read returns the type, the size and, unless the size is above the limit, the content.
func (o *objects) read(
	oid string, limit int64,
) (kind string, size int64, content []byte, err error) {
	if _, err := io.WriteString(o.in, oid+"\n"); err != nil {
		return "", 0, nil, fmt.Errorf("git cat-file: %w", err)
	}
	line, err := o.out.ReadString('\n')
	if err != nil {
		return "", 0, nil, fmt.Errorf("git cat-file: %w", err)
	}
	parts := strings.Fields(line)
	if len(parts) == 2 && parts[1] == "missing" {
		return "", 0, nil, fmt.Errorf("%w: %s", errMissingObject, oid)
	}
	if len(parts) != 3 {
		return "", 0, nil, fmt.Errorf("git cat-file: unexpected line %q", line)
	}
	if size, err = strconv.ParseInt(parts[2], 10, 64); err != nil {
		return "", 0, nil, fmt.Errorf("git cat-file: unexpected line %q", line)
	}
	if size > limit {
		_, err = io.CopyN(io.Discard, o.out, size)
	} else {
		content = make([]byte, size)
		_, err = io.ReadFull(o.out, content)
	}
	if err == nil {
		_, err = o.out.Discard(1)
	}
	if err != nil {
		return "", 0, nil, fmt.Errorf("git cat-file: %w", err)
	}
	return parts[1], size, content, nil
}

// messageBytesMax bounds the size of the commit objects that are read. The message of a larger one
// is dropped.
const messageBytesMax = 1 << 20

// message returns the message of a commit.
func (o *objects) message(commit string) (string, error) {
	kind, _, content, err := o.read(commit, messageBytesMax)
	if err != nil {
		return "", err
	}
	if kind != "commit" {
		return "", fmt.Errorf("git cat-file: %s is a %s", commit, kind)
	}
	_, text, _ := bytes.Cut(content, []byte("\n\n"))
	return string(text), nil
}
