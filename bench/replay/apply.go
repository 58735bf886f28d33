package replay

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// scratch is an empty repository that borrows the objects of the source. Trees are built and
// patches applied in its index, so that the source is never written.
type scratch struct {
	repository
}

func newScratch(ctx context.Context, source *repository, workDir string) (*scratch, error) {
	dir := filepath.Join(workDir, "scratch")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &scratch{repository{dir: dir, format: source.format}}
	_, err := s.output(ctx, "init", "-q", "--template=", "--object-format="+source.format, ".")
	if err != nil {
		return nil, err
	}
	alternates := filepath.Join(dir, ".git", "objects", "info", "alternates")
	if err := os.MkdirAll(filepath.Dir(alternates), 0o700); err != nil {
		return nil, err
	}
	return s, os.WriteFile(alternates, []byte(source.objectsDir+"\n"), 0o600)
}

// fileMode is the mode of every file in the scratch index; the service has no modes.
const fileMode = "100644"

// apply builds a tree, applies a patch to it and returns the resulting tree: path to object.
func (s *scratch) apply(
	ctx context.Context, before map[string]expectedFile, patch []byte,
) (map[string]string, error) {
	if _, err := s.output(ctx, "read-tree", "--empty"); err != nil {
		return nil, err
	}
	var index bytes.Buffer
	for path, file := range before {
		fmt.Fprintf(&index, "%s %s 0\t%s\x00", fileMode, file.oid, path)
	}
	if _, err := s.pipe(ctx, index.Bytes(), "update-index", "-z", "--index-info"); err != nil {
		return nil, err
	}
	if len(patch) > 0 {
		if _, err := s.pipe(ctx, patch, "-c", "apply.whitespace=nowarn",
			"apply", "--cached", "-"); err != nil {
			return nil, err
		}
	}
	out, err := s.output(ctx, "ls-files", "-s", "-z")
	if err != nil {
		return nil, err
	}
	after := map[string]string{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		if line == "" {
			continue
		}
		head, path, found := strings.Cut(line, "\t")
		parts := strings.Split(head, " ")
		if !found || len(parts) != 3 {
			return nil, fmt.Errorf("git ls-files: unexpected line %q", line)
		}
		after[path] = parts[1]
	}
	return after, nil
}

// diff applies the service's diff of a commit to the tree before it and compares the result. The
// tree before it comes from git, so a commit is compared only if no file was left out because the
// project was full.
func (c *checker) diff(
	ctx context.Context, index int, expected map[string]expectedFile,
) error {
	s := c.session
	record := s.history[index]
	if record.before == record.after || len(record.beyond) > 0 {
		return nil
	}
	var data struct {
		Diff struct {
			Text      string `json:"text"`
			Truncated bool   `json:"truncated"`
		} `json:"diff"`
	}
	path := "/api/v1/projects/" + s.project.ID + "/changesets/" + record.after + "/diff"
	if record.changesets > 1 {
		path += "?base=" + record.before
	}
	if err := s.get(path, &data); err != nil {
		return err
	}
	if data.Diff.Truncated {
		c.result.DiffsCut++
		return nil
	}
	before, err := c.expected(ctx, index-1, nil)
	if err != nil {
		return err
	}
	c.result.Diffs++
	after, err := c.scratch.apply(ctx, before, []byte(data.Diff.Text))
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		c.result.differs("%s: the diff does not apply: %v", s.commits[index], err)
		return nil
	}
	for path, file := range expected {
		if after[path] != file.oid {
			c.result.differs("%s: the diff leaves %q as object %q, git has %s",
				s.commits[index], path, after[path], file.oid)
		}
	}
	for path := range after {
		if _, found := expected[path]; !found {
			c.result.differs("%s: the diff leaves %q, which git does not have",
				s.commits[index], path)
		}
	}
	return nil
}
