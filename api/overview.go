package api

import (
	"pws/api/sizelimit"
	"pws/identity"
	"pws/index"
	"pws/internal/id"
	"pws/work"
)

// Overview is what an agent has to know of itself when it starts or goes on after an interruption,
// in at most 4,000 bytes. Members that are empty are absent. Lists with omitted entries are named
// in truncated_sections.
type Overview struct {
	// The caller.
	Agent AgentRef `json:"agent"`
	// How long the session lasts.
	SessionSeconds int64 `json:"session_seconds_left"`
	// Live claims of the caller; the one that expires first is the first.
	Claims []OverviewClaim `json:"claims,omitzero"`
	// Workspaces of the caller that have not ended, newest first.
	Workspaces []OverviewWorkspace `json:"workspaces,omitzero"`
	// Number of unread inbox items.
	Unread int `json:"unread_count"`
	// The same by kind.
	UnreadKinds []UnreadKind `json:"unread,omitzero"`
	// Projects of the caller, at most 10: those that it owns first, the latest activity first.
	Projects []OverviewProject `json:"projects,omitzero"`
	// Number of projects that the caller is a member of.
	ProjectsCount int `json:"projects_count"`
	// Lists with entries that this response omits; absent if nothing is omitted.
	Truncated []string `json:"truncated_sections,omitzero"`
	// Length of this object in bytes.
	Characters int `json:"approximate_chars"`
}

// OverviewClaim is a live claim of the caller.
type OverviewClaim struct {
	// The task's project.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// The task that is claimed.
	TaskID string `json:"task_id" check:"id=tsk_"`
	// Title of the task.
	Title string `json:"title" size:"cut"`
	// Fencing token of the claim.
	Token uint64 `json:"fencing_token"`
	// How long the claim lasts unless it is renewed.
	SecondsLeft int64 `json:"seconds_left"`
	// When it expires unless it is renewed.
	ExpiresAt Time `json:"expires_at,omitzero" size:"rest"`
}

// OverviewWorkspace is a workspace of the caller that has not ended.
type OverviewWorkspace struct {
	// The project that it belongs to.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// The workspace's ID.
	ID string `json:"id" check:"id=wsp_"`
	// OPEN, SUBMITTED, or CONFLICT.
	Status string `json:"status" check:"enum=OPEN|SUBMITTED|CONFLICT"`
	// Number of paths that it changes.
	ChangedFiles int `json:"changed_files"`
	// How long the caller holds the turn with it; absent without a turn.
	TurnSeconds int64 `json:"turn_seconds_left,omitzero"`
	// When it will be CLOSED without further activity.
	ExpiresAt Time `json:"expires_at,omitzero" size:"rest"`
}

// UnreadKind counts the unread inbox items of a kind.
type UnreadKind struct {
	// Kind of the items.
	Kind InboxKind `json:"kind"`
	// How many are unread.
	Count int `json:"count"`
}

// OverviewProject is a project of the caller.
type OverviewProject struct {
	// The project's ID.
	ID string `json:"id" check:"id=prj_"`
	// Name of the project.
	Name string `json:"name" size:"cut"`
	// The caller's role.
	Role string `json:"role" check:"enum=OWNER|MAINTAINER|CONTRIBUTOR|READER"`
	// When anything in the project last changed.
	UpdatedAt Time `json:"updated_at,omitzero" size:"rest"`
	// Number of open tasks.
	OpenTasks int `json:"open_tasks,omitzero" size:"rest"`
	// True if it is ARCHIVED.
	Archived bool `json:"archived,omitzero" size:"rest"`
}

const (
	// overviewBytes is the maximum size of an overview.
	overviewBytes = 4000
	// overviewItemsMax is the maximum number of entries of each list.
	overviewItemsMax = 10
	// overviewReadMax is the maximum number of claims, and of workspaces, that are read for them.
	overviewReadMax = 50
	// overviewChars is the maximum length of a title or a name.
	overviewChars = 80
)

var overviewOperations = []*Operation{
	declare[None, Overview](Operation{
		Name: "agent.overview", Method: "GET", Path: "/api/v1/agents/me/overview",
		Tool: "agent.me", Core: true,
		ToolDoc: "Call this first: who you are, your claims with the time left, open workspaces, " +
			"unread counts, latest projects. Then read project.resume.",
		Auth: Bearer, Category: CategoryRead, Statuses: []int{200},
		Tag: "identity", Summary: "Get an overview of your work",
		Doc: "Returns in at most 4,000 bytes who the caller is, its live claims with the time " +
			"left, its workspaces that have not ended, how many inbox items are unread, and " +
			"10 of its projects, its own first. Empty fields are absent. truncated_sections " +
			"lists what is omitted.",
	}, readOverview),
}

// The ranks of the sections of an overview.
const (
	overviewClaims = iota
	overviewWorkspaces
	overviewUnread
	overviewProjects
	overviewCount
)

// overviewBuild is one overview that is being written.
type overviewBuild struct {
	call     *Call
	doc      *sizelimit.Document
	sections [overviewCount]sizelimit.Section
}

func (b *overviewBuild) add(rank int, place *sizelimit.Place, record func(full bool) any) {
	b.sections[rank].Entries = append(b.sections[rank].Entries, sizelimit.Entry{
		Place: place,
		Item: sizelimit.Record{Chars: overviewChars, Make: func(form sizelimit.Form) (any, bool) {
			return record(form == sizelimit.Full), false
		}},
	})
}

func readOverview(c *Call, _ *None) (Reply, error) {
	box, err := c.box()
	if err != nil {
		return Reply{}, err
	}
	memberships := c.Service.Engine.Indexes(index.ForMemberships).Memberships
	out := &Overview{
		Agent: c.agentRef(c.Agent), SessionSeconds: c.secondsLeft(c.Session.ExpiresAt),
		Unread: box.unread(), ProjectsCount: memberships.Count(c.Agent),
	}
	b := &overviewBuild{call: c, doc: sizelimit.New(out, &out.Truncated)}
	b.sections = [overviewCount]sizelimit.Section{
		overviewClaims: {Name: "claims", Share: 30}, overviewWorkspaces: {Name: "workspaces", Share: 20},
		overviewUnread: {Name: "unread", Share: 10}, overviewProjects: {Name: "projects", Share: 40},
	}
	if err := b.claims(b.doc.Place(&out.Claims)); err != nil {
		return Reply{}, err
	}
	if err := b.workspaces(b.doc.Place(&out.Workspaces)); err != nil {
		return Reply{}, err
	}
	b.unread(b.doc.Place(&out.UnreadKinds), box)
	if err := b.projects(b.doc.Place(&out.Projects)); err != nil {
		return Reply{}, err
	}
	return Reply{Data: Raw(b.doc.Build(overviewBytes, b.sections[:]))}, nil
}

func (b *overviewBuild) claims(place *sizelimit.Place) error {
	c := b.call
	more, err := c.ownClaims(new(index.Position), overviewItemsMax, overviewReadMax,
		func(held *heldTask) {
			claim := held.task.Claim
			b.add(overviewClaims, place, func(full bool) any {
				record := &OverviewClaim{
					ProjectID: held.project.ID.Format(id.Project),
					TaskID:    held.task.ID.Format(id.Task), Title: held.task.Spec.Title,
					Token: claim.Token, SecondsLeft: c.secondsLeft(claim.ExpiresAt),
				}
				if full {
					record.ExpiresAt = Time(claim.ExpiresAt)
				}
				return record
			})
		})
	b.sections[overviewClaims].Lost = more
	return err
}

func (b *overviewBuild) workspaces(place *sizelimit.Place) error {
	c, section := b.call, &b.sections[overviewWorkspaces]
	all := c.Service.Engine.Indexes(index.ForWorkspaces).Workspaces.Of(c.Agent)
	for looked, one := range all {
		if looked == overviewReadMax {
			section.Lost = true
			break
		}
		view, w, err := c.ownWorkspaceView(one)
		if err != nil {
			return err
		}
		if w == nil || w.Status.Final() {
			continue
		}
		if len(section.Entries) == overviewItemsMax {
			section.Lost = true
			break
		}
		b.add(overviewWorkspaces, place, func(full bool) any {
			record := &OverviewWorkspace{
				ProjectID: view.ID.Format(id.Project), ID: w.ID.Format(id.Workspace),
				Status: w.Status.String(), ChangedFiles: len(w.Files),
			}
			if turn, held := view.Turn(c.Now); held && turn.Workspace == w.ID {
				record.TurnSeconds = c.secondsLeft(turn.ExpiresAt)
			}
			if full {
				record.ExpiresAt = Time(view.WorkspaceExpiry(w))
			}
			return record
		})
	}
	return nil
}

// unread counts the unread items by kind, in the order of the kinds.
func (b *overviewBuild) unread(place *sizelimit.Place, box *box) {
	counts := map[string]int{}
	for i := range box.items {
		if one := &box.items[i]; one.mark.Status == identity.ItemUnread {
			counts[one.Kind.String()]++
		}
	}
	for _, kind := range work.NoticeKinds() {
		if count := counts[kind]; count > 0 {
			b.add(overviewUnread, place, func(bool) any {
				return &UnreadKind{Kind: InboxKind(kind), Count: count}
			})
		}
	}
}

// sharedProjects returns up to limit projects of the caller: those that it owns, by their latest
// activity, then others, shared by owner. It reports whether there may be more.
func (c *Call) sharedProjects(limit int) (views []*work.Project, more bool, err error) {
	engine := c.Service.Engine
	memberships := engine.Indexes(index.ForMemberships).Memberships
	for _, project := range memberships.Shared(c.Agent, 2*limit) {
		view, err := Intact(engine.Summary(project))
		if err != nil {
			return nil, false, err
		}
		if view == nil || !view.IsMember(c.Agent) || !view.Readable(c.Agent) {
			continue
		}
		if len(views) == limit {
			return views, true, nil
		}
		views = append(views, view)
	}
	return views, false, nil
}

func (b *overviewBuild) projects(place *sizelimit.Place) error {
	c := b.call
	views, more, err := c.sharedProjects(overviewItemsMax)
	if err != nil {
		return err
	}
	b.sections[overviewProjects].Lost = more
	for _, view := range views {
		b.add(overviewProjects, place, func(full bool) any {
			record := &OverviewProject{
				ID: view.ID.Format(id.Project), Name: view.Name,
				Role: view.RoleOf(c.Agent).String(),
			}
			if full {
				record.UpdatedAt = Time(view.UpdatedAt)
				record.OpenTasks = view.TaskCount(work.TaskOpen, c.Now)
				record.Archived = view.Status == work.Archived
			}
			return record
		})
	}
	return nil
}
