package client

import (
	"errors"
	"net/url"
)

// Cursors are those of the pages of a list that were asked for.
type Cursors map[string]bool

// Next puts the cursor of the next page into a query. It returns an error for one that was there
// before, because the list would have no end.
func (c Cursors) Next(query url.Values, cursor string) error {
	if c[cursor] {
		return errors.New("the list does not go on: a cursor comes again")
	}
	c[cursor] = true
	query.Set("cursor", cursor)
	return nil
}
