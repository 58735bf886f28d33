package web

import (
	"strconv"

	"pws/api"
)

// undecidedShown is the number of waiting contributions up to which the head of a page counts.
const undecidedShown = 9

func (w *Web) reviewPages() []*api.Operation {
	return []*api.Operation{
		w.page("review", at("review"), query("contribution.undecided", "cursor"),
			(*visit).review),
	}
}

// review lists what waits for a decision of the visitor, over all projects.
func (v *visit) review() (view, error) {
	data, err := read[api.UndecidedData](v, "contribution.undecided", nil, "limit", "50",
		"cursor", v.Query["cursor"])
	return view{
		Template: "review", Title: "Review", Tab: "review",
		Data: inHead[[]api.UndecidedContribution]{
			List: data.Contributions, Next: next(data.NextCursor),
		},
	}, err
}

// waiting is the number of contributions that wait for a decision of the caller, for the head of a
// page; empty if there are none.
func waiting(c *api.Call) string {
	if c.Session == nil {
		return ""
	}
	// A page is shown without the number if that cannot be read.
	count, err := c.UndecidedCount(undecidedShown + 1)
	switch {
	case err != nil || count == 0:
		return ""
	case count > undecidedShown:
		return strconv.Itoa(undecidedShown) + "+"
	}
	return strconv.Itoa(count)
}
