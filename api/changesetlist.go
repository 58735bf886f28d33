package api

import (
	"encoding/binary"

	"pws/api/jsonschema"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
	"pws/work/path"
)

// historyParam selects the changesets of one path.
var historyParam = Param{
	Name: "path", Check: "chars=0..512",
	Doc: "Only changesets with operations on this path. Before a RENAME to it, those on the path " +
		"before.",
}

func listChangesets(c *Call, _ *None) (Reply, error) {
	after, limit, err := c.page(100)
	if err != nil {
		return Reply{}, err
	}
	of, err := c.historyPath()
	if err != nil {
		return Reply{}, err
	}
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	if of != "" {
		return c.pathHistory(view, of, after, limit)
	}
	sequence := uint32(view.ChangesetsCount())
	if after != nil {
		if len(after) != 4 {
			return Reply{}, errCursorInvalid()
		}
		sequence = min(sequence, binary.BigEndian.Uint32(after)-1)
	}
	return c.pageOfChangesets(view, sequence, limit)
}

// historyPage names changesets of a project, which never change, from a sequence downwards.
type historyPage struct {
	project id.ID
	newest  uint32
	limit   int
	// source says that the caller may read the source of a fork.
	source bool
}

const (
	// historyPagesMax limits the pages of changesets that are remembered, in bytes.
	historyPagesMax = 8 << 20
	// historyPageBytes is the approximate size of a remembered page beside its text.
	historyPageBytes = 256
)

// pageOfChangesets returns the changesets from a sequence downwards, of a project that the caller
// may read. The page depends on nothing else but the source of a fork, so it is remembered for all
// callers. Its cursor is made for each of them.
func (c *Call) pageOfChangesets(view *work.Project, newest uint32, limit int) (Reply, error) {
	name := historyPage{
		project: view.ID, newest: newest, limit: limit, source: c.forkedFrom(view) != nil,
	}
	made, err := c.Service.historyPages.Get(c.Service.edition(), name, func() ([]byte, int, error) {
		page := changesetsPage{call: c, view: view}
		for sequence := newest; sequence > 0 && len(page.sequences) < limit; sequence-- {
			page.add(sequence)
		}
		made := writePage(page.appendList)
		return made, len(made) + historyPageBytes, c.textFault
	})
	page := changesetsPage{made: made, size: len(made)}
	if int64(newest) > int64(limit) {
		page.next = c.next(binary.BigEndian.AppendUint32(nil, newest-uint32(limit)+1))
	}
	return Reply{Data: &page}, err
}

// historyPath reads the parameter path, empty if it is absent: INVALID_PATH.
func (c *Call) historyPath() (string, error) {
	given, sent := c.Query[historyParam.Name]
	if !sent {
		return "", nil
	}
	if problem := path.Problem(given); problem != "" {
		return "", fault.New(fault.InvalidPath, "The path is not canonical.").
			With("path", given).With("problem", problem)
	}
	return given, nil
}

// historyPlaceBytes is the size of a place in a cursor before its path.
const historyPlaceBytes = 8

// pathHistory takes a page of the changesets of a path: PAGINATION_CURSOR_INVALID.
func (c *Call) pathHistory(
	view *work.Project, of string, after []byte, limit int,
) (Reply, error) {
	from := work.HistoryPlace{Path: of}
	if after != nil {
		if len(after) < historyPlaceBytes {
			return Reply{}, errCursorInvalid()
		}
		from.Last = binary.BigEndian.Uint32(after)
		from.Operations = int(binary.BigEndian.Uint32(after[4:]))
		from.Path = string(after[historyPlaceBytes:])
	}
	page := changesetsPage{call: c, view: view}
	last := from
	view.PathHistory(from, func(step work.HistoryStep) bool {
		if len(page.sequences) == limit {
			place := binary.BigEndian.AppendUint32(nil, last.Last)
			place = binary.BigEndian.AppendUint32(place, uint32(last.Operations))
			page.next = c.next(append(place, last.Path...))
			return false
		}
		page.add(step.Changeset.Sequence)
		page.files = append(page.files, FileThen{Path: step.Path, Gone: step.Gone})
		last = step.Behind
		return true
	})
	return c.sound(Reply{Data: &page})
}

// changesetsPage writes ChangesetsData as JSON.
type changesetsPage struct {
	// made is the list if it was written before.
	made      []byte
	call      *Call
	view      *work.Project
	sequences []uint32
	// files is the file at each of them in the history of a path.
	files []FileThen
	// messages are those that are stored away, by the place of their changeset; nil if none is.
	messages map[int]string
	next     *string
	// size is the size of the changesets so far as JSON.
	size int
	// read is memory for one of them.
	read work.Changeset
}

// changesetHeadBytes is the size of a changeset as JSON, without its operations, its texts and its
// origin: six IDs, numbers and a time.
const changesetHeadBytes = 640

// add adds a changeset.
func (p *changesetsPage) add(sequence uint32) {
	p.view.ReadChangeset(sequence, &p.read, false)
	message := p.read.Message
	if p.read.Away != nil {
		if p.messages == nil {
			p.messages = map[int]string{}
		}
		message = p.call.recordText("", p.read.Away)
		p.messages[len(p.sequences)] = message
	}
	p.size += changesetHeadBytes + jsonschema.StringBytes(message)
	if origin := p.view.ChangesetOrigin(&p.read); origin != nil {
		p.size += recordBytes
	}
	p.sequences = append(p.sequences, sequence)
}

// JSONBytes implements Sized.
func (p *changesetsPage) JSONBytes() int { return recordBytes + p.size }

// AppendJSON implements Appender.
func (p *changesetsPage) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"changesets":`...)
	if p.made != nil {
		dst = append(dst, p.made...)
	} else {
		dst = p.appendList(dst)
	}
	dst = append(dst, `,"next_cursor":`...)
	return append(appendNullable(dst, p.next), '}')
}

func (p *changesetsPage) appendList(dst []byte) []byte {
	dst = append(dst, '[')
	heads := changesetHeads{call: p.call, of: p.view}
	for i, sequence := range p.sequences {
		if i > 0 {
			dst = append(dst, ',')
		}
		p.view.ReadChangeset(sequence, &p.read, false)
		if p.read.Away != nil {
			p.read.Message, p.read.Away = p.messages[i], nil
		}
		dst = heads.append(dst, &p.read)
		dst = appendChangesetEnd(dst, p.view, &p.read)
	}
	return append(dst, ']')
}
