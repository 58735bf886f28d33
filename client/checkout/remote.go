package checkout

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"pws/client"
	"pws/work/path"
)

// Remote is a project on a server.
type Remote struct {
	Client  *client.Client
	Project string
}

// The limits of the service's requests that are used here.
const (
	treePage       = "200"
	batchFiles     = 100
	operationsMax  = 100
	requestMax     = 16 << 20
	contentRemoved = "CONTENT_REMOVED"

	changesetUnknown = "CHANGESET_NOT_FOUND"
)

// remoteFile is a file of the project.
type remoteFile struct {
	Path string `json:"path"`
	Hash string `json:"blob_hash"`
	Size int64  `json:"size_bytes"`
	Type string `json:"content_type"`
}

func (r Remote) path(rest string) string { return "/api/v1/projects/" + r.Project + rest }

// ErrNoHead is the error for an answer about a project that names no changeset. Every project has
// one.
var ErrNoHead = errors.New("the answer about the project names no changeset")

// head returns the newest changeset, and the caller's role, empty if it has none. Errors: ErrNoHead
// and those of the client.
func (r Remote) head(ctx context.Context) (head, role string, err error) {
	var data struct {
		Project struct {
			Head   string `json:"head_changeset_id"`
			Viewer *struct {
				Role string `json:"role"`
			} `json:"viewer"`
		} `json:"project"`
	}
	err = r.Client.Call(ctx, http.MethodGet, r.path(""), nil, &data)
	if data.Project.Viewer != nil {
		role = data.Project.Viewer.Role
	}
	if err == nil && data.Project.Head == "" {
		err = ErrNoHead
	}
	return data.Project.Head, role, err
}

// knows reports whether the project has a changeset. The listing of one file is its cheapest read.
func (r Remote) knows(ctx context.Context, changeset string) (bool, error) {
	at := r.path("/changesets/" + changeset + "/tree?limit=1")
	err := r.Client.Call(ctx, http.MethodGet, at, nil, nil)
	if client.IsCode(err, changesetUnknown) {
		return false, nil
	}
	return err == nil, err
}

var errNoList = errors.New("the server sent no list of files")

// tree returns the files of a changeset whose paths begin with a prefix. An answer that is not
// complete is an error: a file that is missing in it would be taken for one that was deleted.
func (r Remote) tree(
	ctx context.Context, changeset, prefix string,
) (map[string]remoteFile, error) {
	all := map[string]remoteFile{}
	query := url.Values{"limit": {treePage}}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	cursors := client.Cursors{}
	for {
		var page struct {
			Files []remoteFile `json:"files"`
			Next  *string      `json:"next_cursor"`
		}
		at := r.path("/changesets/" + changeset + "/tree?" + query.Encode())
		if err := r.Client.Call(ctx, http.MethodGet, at, nil, &page); err != nil {
			return nil, err
		}
		if page.Files == nil {
			return nil, errNoList
		}
		for _, one := range page.Files {
			if path.Problem(one.Path) != "" || !strings.HasPrefix(one.Path, prefix) {
				return nil, fmt.Errorf("the server sent the path %q", one.Path)
			}
			all[one.Path] = one
		}
		if page.Next == nil {
			return all, nil
		}
		if err := cursors.Next(query, *page.Next); err != nil {
			return nil, fmt.Errorf("the files of %s: %w", changeset, err)
		}
	}
}

// file returns a file of a changeset, without a path if there is none. It is the first of those
// whose paths begin with its own.
func (r Remote) file(ctx context.Context, changeset, name string) (remoteFile, error) {
	var page struct {
		Files []remoteFile `json:"files"`
	}
	query := url.Values{"limit": {"1"}, "prefix": {name}}
	at := r.path("/changesets/" + changeset + "/tree?" + query.Encode())
	err := r.Client.Call(ctx, http.MethodGet, at, nil, &page)
	switch {
	case err == nil && page.Files == nil:
		err = errNoList
	case err == nil && len(page.Files) > 0 && page.Files[0].Path == name:
		return page.Files[0], nil
	}
	return remoteFile{}, err
}

// contents calls a function with the content of each file of a changeset, in any order. Contents
// that were removed from the server are returned instead.
func (r Remote) contents(
	ctx context.Context, changeset string, files []remoteFile,
	each func(one remoteFile, content []byte) error,
) (removed []string, err error) {
	known := make(map[string]remoteFile, len(files))
	var wanted []string
	for _, one := range files {
		known[one.Path] = one
		wanted = append(wanted, one.Path)
	}
	size := batchFiles
	for len(wanted) > 0 {
		some := wanted[:min(size, len(wanted))]
		got, err := r.batch(ctx, changeset, some)
		gone := removedOf(err, some)
		switch {
		case len(gone) > 0:
			// The others are asked for again.
			removed = append(removed, gone...)
			wanted = slices.DeleteFunc(wanted, func(one string) bool {
				return slices.Contains(gone, one)
			})
			size = batchFiles
			continue
		case client.IsCode(err, contentRemoved):
			// One of them has no content, and the program of the server is too old to say which: ask
			// for each alone, then for many again.
			size = 1
			continue
		case err != nil:
			return nil, err
		}
		if err := got.check(some); err != nil {
			return nil, err
		}
		for _, one := range got.Files {
			if hashOf([]byte(one.Content)) != known[one.Path].Hash || known[one.Path].Hash == "" {
				return nil, fmt.Errorf("the server sent another content of %s", one.Path)
			}
			if err := each(known[one.Path], []byte(one.Content)); err != nil {
				return nil, err
			}
		}
		wanted = append(got.Left, wanted[len(some):]...)
	}
	return removed, nil
}

type batchFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// batchPage is the answer to the request for some files.
type batchPage struct {
	Files   []batchFile `json:"files"`
	Missing []string    `json:"missing"`
	// Left did not fit into the answer.
	Left []string `json:"truncated"`
}

// check returns an error unless the answer has each of the paths that were asked for once, and one
// of the files at least. A file without its content would be taken for one that was deleted.
func (b *batchPage) check(asked []string) error {
	if len(b.Left) == len(asked) {
		return fmt.Errorf("the server sent none of %d files", len(asked))
	}
	open := make(map[string]bool, len(asked))
	for _, one := range asked {
		open[one] = true
	}
	all := slices.Clone(b.Left)
	for _, one := range b.Files {
		all = append(all, one.Path)
	}
	for _, one := range all {
		if !open[one] {
			return fmt.Errorf("the server sent %q, which was not asked for", one)
		}
		delete(open, one)
	}
	for _, one := range asked {
		if open[one] {
			return fmt.Errorf("the answer of the server lacks %s", one)
		}
	}
	return nil
}

// removedOf returns those of the paths that have no content any more, by the refusal of a batch.
// There are none where an older program of the server has not named them.
func removedOf(err error, asked []string) (gone []string) {
	var failure *client.Failure
	if !errors.As(err, &failure) || failure.Code != contentRemoved {
		return nil
	}
	if len(asked) == 1 {
		return slices.Clone(asked)
	}
	failure.Detail("paths", &gone)
	return slices.DeleteFunc(gone, func(one string) bool { return !slices.Contains(asked, one) })
}

// batch reads files in one request.
func (r Remote) batch(
	ctx context.Context, changeset string, paths []string,
) (page batchPage, err error) {
	body := struct {
		Paths     []string `json:"paths"`
		Changeset string   `json:"changeset_id"`
	}{paths, changeset}
	text, err := json.Marshal(body)
	if err != nil {
		return page, err
	}
	err = r.Client.DoInto(ctx, &client.Request{
		Method: http.MethodPost, Path: r.path("/files/read-batch"), Body: text,
		Header: http.Header{"Content-Type": {"application/json"}}, Harmless: true,
	}, &page)
	if err == nil && len(page.Missing) > 0 {
		err = fmt.Errorf("the server has no file %s", strings.Join(page.Missing, ", "))
	}
	return page, err
}

// content returns one content of a changeset; nil if it was removed from the server.
func (r Remote) content(
	ctx context.Context, changeset, name, hash string,
) (text []byte, err error) {
	_, err = r.contents(ctx, changeset, []remoteFile{{Path: name, Hash: hash}},
		func(_ remoteFile, content []byte) error {
			text = content
			return nil
		})
	return text, err
}

// publish sends a changeset and returns its ID.
func (r Remote) publish(ctx context.Context, key string, body []byte) (string, error) {
	var done struct {
		Changeset struct {
			ID string `json:"id"`
		} `json:"changeset"`
	}
	err := r.Client.DoInto(ctx, &client.Request{
		Method: http.MethodPost, Path: r.path("/changesets"), Body: body, Key: key,
		Header: http.Header{"Content-Type": {"application/json"}},
	}, &done)
	if err != nil {
		return "", err
	}
	if done.Changeset.ID == "" {
		return "", errors.New("the answer names no changeset")
	}
	return done.Changeset.ID, nil
}

// encoded is a path as a part of a request target.
func encoded(name string) string { return path.Encode(name) }
