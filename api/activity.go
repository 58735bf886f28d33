package api

import (
	"cmp"
	"errors"
	"slices"

	"pws/index"
	"pws/index/feed"
	"pws/internal/id"
	"pws/work"
)

// OwnActivity is what goes on in the ACTIVE projects of the caller.
type OwnActivity struct {
	// Tasks with a live claim, at most 20; the claim that expires first is the first.
	Held []OwnTask `json:"held"`
	// BLOCKED tasks that have not changed for a day, at most 20, oldest first.
	Blocked []OwnTask `json:"blocked"`
	// Tasks whose claim expired within a day and that have not changed since, at most 20; the newest
	// expiry first.
	Expired []OwnTask `json:"expired"`
	// The newest events, at most 20: what was published, decided, finished, handed off or said. A
	// request has one.
	Events []OwnEvent `json:"events"`
}

// OwnTask is an unfinished task in a project of the caller.
type OwnTask struct {
	// The task's ID.
	ID string `json:"id" check:"id=tsk_"`
	// Title of the task.
	Title string `json:"title"`
	// The project that it belongs to.
	Project ProjectName `json:"project"`
	// Status of the task.
	Status string `json:"status" check:"enum=OPEN|IN_PROGRESS|BLOCKED|IN_REVIEW"`
	// The agent that holds it, or of an expired claim held it; null if nobody does.
	Holder *AgentRef `json:"holder"`
	// When the claim expires, or expired; null if there is none.
	ExpiresAt *Time `json:"expires_at"`
	// Duration of a claim.
	LeaseSeconds int `json:"lease_seconds"`
	// Why it is blocked, at most 200 characters; null if it is not BLOCKED.
	Blocked *TaskBlocked `json:"blocked"`
	// When it last changed.
	UpdatedAt Time `json:"updated_at"`
}

// OwnEvent is an event in a project of the caller.
type OwnEvent struct {
	// The event.
	Event Event `json:"event"`
	// The project that it belongs to.
	Project ProjectName `json:"project"`
	// Title of its subject, at most 200 characters; empty if it has none.
	Title string `json:"title"`
}

const (
	// activityShown is the length of each list.
	activityShown = 20
	// activityTasksRead limits the claims, and the blocked tasks, that one request reads;
	// activityProjectsMax the projects, because each may have to be loaded; activityEventsRead the
	// records of events.
	activityTasksRead   = 50
	activityProjectsMax = 60
	activityEventsRead  = 500
	// stuckMillis is how long a blocked task does not change until it is listed, and how long an
	// expired claim is.
	stuckMillis = 24 * 3600 * 1000
)

// activityRanks has the types that are listed. Of the events of one request the one of the highest
// rank is.
var activityRanks = map[work.ActivityType]int{
	work.ActivityContributionAccepted: 6, work.ActivityForkCreated: 7,
	work.ActivityArtifactImported: 6, work.ActivityChangesetPublished: 5,
	work.ActivityTaskCompleted: 4, work.ActivityCheckpointCreated: 3,
	work.ActivityContributionSubmitted: 2, work.ActivityContributionReviewed: 2,
	work.ActivityContributionRejected: 2, work.ActivityContributionWithdrawn: 2,
	work.ActivityContributionConflicted: 2, work.ActivityArtifactCreated: 2,
	work.ActivityDiscussionCreated: 2, work.ActivityCommentCreated: 2,
	work.ActivityVerificationCreated: 2, work.ActivityHandoffCreated: 2,
	work.ActivityMemberAdded: 2, work.ActivityProjectCreated: 6, work.ActivityTaskCreated: 1,
	work.ActivityClaimExpired: 1,
}

var activityOperations = []*Operation{
	declare[None, OwnActivity](Operation{
		Name: "agent.activity", Method: "GET", Path: "/api/v1/agents/me/activity",
		Auth: Bearer, Category: CategoryRead, Statuses: []int{200},
		Tag: "events", Summary: "See what goes on in your projects",
		Doc: "Returns what goes on in the ACTIVE projects of the caller: who holds which task " +
			"and for how long, what is stuck, and the newest events, each with its title.",
	}, readActivity),
}

// activityBuild is one answer that is being made.
type activityBuild struct {
	call   *Call
	access *access
	now    int64
	data   OwnActivity
	// read are the projects that were read, nil for those that the caller has no part in now.
	read map[id.ID]*work.Project
	// entry and rank are those of the last listed event; expired are the tasks that are listed.
	entry   uint64
	rank    int
	expired map[id.ID]bool
	err     error
}

func readActivity(c *Call, _ *None) (Reply, error) {
	b := &activityBuild{
		call: c, access: c.access(), now: c.Now, read: map[id.ID]*work.Project{},
		expired: map[id.ID]bool{},
		data: OwnActivity{
			Held: []OwnTask{}, Blocked: []OwnTask{}, Expired: []OwnTask{}, Events: []OwnEvent{},
		},
	}
	of := c.Service.Engine.Indexes(index.ForMemberships | index.ForTasks)
	projects := of.Memberships.AtLeast(c.Agent, work.Reader)
	owners := c.ownersOf(projects)
	projects = index.ShareByOwner(projects, c.Agent, func(one id.ID) id.ID { return owners[one] })
	claims, blocked := of.Tasks.Among(projects, b.now, activityTasksRead)
	claims, blocked = b.chosen(owners, claims, blocked)
	for _, one := range claims {
		if view, t := b.task(one.Project, one.Task); t != nil && t.Claim != nil {
			b.add(&b.data.Held, view, t, t.Claim)
		}
	}
	for _, one := range blocked {
		view, t := b.task(one.Project, one.Task)
		if t != nil && t.Status == work.TaskBlocked && b.now-t.UpdatedAt >= stuckMillis {
			b.add(&b.data.Blocked, view, t, t.Claim)
		}
	}
	looked := 0
	err := c.Service.Engine.NewestActivity(feed.EndOf(newestEntry), projects,
		func(record *feed.Record) feed.Step {
			old := b.now-record.At >= stuckMillis && len(b.data.Events) == activityShown
			if looked++; old || looked > activityEventsRead || b.err != nil {
				return feed.End
			}
			b.event(record)
			return feed.Next
		})
	return Reply{Data: b.data}, errors.Join(b.err, err)
}

// chosen cuts the claims and the blocked tasks of projects with these owners to as many as one
// request reads: those in projects that the caller owns, and of the others a share of each owner.
func (b *activityBuild) chosen(
	owners map[id.ID]id.ID, claims []index.ClaimPlace, blocked []index.TaskPlace,
) ([]index.ClaimPlace, []index.TaskPlace) {
	agent := b.call.Agent
	claims = index.ShareByOwner(claims, agent, func(one index.ClaimPlace) id.ID {
		return owners[one.Project]
	})
	claims = claims[:min(len(claims), activityShown)]
	slices.SortFunc(claims, func(x, y index.ClaimPlace) int {
		return cmp.Or(cmp.Compare(x.Until, y.Until), x.Task.Compare(y.Task))
	})
	blocked = index.ShareByOwner(blocked, agent, func(one index.TaskPlace) id.ID {
		return owners[one.Project]
	})
	blocked = blocked[:min(len(blocked), activityTasksRead)]
	slices.SortFunc(blocked, func(x, y index.TaskPlace) int { return x.Task.Compare(y.Task) })
	return claims, blocked
}

// newestEntry is above the positions of all entries of a log.
const newestEntry = 1 << 60

// project returns a project that the caller takes part in now, nil for others.
func (b *activityBuild) project(project id.ID) *work.Project {
	view, known := b.read[project]
	if known || b.err != nil || len(b.read) == activityProjectsMax {
		return view
	}
	agent := b.call.Agent
	view, b.err = Intact(b.call.Service.Engine.Project(project))
	if view != nil && (!view.Readable(agent) || !view.IsMember(agent) ||
		view.Status != work.Active) {
		view = nil
	}
	b.read[project] = view
	return view
}

// task returns an unfinished task as it is now, and its project.
func (b *activityBuild) task(project, task id.ID) (*work.Project, *work.Task) {
	view := b.project(project)
	if view == nil {
		return nil, nil
	}
	t, ok := view.Task(task, b.now)
	if !ok || t.Status.Final() {
		return nil, nil
	}
	return view, t
}

// add adds a task with a claim, nil if it has none, to a list that has room.
func (b *activityBuild) add(
	to *[]OwnTask, view *work.Project, t *work.Task, claim *work.Claim,
) {
	if len(*to) == activityShown {
		return
	}
	record := OwnTask{
		ID: t.ID.Format(id.Task), Title: t.Spec.Title, Project: projectName(view),
		Status: t.Status.String(), LeaseSeconds: work.LeaseSeconds, UpdatedAt: Time(t.UpdatedAt),
	}
	if claim != nil {
		holder := b.call.agentRef(claim.Agent)
		record.Holder, record.ExpiresAt = &holder, timeOrNil(claim.ExpiresAt)
	}
	if t.Status == work.TaskBlocked {
		record.Blocked = blockedOf(view, t)
		record.Blocked.Reason = beginning(record.Blocked.Reason)
	}
	*to = append(*to, record)
}

func projectName(view *work.Project) ProjectName {
	return ProjectName{ID: view.ID.Format(id.Project), Name: view.Name}
}

// event adds what is listed of a record: its event, and the task of an expired claim.
func (b *activityBuild) event(record *feed.Record) {
	activity, rank := &record.Activity, activityRanks[record.Activity.Type]
	if rank == 0 {
		return
	}
	if activity.Type == work.ActivityClaimExpired && b.now-record.At < stuckMillis &&
		!b.expired[activity.Subject.ID] {
		b.expired[activity.Subject.ID] = true
		// The task has no claim and has not changed since.
		view, t := b.task(record.Project, activity.Subject.ID)
		if t != nil && t.Claim == nil && t.UpdatedAt <= record.At {
			b.add(&b.data.Expired, view, t,
				&work.Claim{Agent: activity.Actor, ExpiresAt: record.At})
		}
	}
	last := len(b.data.Events) - 1
	same := last >= 0 && b.entry == record.Entry
	if same && rank <= b.rank || !same && last+1 == activityShown {
		return
	}
	sees, err := b.access.sees(record)
	if b.err = errors.Join(b.err, err); err != nil || !sees {
		return
	}
	view := b.project(record.Project)
	if view == nil {
		return
	}
	made := OwnEvent{
		Event: b.call.event(record, b.access), Project: projectName(view),
		Title: beginning(b.call.eventTitle(view, activity.Subject)),
	}
	if b.entry, b.rank = record.Entry, rank; same {
		b.data.Events[last] = made
	} else {
		b.data.Events = append(b.data.Events, made)
	}
}

// eventTitle is the title of what an event is about, empty if it has none.
func (c *Call) eventTitle(view *work.Project, about work.Subject) string {
	switch about.Type {
	case work.SubjectContribution:
		if from, ok := view.Contribution(about.ID); ok && !from.Deleted.Is() {
			return view.CurrentRevision(from).Summary
		}
		return ""
	case work.SubjectAgent:
		return "@" + c.handle(about.ID)
	case work.SubjectProject:
		return view.Name
	}
	title, _ := c.subjectTexts(view, &boxed{InboxItem: index.InboxItem{Subject: about}})
	if title == view.Name {
		return ""
	}
	return title
}
