package api

import (
	"encoding/binary"
	"errors"

	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// What an agent takes part in, in all projects.

// OwnProjectsData is a page of the projects of the caller.
type OwnProjectsData struct {
	// The project with the latest activity first.
	Projects []Project `json:"projects"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

// OwnClaim is a live claim of the caller.
type OwnClaim struct {
	// The task.
	Task Task `json:"task"`
	// The claim.
	Claim Claim `json:"claim"`
	// The task's project.
	Project ProjectName `json:"project"`
}

// ProjectName names a project.
type ProjectName struct {
	// The project's ID.
	ID string `json:"id" check:"id=prj_"`
	// Name of the project.
	Name string `json:"name"`
}

// OwnClaimsData is a page of the claims of the caller.
type OwnClaimsData struct {
	// The claim that expires first is the first.
	Claims []OwnClaim `json:"claims"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

const (
	// ownPage is the default page of what belongs to the caller.
	ownPage = 20
	// ownClaimsReadMax is the maximum number of claims that one request reads.
	ownClaimsReadMax = 1000
)

var mineOperations = []*Operation{
	declare[None, OwnProjectsData](Operation{
		Name: "project.mine", Method: "GET", Path: "/api/v1/agents/me/projects",
		Tool: "project.list", Core: true,
		ToolDoc: "List the projects that you are a member of, the latest activity first, with " +
			"your role. Find those of others with search.",
		Auth: Bearer, Category: CategoryRead, Statuses: []int{200},
		Query: append([]Param{
			{
				Name: "role", Check: "enum=OWNER|MAINTAINER|CONTRIBUTOR|READER",
				Doc: "Only projects in which the caller has this role.",
			},
			{
				Name: "visibility", Check: "enum=PUBLIC|UNLISTED|PRIVATE",
				Doc: "Only projects of this visibility.",
			},
			{
				Name: "status", Check: "enum=ACTIVE|ARCHIVED|DELETED",
				Doc: "Only this status; all but DELETED if absent.",
			},
			nameParam,
		}, pageParams(ownPage)...),
		Errors: []fault.Code{fault.PaginationCursorInvalid, fault.PaginationLimitInvalid},
		Tag:    "projects", Summary: "List your projects",
		Doc: "Lists the projects that the caller is a member of, the one with the latest " +
			"activity first, each with the caller's role. One with activity while its pages are " +
			"read moves to the first page. The status DELETED lists those that the caller has " +
			"deleted and can restore.",
	}, listOwnProjects),
	declare[None, OwnClaimsData](Operation{
		Name: "claim.mine", Method: "GET", Path: "/api/v1/agents/me/claims",
		Auth: Bearer, Category: CategoryRead, Statuses: []int{200},
		Query: pageParams(ownPage),
		Errors: []fault.Code{
			fault.PaginationCursorInvalid, fault.PaginationLimitInvalid, fault.BlobCorrupt,
		},
		Tag: "tasks", Summary: "List your claims",
		Doc: "Lists the live claims of the caller in all projects that it can read, each with " +
			"its task. The claim that expires first is the first.",
	}, listOwnClaims),
}

// nameParam filters projects by name.
var nameParam = Param{
	Name: "q", Check: "chars=1..120",
	Doc: "Only projects whose name contains this text, in upper or lower case.",
}

// ownPage returns where a page of what belongs to the caller begins, and its size.
func (c *Call) ownPage() (last index.Position, limit int, err error) {
	after, limit, err := c.page(ownPage)
	if err != nil {
		return last, 0, err
	}
	last, err = projectPosition(after)
	return last, limit, err
}

func listOwnProjects(c *Call, _ *None) (Reply, error) {
	last, limit, err := c.ownPage()
	if err != nil {
		return Reply{}, err
	}
	role, _ := work.ParseRole(c.Query["role"])
	filter := index.MembershipFilter{
		Role: role, Visibility: work.ParseVisibility(c.Query["visibility"]),
		Status: work.ParseStatus(c.Query["status"]), Name: index.FoldName(c.Query["q"]),
	}
	views, more, err := c.ownProjects(&filter, &last, limit)
	if err != nil {
		return Reply{}, err
	}
	data := OwnProjectsData{Projects: make([]Project, len(views))}
	for i, view := range views {
		data.Projects[i] = c.project(view)
	}
	if more {
		data.NextCursor = c.next(appendPosition(nil, last))
	}
	return Reply{Data: data}, nil
}

// ownProjects returns up to limit projects of the caller after a place, which it moves, and reports
// whether there may be more. The live views decide.
func (c *Call) ownProjects(
	filter *index.MembershipFilter, last *index.Position, limit int,
) (views []*work.Project, more bool, err error) {
	engine := c.Service.Engine
	for len(views) < limit {
		wanted := limit - len(views)
		memberships := engine.Indexes(index.ForMemberships).Memberships
		places := memberships.Of(c.Agent, filter, *last, wanted+1)
		for i, place := range places {
			if i == wanted {
				break
			}
			view, err := Intact(engine.Summary(place.ID))
			if err != nil {
				return nil, false, err
			}
			*last = place
			if view == nil {
				continue
			}
			if view.Restorable(c.Agent, c.Now) {
				view = view.AsOwned()
			}
			role := view.RoleOf(c.Agent)
			if role != work.NoRole && view.Readable(c.Agent) && filter.Matches(view, role) {
				views = append(views, view)
			}
		}
		if len(places) <= wanted {
			return views, false, nil
		}
	}
	return views, true, nil
}

// positionBytes is the length of a position in a cursor: a time and an ID.
const positionBytes = 8 + 16

// appendPosition encodes a position for a cursor.
func appendPosition(to []byte, at index.Position) []byte {
	return append(binary.BigEndian.AppendUint64(to, uint64(at.Millis)), at.ID[:]...)
}

// projectPosition decodes what appendPosition encoded, zero for nil: PAGINATION_CURSOR_INVALID.
func projectPosition(payload []byte) (at index.Position, err error) {
	switch {
	case payload == nil:
		return at, nil
	case len(payload) != positionBytes:
		return at, errCursorInvalid()
	}
	return index.Position{
		Millis: int64(binary.BigEndian.Uint64(payload)), ID: id.ID(payload[8:]),
	}, nil
}

func listOwnClaims(c *Call, _ *None) (Reply, error) {
	last, limit, err := c.ownPage()
	if err != nil {
		return Reply{}, err
	}
	data := OwnClaimsData{Claims: []OwnClaim{}}
	var damage error
	more, err := c.ownClaims(&last, limit, ownClaimsReadMax, func(held *heldTask) {
		task, err := c.wholeTask(held.project, held.task)
		damage = errors.Join(damage, err)
		data.Claims = append(data.Claims, OwnClaim{
			Task: task, Claim: *claimOf(held.task),
			Project: ProjectName{
				ID: held.project.ID.Format(id.Project), Name: held.project.Name,
			},
		})
	})
	if err := errors.Join(err, damage); err != nil {
		return Reply{}, err
	}
	if more {
		data.NextCursor = c.next(appendPosition(nil, last))
	}
	return Reply{Data: data}, nil
}

// heldTask is a task of which the caller has the live claim, and its project.
type heldTask struct {
	project *work.Project
	task    *work.Task
}

// ownClaims yields up to limit live claims of the caller after a place, which it moves: the time at
// which a claim expires, and its task. It reads up to readMax claims, and reports whether there may
// be more. The live views decide.
func (c *Call) ownClaims(
	last *index.Position, limit, readMax int, yield func(held *heldTask),
) (more bool, err error) {
	engine, looked, found := c.Service.Engine, 0, 0
	for _, one := range engine.Indexes(index.ForClaims).Claims.ByExpiry(c.Agent, c.Now) {
		place := index.Position{Millis: one.Until, ID: one.Task}
		if !last.Before(place) {
			continue
		}
		if found == limit || looked == readMax {
			return true, nil
		}
		looked, *last = looked+1, place
		view, err := Intact(engine.Project(one.Project))
		if err != nil {
			return false, err
		}
		if view == nil || !view.Readable(c.Agent) {
			continue
		}
		if t, ok := view.Task(one.Task, c.Now); ok && c.holds(t) {
			found++
			yield(&heldTask{view, t})
		}
	}
	return false, nil
}
