package api

import (
	"encoding/binary"

	"pws/internal/fault"
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
		data, err := c.pathHistory(view, of, after, limit)
		if err != nil {
			return Reply{}, err
		}
		return c.sound(Reply{Data: data})
	}
	sequence := uint32(view.ChangesetsCount())
	if after != nil {
		if len(after) != 4 {
			return Reply{}, errCursorInvalid()
		}
		sequence = min(sequence, binary.BigEndian.Uint32(after)-1)
	}
	data := ChangesetsData{Changesets: make([]Changeset, 0, min(limit, int(sequence)))}
	var from work.Changeset
	for ; sequence > 0; sequence-- {
		if len(data.Changesets) == limit {
			data.NextCursor = c.next(binary.BigEndian.AppendUint32(nil, sequence+1))
			break
		}
		view.ReadChangeset(sequence, &from, false)
		data.Changesets = append(data.Changesets, c.changeset(view, &from, false))
	}
	return c.sound(Reply{Data: data})
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
) (data ChangesetsData, err error) {
	from := work.HistoryPlace{Path: of}
	if after != nil {
		if len(after) < historyPlaceBytes {
			return data, errCursorInvalid()
		}
		from.Last = binary.BigEndian.Uint32(after)
		from.Operations = int(binary.BigEndian.Uint32(after[4:]))
		from.Path = string(after[historyPlaceBytes:])
	}
	data.Changesets = []Changeset{}
	last := from
	view.PathHistory(from, func(changeset *work.Changeset, behind work.HistoryPlace) bool {
		if len(data.Changesets) == limit {
			place := binary.BigEndian.AppendUint32(nil, last.Last)
			place = binary.BigEndian.AppendUint32(place, uint32(last.Operations))
			data.NextCursor = c.next(append(place, last.Path...))
			return false
		}
		data.Changesets = append(data.Changesets, c.changeset(view, changeset, false))
		last = behind
		return true
	})
	return data, nil
}
