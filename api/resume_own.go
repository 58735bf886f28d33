package api

import (
	"slices"

	"pws/api/sizelimit"
	"pws/identity"
	"pws/internal/id"
	"pws/work"
)

// ResumeOwn is what the caller itself holds in a project: what it goes on with after an
// interruption. Members that are empty are absent.
type ResumeOwn struct {
	// Number of the claims, turns, workspaces and unread items, also of those that are omitted.
	Count int `json:"count"`
	// Live claims of the caller; the one that expires first is the first.
	Claims []HeldClaim `json:"claims,omitzero"`
	// The turn of a community project, if the caller holds it.
	Turn *HeldTurn `json:"turn,omitzero"`
	// Workspaces of the caller that have not ended, newest first.
	Workspaces []HeldWorkspace `json:"workspaces,omitzero"`
	// Unread inbox items of the caller about the project, newest first, at most 10; not those of
	// WATCHED_ACTIVITY.
	Unread []UnreadItem `json:"unread,omitzero"`
}

// HeldClaim is the short form of a live claim of the caller.
type HeldClaim struct {
	// The task that is claimed.
	TaskID string `json:"task_id" check:"id=tsk_"`
	// Title of the task.
	Title string `json:"title" size:"cut"`
	// Fencing token of the claim.
	Token uint64 `json:"fencing_token"`
	// How long the claim lasts unless it is renewed.
	SecondsLeft int64 `json:"seconds_left"`
	// The claim's ID.
	ClaimID string `json:"claim_id,omitzero" size:"rest" check:"id=clm_"`
	// When it expires unless it is renewed.
	ExpiresAt Time `json:"expires_at,omitzero" size:"rest"`
}

// HeldTurn is the turn of the caller.
type HeldTurn struct {
	// The workspace of the turn.
	WorkspaceID string `json:"workspace_id" check:"id=wsp_"`
	// How long the turn lasts unless its holder writes in the workspace.
	SecondsLeft int64 `json:"seconds_left"`
	// When it expires unless its holder writes in the workspace.
	ExpiresAt Time `json:"expires_at"`
}

// HeldWorkspace is the short form of a workspace of the caller that has not ended.
type HeldWorkspace struct {
	// The workspace's ID.
	ID string `json:"id" check:"id=wsp_"`
	// OPEN, SUBMITTED, or CONFLICT.
	Status string `json:"status" check:"enum=OPEN|SUBMITTED|CONFLICT"`
	// Number of paths that it changes.
	ChangedFiles int `json:"changed_files"`
	// Number of conflicts with the project.
	Conflicts int `json:"conflicts,omitzero"`
	// Whether the project has a newer head than its base.
	Behind bool `json:"behind,omitzero"`
	// The contribution that it was submitted as.
	ContributionID string `json:"contribution_id,omitzero" size:"rest" check:"id=ctr_"`
	// When it will be CLOSED without further activity.
	ExpiresAt Time `json:"expires_at,omitzero" size:"rest"`
}

// UnreadItem is the short form of an unread inbox item.
type UnreadItem struct {
	// The item's ID.
	ID string `json:"id" check:"id=inb_"`
	// Why the caller got the item.
	Kind InboxKind `json:"kind"`
	// Beginning of the text.
	Preview string `json:"preview,omitzero" size:"cut"`
	// Handle of the agent that caused it.
	From string `json:"from,omitzero" size:"rest"`
	// What it is about.
	Subject *EventSubject `json:"subject,omitzero" size:"rest"`
}

// unreadItemsMax is how many unread items a resume shows.
const unreadItemsMax = 10

// heldWork is what the caller holds in a project.
type heldWork struct {
	claims     []*work.Task
	turn       *work.Turn
	workspaces []*work.Workspace
	unread     []InboxItem
	// more says that there are more unread items.
	more bool
}

func (o *heldWork) empty() bool {
	return len(o.claims)+len(o.workspaces)+len(o.unread) == 0 && o.turn == nil
}

// heldWork returns what the caller holds in a project that it may read, nil for nothing.
func (c *Call) heldWork(p *work.Project) *heldWork {
	if c.Agent.IsZero() {
		return nil
	}
	own := new(heldWork)
	p.ClaimedTasks(c.Now, func(t *work.Task) bool {
		if c.holds(t) {
			own.claims = append(own.claims, t)
		}
		return true
	})
	if turn, held := p.Turn(c.Now); held && turn.Agent == c.Agent {
		own.turn = turn
	}
	own.workspaces = p.OpenWorkspacesOf(c.Agent, c.Now)
	slices.Reverse(own.workspaces)
	own.unread, own.more = c.unreadIn(p)
	if own.empty() {
		return nil
	}
	return own
}

// unreadIn returns the newest unread items of the caller about a project that it may read, and
// whether there are more. Items that cannot be read are left out.
func (c *Call) unreadIn(p *work.Project) (unread []InboxItem, more bool) {
	agent, known := c.Service.Engine.Identity().Agent(c.Agent)
	if !known {
		return nil, false
	}
	items, _ := c.Service.Engine.Inbox(c.Agent)
	access, marks := c.accessNamed(), agent.Marks()
	for _, item := range slices.Backward(items) {
		if item.Project != p.ID {
			continue
		}
		mark := marks.At(item.Place)
		if mark.Status != identity.ItemUnread {
			continue
		}
		if len(unread) == unreadItemsMax {
			return unread, true
		}
		if seen, err := c.seesItem(access, &item); err != nil || !seen {
			continue
		}
		if shown, err := c.inboxItem(&boxed{InboxItem: item, mark: mark}); err == nil {
			unread = append(unread, shown)
		}
	}
	return unread, false
}

// ownObject is the object of what the caller holds, nil for nothing.
func (b *resumeBuild) ownObject() *ResumeOwn {
	if b.own == nil {
		return nil
	}
	own := b.own
	count := len(own.claims) + len(own.workspaces) + len(own.unread)
	if own.turn != nil {
		count++
	}
	return &ResumeOwn{Count: count}
}

// holdings adds what the caller holds: claims, the turn, workspaces, unread items.
func (b *resumeBuild) holdings() {
	out, own, c := b.resume.You, b.own, b.call
	if own == nil {
		return
	}
	add := func(place *sizelimit.Place, item sizelimit.Item) { b.add(rankOwn, place, item) }
	claims := b.doc.Place(&out.Claims)
	for _, t := range own.claims {
		add(claims, c.heldClaim(t, b.wish.chars))
	}
	if own.turn != nil {
		add(b.doc.Place(&out.Turn), sizelimit.Record{
			Make: func(sizelimit.Form) (any, bool) { return c.heldTurn(own.turn), false },
		})
	}
	workspaces := b.doc.Place(&out.Workspaces)
	for _, w := range own.workspaces {
		add(workspaces, c.heldWorkspace(b.project, w))
	}
	unread := b.doc.Place(&out.Unread)
	for i := range own.unread {
		add(unread, unreadItem(&own.unread[i], b.wish.chars))
	}
	if own.more {
		b.lose(rankOwn)
	}
}

// secondsLeft is how long something lasts that expires at a time.
func (c *Call) secondsLeft(expires int64) int64 { return max(0, (expires-c.Now)/1000) }

// heldClaim is a HeldClaim.
func (c *Call) heldClaim(t *work.Task, chars int) sizelimit.Item {
	return sizelimit.Record{Chars: chars, Make: func(form sizelimit.Form) (any, bool) {
		held := &HeldClaim{
			TaskID: t.ID.Format(id.Task), Title: t.Spec.Title, Token: t.Claim.Token,
			SecondsLeft: c.secondsLeft(t.Claim.ExpiresAt),
		}
		if form == sizelimit.Full {
			held.ClaimID = t.Claim.ID.Format(id.Claim)
			held.ExpiresAt = Time(t.Claim.ExpiresAt)
		}
		return held, false
	}}
}

func (c *Call) heldTurn(turn *work.Turn) *HeldTurn {
	return &HeldTurn{
		WorkspaceID: turn.Workspace.Format(id.Workspace), ExpiresAt: Time(turn.ExpiresAt),
		SecondsLeft: c.secondsLeft(turn.ExpiresAt),
	}
}

// heldWorkspace is a HeldWorkspace.
func (c *Call) heldWorkspace(p *work.Project, w *work.Workspace) sizelimit.Item {
	return sizelimit.Record{Make: func(form sizelimit.Form) (any, bool) {
		held := &HeldWorkspace{
			ID: w.ID.Format(id.Workspace), Status: w.Status.String(), ChangedFiles: len(w.Files),
			Conflicts: len(p.WorkspaceConflicts(w)), Behind: w.Base != p.Head().ID,
		}
		if form == sizelimit.Full {
			held.ContributionID = idText(id.Contribution, w.Contribution)
			held.ExpiresAt = Time(p.WorkspaceExpiry(w))
		}
		return held, false
	}}
}

// unreadItem is an UnreadItem.
func unreadItem(from *InboxItem, chars int) sizelimit.Item {
	return sizelimit.Record{Chars: chars, Make: func(form sizelimit.Form) (any, bool) {
		item := &UnreadItem{ID: from.ID, Kind: from.Kind, Preview: from.Preview}
		if form == sizelimit.Full {
			item.From = from.Actor.Handle
			item.Subject = &EventSubject{Type: from.Subject.Type, ID: from.Subject.ID}
		}
		return item, false
	}}
}
