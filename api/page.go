package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// limitMax is the largest page.
const limitMax = 200

// pageParams are the query parameters of a list.
func pageParams(limitDefault int) []Param {
	return []Param{
		{Name: "cursor", Doc: "next_cursor of the previous page; absent for the first page."},
		limitParam("entries", limitDefault, limitMax),
	}
}

// limitParam is how many of something a page has. Its faults have a code of their own.
func limitParam(what string, otherwise, most int) Param {
	return Param{
		Name: "limit", Integer: true, Default: otherwise,
		Check: fmt.Sprintf("min=1,max=%d", most),
		Doc:   fmt.Sprintf("Maximum number of %s: 1 to %d, %d if absent.", what, most, otherwise),
	}
}

// limit is the size of the page: PAGINATION_LIMIT_INVALID.
func (c *Call) limit(otherwise int) (int, error) { return c.limitTo(otherwise, limitMax) }

// limitTo is limit for lists with a bound of their own.
func (c *Call) limitTo(otherwise, most int) (int, error) {
	text, sent := c.Query["limit"]
	if !sent {
		return otherwise, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > most || text != strconv.Itoa(limit) {
		return 0, fault.New(fault.PaginationLimitInvalid, "The limit is out of range.").
			With("minimum", 1).With("maximum", most)
	}
	return limit, nil
}

// binding is what a cursor is good for: this operation on these things with these filters.
func (c *Call) binding() string {
	parts := append([]string{c.Operation.Name}, c.Params...)
	filters := make([]string, 0, len(c.Query))
	for name, value := range c.Query {
		if name != "cursor" && name != "limit" {
			filters = append(filters, name+"="+value)
		}
	}
	slices.Sort(filters)
	return strings.Join(append(parts, filters...), "\x00")
}

// after is the position that the cursor holds, nil for the first page: PAGINATION_CURSOR_INVALID.
func (c *Call) after() ([]byte, error) {
	text, sent := c.Query["cursor"]
	if !sent {
		return nil, nil
	}
	return c.Service.cursors.Decode(c.binding(), text)
}

// next makes the cursor behind a position.
func (c *Call) next(position []byte) *string {
	text := c.Service.cursors.Encode(c.binding(), position)
	return &text
}

// page reads both parameters of a list.
func (c *Call) page(limitDefault int) (after []byte, limit int, err error) {
	if limit, err = c.limit(limitDefault); err != nil {
		return nil, 0, err
	}
	after, err = c.after()
	return after, limit, err
}

// listed reads what a list of things of the project in the path is asked for: the view, the ID of
// the last thing of the page before, zero for the first page, and the size of the page.
func (c *Call) listed(limitDefault int) (view *work.Project, last id.ID, limit int, err error) {
	after, limit, err := c.page(limitDefault)
	if err != nil {
		return nil, last, 0, err
	}
	if view, err = c.readable(); err != nil {
		return nil, last, 0, err
	}
	if last, err = lastID(after); err != nil {
		return nil, last, 0, err
	}
	return view, last, limit, nil
}

// lastID is the ID that a cursor of a list of records holds, zero where after is nil, on the first
// page. Errors: PAGINATION_CURSOR_INVALID.
func lastID(after []byte) (last id.ID, err error) {
	switch {
	case after == nil:
		return last, nil
	case len(after) != len(last):
		return last, errCursorInvalid()
	}
	return id.ID(after), nil
}

func errCursorInvalid() error {
	return fault.New(fault.PaginationCursorInvalid, "The cursor does not belong to this list.")
}
