package api

import (
	"pws/index"
	"pws/work"
)

const (
	// namesReadMax is the maximum number of names that one request compares, namesBatch how many it
	// reads at a time.
	namesReadMax = 20_000
	namesBatch   = 500
)

func listProjects(c *Call, _ *None) (Reply, error) {
	after, limit, err := c.page(50)
	if err != nil {
		return Reply{}, err
	}
	last, err := projectPosition(after)
	if err != nil {
		return Reply{}, err
	}
	list := c.publicProjects
	if c.Query["q"] != "" {
		list = c.namedProjects
	}
	views, more, err := list(&last, limit)
	if err != nil {
		return Reply{}, err
	}
	data := ProjectsData{Projects: make([]Project, len(views))}
	for i, view := range views {
		data.Projects[i] = c.project(view)
	}
	if more {
		data.NextCursor = c.next(appendPosition(nil, last))
	}
	return Reply{Data: data}, nil
}

// publicProjects returns up to limit PUBLIC projects after a place, which it moves, and reports
// whether there are more.
func (c *Call) publicProjects(
	last *index.Position, limit int,
) (views []*work.Project, more bool, err error) {
	views, err = c.Service.Engine.PublicProjects(*last, limit+1)
	if more = len(views) > limit; more {
		views = views[:limit]
		newest := views[limit-1]
		*last = index.Position{Millis: newest.CreatedAt, ID: newest.ID}
	}
	return views, more, err
}

// namedProjects is publicProjects for those whose name contains the text that was asked for. It
// ends after namesReadMax names; then there may be more.
func (c *Call) namedProjects(
	last *index.Position, limit int,
) (views []*work.Project, more bool, err error) {
	engine, text := c.Service.Engine, index.FoldName(c.Query["q"])
	for looked := 0; looked < namesReadMax; looked += namesBatch {
		of := engine.Indexes(index.ForListing | index.ForMemberships)
		places := of.Listing.After(*last, namesBatch)
		for _, place := range places {
			if !of.Memberships.Named(place.ID, text) {
				*last = place
				continue
			}
			if len(views) == limit {
				return views, true, nil
			}
			view, err := Intact(engine.Summary(place.ID))
			if err != nil {
				return nil, false, err
			}
			*last = place
			filter := index.MembershipFilter{Visibility: work.Public, Name: text}
			if view != nil && filter.Matches(view, work.NoRole) {
				views = append(views, view)
			}
		}
		if len(places) < namesBatch {
			return views, false, nil
		}
	}
	return views, true, nil
}
