package api

import (
	"bytes"
	"sync"

	"pws/internal/id"
	"pws/work"
)

// filePage names a page of the files after a changeset, which never change.
type filePage struct {
	project, changeset id.ID
	// list has operation, path parameters and filters.
	list string
	// after is the cursor, first says that there was none.
	after string
	first bool
	limit int
}

// filesMade is a page of files as JSON. It is immutable.
type filesMade struct {
	// list is the files; last is the position of the next page if there are more.
	list []byte
	last string
	more bool
}

const (
	// filePagesMax limits the pages of files that are remembered, in bytes.
	filePagesMax = 8 << 20
	// filePageBytes is the approximate size of a remembered page beside its texts.
	filePageBytes = 512
	// filePageCheapBytes is the size of a page that is not remembered.
	filePageCheapBytes = 4 << 10
)

// pageTexts are memory to write pages in. Those of pageTextKept bytes at most are used again.
var pageTexts = sync.Pool{New: func() any { return new([]byte) }}

const pageTextKept = 256 << 10

// writePage returns what is appended, in memory of its size.
func writePage(write func(dst []byte) []byte) []byte {
	memory, _ := pageTexts.Get().(*[]byte)
	text := write((*memory)[:0])
	if cap(text) <= pageTextKept {
		*memory = text
	}
	made := bytes.Clone(text)
	pageTexts.Put(memory)
	return made
}

// pageOfFiles takes one page from an ordered walk over the files after a changeset, of a project
// that the caller may read. The page depends on nothing else, so it is remembered for all callers
// unless it is cheap. Its cursor is made for each of them.
func (c *Call) pageOfFiles(
	view *work.Project, at *work.Changeset, after []byte, limit int,
	walk func(from string, yield func(work.FileInfo) bool),
) (Reply, error) {
	filter, err := c.fileFilter()
	if err != nil {
		return Reply{}, err
	}
	page := filePage{
		project: view.ID, changeset: at.ID, list: c.binding(),
		after: string(after), first: after == nil, limit: limit,
	}
	made, err := c.Service.filePages.Get(c.Service.edition(), page, func() (filesMade, int, error) {
		made := makeFiles(after, limit, filter, walk)
		if len(made.list) < filePageCheapBytes && filter.glob == nil {
			return made, 0, nil
		}
		texts := len(made.list) + len(made.last) + len(page.list) + len(page.after)
		return made, texts + filePageBytes, nil
	})
	if err != nil {
		return Reply{}, err
	}
	data := filesPage{list: made.list}
	if made.more {
		data.next = c.next([]byte(made.last))
	}
	return Reply{Data: data}, nil
}

// makeFiles writes a page of files.
func makeFiles(
	after []byte, limit int, filter *fileFilter,
	walk func(from string, yield func(work.FileInfo) bool),
) (made filesMade) {
	made.list = writePage(func(list []byte) []byte {
		list = append(list, '[')
		made.last, made.more = walkFiles(after, limit, filter, walk, func(info work.FileInfo) {
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = appendFile(list, &info)
		})
		return append(list, ']')
	})
	return made
}

// filesPage writes FilesData as JSON.
type filesPage struct {
	list []byte
	next *string
}

// JSONBytes implements Sized.
func (p filesPage) JSONBytes() int {
	size := len(`{"files":,"next_cursor":null}`) + len(p.list)
	if p.next != nil {
		size += len(*p.next)
	}
	return size
}

// AppendJSON implements Appender.
func (p filesPage) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"files":`...)
	dst = append(dst, p.list...)
	dst = append(dst, `,"next_cursor":`...)
	return append(appendNullable(dst, p.next), '}')
}
