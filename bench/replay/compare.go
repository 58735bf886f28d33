package replay

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"

	"pws/bench/client"
)

// contentsPerSample is how many files of a sampled tree are compared by content.
const contentsPerSample = 8

// differencesMax bounds the differences that are described; all are counted.
const differencesMax = 20

// Comparison is the result of comparing the service with git.
type Comparison struct {
	// Trees, Files, Contents and Diffs count what was compared.
	Trees    int
	Files    int
	Contents int
	Diffs    int
	// DiffsCut counts sampled diffs that the service truncated at its limit; these are not applied.
	DiffsCut int
	// Differences counts what is not equal; Words describes the first of them.
	Differences int
	Words       []string
}

// Equal reports whether something was compared and nothing differs.
func (c *Comparison) Equal() bool { return c.Differences == 0 && c.Trees > 0 }

func (c *Comparison) differs(format string, args ...any) {
	c.Differences++
	if len(c.Words) < differencesMax {
		c.Words = append(c.Words, fmt.Sprintf(format, args...))
	}
}

// expectedFile is a file that the service should have, according to git.
type expectedFile struct {
	oid  string
	hash hash
}

// compare compares the sampled commits.
func (s *session) compare(ctx context.Context, workDir string) error {
	source, err := s.repo.objects(ctx)
	if err != nil {
		return err
	}
	// The comparison classifies all files again, from git alone.
	check := &checker{session: s, classifier: newClassifier(source), result: &s.result.Compared}
	if check.scratch, err = newScratch(ctx, s.repo, workDir); err != nil {
		return err
	}
	for _, index := range sampleIndexes(len(s.commits), s.options.Samples) {
		if err := check.commit(ctx, index); err != nil {
			return fmt.Errorf("compare commit %s: %w", s.commits[index], err)
		}
	}
	return source.Close()
}

type checker struct {
	session    *session
	classifier *classifier
	scratch    *scratch
	result     *Comparison
}

func (c *checker) commit(ctx context.Context, index int) error {
	s := c.session
	defer c.classifier.forget()
	expected, err := c.expected(ctx, index, s.history[index].beyond)
	if err != nil {
		return err
	}
	held, err := s.fetchTree(s.history[index].after)
	if err != nil {
		return err
	}
	c.result.Trees++
	c.tree(s.commits[index], expected, held)
	if err := c.contents(index, expected, held); err != nil {
		return err
	}
	return c.diff(ctx, index, expected)
}

// expected returns git's tree of a commit without the files that the service does not accept.
func (c *checker) expected(
	ctx context.Context, index int, beyond map[string]bool,
) (map[string]expectedFile, error) {
	out := map[string]expectedFile{}
	if index < 0 {
		return out, nil
	}
	entries, err := c.session.repo.tree(ctx, c.session.commits[index])
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		verdict, err := c.classifier.file(entry.path, entry.mode, entry.oid)
		if err != nil {
			return nil, err
		}
		if verdict.reason == accepted && !beyond[entry.path] {
			out[entry.path] = expectedFile{oid: entry.oid, hash: verdict.hash}
		}
	}
	return out, nil
}

func (c *checker) tree(commit string, expected map[string]expectedFile, held map[string]string) {
	for path, file := range expected {
		c.result.Files++
		if got, found := held[path]; !found {
			c.result.differs("%s: %q is missing", commit, path)
		} else if got != file.hash.String() {
			c.result.differs("%s: %q has hash %s, git's content has %s", commit, path, got, file.hash)
		}
	}
	for path := range held {
		if _, found := expected[path]; !found {
			c.result.differs("%s: %q should not be there", commit, path)
		}
	}
}

// fetchTree reads the whole tree of a changeset: path to blob hash.
func (s *session) fetchTree(changeset string) (map[string]string, error) {
	out := map[string]string{}
	base := "/api/v1/projects/" + s.project.ID + "/changesets/" + changeset + "/tree?limit=200"
	cursor := ""
	for {
		var page struct {
			Files []struct {
				Path string `json:"path"`
				Hash string `json:"blob_hash"`
			} `json:"files"`
			Next *string `json:"next_cursor"`
		}
		if err := s.get(base+cursor, &page); err != nil {
			return nil, err
		}
		for _, file := range page.Files {
			if _, twice := out[file.Path]; twice {
				return nil, fmt.Errorf("the tree of %s names %q twice", changeset, file.Path)
			}
			out[file.Path] = file.Hash
		}
		if page.Next == nil {
			return out, nil
		}
		if len(page.Files) == 0 || len(out) > filesMax {
			return nil, fmt.Errorf("the tree of %s does not end", changeset)
		}
		cursor = "&cursor=" + url.QueryEscape(*page.Next)
	}
}

// get reads a resource, and opens another session if the current one has expired.
func (s *session) get(path string, into any) error {
	err := s.api.Get(path, into)
	if failure, ok := err.(*client.Failure); ok && failure.Status == 401 {
		if err := s.api.Renew(); err != nil {
			return err
		}
		err = s.api.Get(path, into)
	}
	if err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}

// contents reads some files of a historical tree and compares their hashes.
func (c *checker) contents(
	index int, expected map[string]expectedFile, held map[string]string,
) error {
	s := c.session
	var paths []string
	for path := range expected {
		if _, found := held[path]; found {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	base := "/api/v1/projects/" + s.project.ID + "/changesets/" + s.history[index].after + "/files/"
	for _, at := range sampleIndexes(len(paths), contentsPerSample) {
		var data struct {
			File struct {
				Content string `json:"content"`
			} `json:"file"`
		}
		if err := s.get(base+client.EscapePath(paths[at]), &data); err != nil {
			return err
		}
		c.result.Contents++
		want := expected[paths[at]].hash
		if hash(sha256.Sum256([]byte(data.File.Content))) != want {
			c.result.differs("%s: the content of %q is not git's", s.commits[index], paths[at])
		}
	}
	return nil
}
