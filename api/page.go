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

// pageParams returns the query parameters of a list.
func pageParams(limitDefault int) []Param {
	return []Param{
		cursorParam,
		limitParam("entries", limitDefault, limitMax),
	}
}

// cursorParam describes the position of a page. Its errors have their own code.
var cursorParam = Param{
	Name: "cursor", Raw: true,
	Doc: "next_cursor of the previous page; absent for the first page.",
}

// limitParam describes the maximum number of items on a page. Its errors have their own code.
func limitParam(what string, otherwise, most int) Param {
	return Param{
		Name: "limit", Integer: true, Default: otherwise,
		Check: fmt.Sprintf("min=1,max=%d", most),
		Doc:   fmt.Sprintf("Maximum number of %s: 1 to %d, %d if absent.", what, most, otherwise),
	}
}

// limit returns the size of the page: PAGINATION_LIMIT_INVALID.
func (c *Call) limit(otherwise int) (int, error) { return c.limitTo(otherwise, limitMax) }

// limitTo is limit for lists with their own maximum.
func (c *Call) limitTo(otherwise, most int) (int, error) {
	text, sent := c.Query["limit"]
	if !sent {
		return otherwise, nil
	}
	limit, err := strconv.Atoi(text)
	if len(text) > 1 && text[0] == '0' {
		return 0, fault.New(fault.PaginationLimitInvalid, "The limit has leading zeros.").
			With("minimum", 1).With("maximum", most)
	}
	if err != nil || limit < 1 || limit > most || text != strconv.Itoa(limit) {
		return 0, fault.New(fault.PaginationLimitInvalid, "The limit is out of range.").
			With("minimum", 1).With("maximum", most)
	}
	return limit, nil
}

// binding returns the text that binds a cursor to this operation, its path parameters and its
// filters.
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

// after returns the position in the cursor, nil for the first page: PAGINATION_CURSOR_INVALID.
func (c *Call) after() ([]byte, error) {
	text, sent := c.Query["cursor"]
	if !sent {
		return nil, nil
	}
	return c.Service.cursors.Decode(c.binding(), text)
}

// next returns the cursor for the page after a position.
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

// listed reads the parameters of a list of records in the project in the path. It returns the
// view, the ID of the last record of the previous page, which is zero for the first page, and
// the size of the page.
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

// lastID returns the ID in a cursor of a list of records, zero if after is nil, which is the
// first page. Errors: PAGINATION_CURSOR_INVALID.
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
